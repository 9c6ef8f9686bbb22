-- a click is bound to what it saw, not to a count of changes
UPDATE notifications SET payload = (payload::jsonb - 'revision' || '{"stamp": ""}')::json
 WHERE kind = 'vote' AND status = 'received';

-- a refusal is a code, and the bot words it
UPDATE notifications
   SET payload = jsonb_set(payload::jsonb, '{refusal}', (payload::jsonb -> 'refusal') - 'text' || '{"about": []}')::json
 WHERE kind = 'vote' AND status = 'received' AND payload ->> 'refusal' IS NOT NULL;

-- the token is demanded back; whoever was asked before this was not told one
ALTER TABLE waits ADD COLUMN correlate TEXT NOT NULL DEFAULT 'by_key';
ALTER TABLE waits ALTER COLUMN correlate DROP DEFAULT;
ALTER TABLE waits ADD CONSTRAINT ck_waits_correlate CHECK (correlate IN ('by_token', 'by_key'));

-- one notification, many waits
DROP INDEX uq_waits_correlation;

-- what comes early waits, what may not count is no dead letter, and dead letters have a desk
ALTER TABLE notifications DROP CONSTRAINT ck_notifications_status;
ALTER TABLE notifications ADD CONSTRAINT ck_notifications_status CHECK (
    status IN ('received', 'early', 'applied', 'duplicate', 'stale', 'refused', 'dead_letter', 'dropped')
);
UPDATE notifications SET status = 'refused'
 WHERE status = 'dead_letter' AND kind = 'vote' AND outcome ->> 'code' NOT IN ('vote.unknown', 'vote.unusable');
UPDATE notifications SET applied_at = NULL WHERE status = 'dead_letter';
CREATE INDEX ix_notifications_early ON notifications (tenant, correlation_key) WHERE status = 'early';
CREATE INDEX ix_notifications_early_since ON notifications (tenant, received_at) WHERE status = 'early';
CREATE INDEX ix_notifications_dead ON notifications (tenant, received_at) WHERE status = 'dead_letter';

-- a fault of ours throws nothing away
ALTER TABLE notifications ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE notifications ADD COLUMN error TEXT NOT NULL DEFAULT '';

-- how far the other side has come: the newest word of it
ALTER TABLE waits ADD COLUMN progress JSON;
