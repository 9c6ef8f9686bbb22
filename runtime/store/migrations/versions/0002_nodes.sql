-- a step may stand in another and keep what it needs while it goes on; a failure may be taken up by a branch
ALTER TABLE steps ADD COLUMN kept JSON, ADD COLUMN error_code TEXT NOT NULL DEFAULT '';
ALTER TABLE steps DROP CONSTRAINT ck_steps_status, ADD CONSTRAINT ck_steps_status CHECK (status IN
    ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable', 'held', 'succeeded',
     'failed_handled', 'failed_terminal', 'skipped', 'canceled'));

-- what a run keeps of its business, by what people know it, what it came to, and the step that started it
ALTER TABLE runs ADD COLUMN state JSON, ADD COLUMN reference TEXT NOT NULL DEFAULT '',
    ADD COLUMN outcome TEXT NOT NULL DEFAULT '', ADD COLUMN output JSON, ADD COLUMN parent JSON,
    ADD COLUMN about TEXT NOT NULL DEFAULT '';
CREATE INDEX ix_runs_children ON runs ((parent ->> 'run_id')) WHERE parent IS NOT NULL AND finished_at IS NULL;
CREATE INDEX ix_runs_referred ON runs (tenant, reference, run_id) WHERE reference <> '';
-- of a runbook one run at most goes on about the same
CREATE UNIQUE INDEX uq_runs_about ON runs (tenant, definition_name, about) WHERE about <> '' AND finished_at IS NULL;

-- an error may hold its step, and its run where nothing else goes on, until a person says how it goes on
ALTER TABLE runs DROP CONSTRAINT ck_runs_status, ADD CONSTRAINT ck_runs_status CHECK (status IN
    ('queued', 'running', 'waiting_approval', 'waiting', 'failed_retryable', 'held', 'succeeded', 'failed_terminal',
     'canceled'));
-- what a person says of a held step is bound to it as they saw it, whatever else happens to its run
ALTER TABLE steps ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
CREATE INDEX ix_steps_held ON steps (run_id, path) WHERE status = 'held';
