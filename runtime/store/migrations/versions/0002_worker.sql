-- other sides that fail are left alone for a while
CREATE TABLE breakers (
    tenant TEXT NOT NULL,
    connector TEXT NOT NULL,
    target TEXT NOT NULL,
    failures INTEGER NOT NULL,
    failed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    open_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_breakers PRIMARY KEY (tenant, connector, target),
    CONSTRAINT ck_breakers_failures CHECK (failures >= 0)
);

-- a worker leases only what it has a handler for
ALTER TABLE steps ADD COLUMN handler TEXT;
UPDATE steps s
   SET handler = convert_from(d.canonical, 'UTF8')::json -> 'verbs' -> s.verb -> 'execution' ->> 'handler'
  FROM runs r JOIN definitions d ON d.name = r.definition_name AND d.version = r.definition_version
 WHERE r.run_id = s.run_id;
ALTER TABLE steps ALTER COLUMN handler SET NOT NULL;

-- work is leased by tenant and purpose, and what is fresh before what is tried again
DROP INDEX ix_effects_due;
CREATE INDEX ix_effects_due ON effects (tenant, purpose, (tries > 0), next_try_at)
    WHERE status IN ('pending', 'held') OR status = 'in_doubt' AND on_doubt <> 'ask';

-- a notification is claimed by one worker at a time, and left alone for a while where it could not be applied
ALTER TABLE notifications ADD COLUMN next_try_at TIMESTAMP WITH TIME ZONE;
UPDATE notifications SET next_try_at = received_at;
ALTER TABLE notifications ALTER COLUMN next_try_at SET NOT NULL;
DROP INDEX ix_notifications_received;
CREATE INDEX ix_notifications_received ON notifications (tenant, next_try_at) WHERE status = 'received';

-- runs are started and deadlines looked at by tenant
DROP INDEX ix_runs_queued;
CREATE INDEX ix_runs_queued ON runs (tenant, created_at) WHERE status = 'queued';
