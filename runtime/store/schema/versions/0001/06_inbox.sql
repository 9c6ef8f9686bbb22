-- The inbox: every fact that comes in from outside is recorded once, then applied at most once.

-- A fact is recorded once, by its dedupe key.
CREATE TABLE notifications (
    notification_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    correlation_key TEXT NOT NULL,
    payload JSON NOT NULL,
    actor JSON NOT NULL,
    request_id TEXT NOT NULL,
    status TEXT NOT NULL,
    outcome JSON,
    deliveries INTEGER DEFAULT 1 NOT NULL,
    received_at TIMESTAMP WITH TIME ZONE NOT NULL,
    applied_at TIMESTAMP WITH TIME ZONE,
    forgotten BOOLEAN DEFAULT false NOT NULL,
    failures INTEGER DEFAULT 0 NOT NULL,
    error TEXT DEFAULT '' NOT NULL,
    next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_notifications PRIMARY KEY (notification_id),
    CONSTRAINT uq_notifications_dedupe_key UNIQUE (dedupe_key),
    CONSTRAINT ck_notifications_status
        CHECK (status IN ('received', 'early', 'applied', 'duplicate', 'stale', 'refused', 'dead_letter', 'dropped'))
);

CREATE INDEX ix_notifications_correlation ON notifications (correlation_key);
CREATE INDEX ix_notifications_dead ON notifications (tenant, received_at) WHERE status = 'dead_letter';
CREATE INDEX ix_notifications_early ON notifications (tenant, correlation_key) WHERE status = 'early';
CREATE INDEX ix_notifications_early_since ON notifications (tenant, received_at) WHERE status = 'early';
CREATE INDEX ix_notifications_received ON notifications (tenant, next_try_at) WHERE status = 'received';

CREATE TRIGGER write_once BEFORE UPDATE OF
    notification_id, tenant, kind, dedupe_key, correlation_key, actor, request_id, received_at
    ON notifications FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF outcome, applied_at
    ON notifications FOR EACH ROW
    WHEN (OLD.applied_at IS NOT NULL
          AND (NEW.applied_at IS DISTINCT FROM OLD.applied_at OR NEW.outcome::text IS DISTINCT FROM OLD.outcome::text))
    EXECUTE FUNCTION refuse_rewrite();
-- once applied, values that must be redacted are taken out of the payload, once
CREATE TRIGGER forget_once BEFORE UPDATE OF payload, forgotten
    ON notifications FOR EACH ROW
    WHEN (OLD.applied_at IS NULL OR OLD.forgotten OR NOT NEW.forgotten) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON notifications FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON notifications FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
