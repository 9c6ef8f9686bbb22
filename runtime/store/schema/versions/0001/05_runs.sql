-- Definitions, runs, steps and waits.

-- A definition is found by name and version, and its digest never changes.
CREATE TABLE definitions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    canonical BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_definitions PRIMARY KEY (name, version),
    CONSTRAINT ck_definitions_version CHECK (version >= 1)
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON definitions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON definitions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- A trigger is claimed once: tenant, type and reference are unique. A run has an end time exactly when it has ended.
CREATE TABLE runs (
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    trigger_type TEXT NOT NULL,
    trigger_ref TEXT NOT NULL,
    trigger JSON NOT NULL,
    definition_name TEXT NOT NULL,
    definition_version INTEGER NOT NULL,
    status TEXT NOT NULL,
    version INTEGER DEFAULT 0 NOT NULL,
    requested_by TEXT NOT NULL,
    requester_kind TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    requester_accounts JSON NOT NULL,
    request_id TEXT NOT NULL,
    salt TEXT NOT NULL,
    writes INTEGER DEFAULT 0 NOT NULL,
    audit_seq INTEGER DEFAULT 0 NOT NULL,
    audit_hash TEXT NOT NULL,
    error TEXT DEFAULT '' NOT NULL,
    sealed BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    trigger_digest TEXT NOT NULL,
    forgotten BOOLEAN DEFAULT false NOT NULL,
    hides BOOLEAN DEFAULT false NOT NULL,
    state JSON,
    reference TEXT DEFAULT '' NOT NULL,
    outcome TEXT DEFAULT '' NOT NULL,
    output JSON,
    parent JSON,
    about TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_runs PRIMARY KEY (run_id),
    CONSTRAINT uq_runs_tenant_trigger_type_trigger_ref UNIQUE (tenant, trigger_type, trigger_ref),
    CONSTRAINT fk_runs_definition_name_definition_version FOREIGN KEY (definition_name, definition_version)
        REFERENCES definitions (name, version),
    CONSTRAINT fk_runs_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_runs_status
        CHECK (status IN ('queued', 'running', 'waiting_approval', 'waiting', 'failed_retryable', 'needs_attention', 'succeeded',
            'failed_terminal', 'canceled')),
    CONSTRAINT ck_runs_finished
        CHECK ((status IN ('succeeded', 'failed_terminal', 'canceled')) = (finished_at IS NOT NULL))
);

-- one unfinished run of a runbook about one subject
CREATE UNIQUE INDEX uq_runs_about ON runs (tenant, definition_name, about) WHERE about <> '' AND finished_at IS NULL;
-- children that a run waits for
CREATE INDEX ix_runs_children ON runs ((parent ->> 'run_id')) WHERE parent IS NOT NULL AND finished_at IS NULL;
-- lists of runs, the newest first
CREATE INDEX ix_runs_listed ON runs (tenant, created_at, run_id);
-- what a person requested; agents request far more, and nobody lists that
CREATE INDEX ix_runs_of_people ON runs (tenant, requested_by, created_at, run_id) WHERE requester_kind = 'person';
CREATE INDEX ix_runs_queued ON runs (tenant, created_at) WHERE status = 'queued';
CREATE INDEX ix_runs_referred ON runs (tenant, reference, run_id) WHERE reference <> '';
CREATE INDEX ix_runs_unsealed ON runs (finished_at) WHERE finished_at IS NOT NULL AND NOT sealed;

CREATE TRIGGER write_once BEFORE UPDATE OF
    run_id, tenant, trigger_type, trigger_ref, definition_name, definition_version, requested_by, requester_kind,
    submitted_by, requester_accounts, request_id, salt, trigger_digest, created_at, parent
    ON runs FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF finished_at
    ON runs FOR EACH ROW
    WHEN (OLD.finished_at IS NOT NULL AND NEW.finished_at IS DISTINCT FROM OLD.finished_at)
    EXECUTE FUNCTION refuse_rewrite();
-- after the end, values that must be redacted are taken out of the trigger, once
CREATE TRIGGER forget_once BEFORE UPDATE OF trigger, forgotten
    ON runs FOR EACH ROW
    WHEN (OLD.finished_at IS NULL OR OLD.forgotten OR NOT NEW.forgotten) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON runs FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The status of each definition version in a tenant. Only a draft that never moved has no `changed_by`.
CREATE TABLE runbook_versions (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    trigger_type TEXT NOT NULL,
    trigger_when TEXT,
    status TEXT NOT NULL,
    changed_by TEXT,
    run_id TEXT,
    arrived_at TIMESTAMP WITH TIME ZONE NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_runbook_versions PRIMARY KEY (tenant, name, version),
    CONSTRAINT fk_runbook_versions_name_version FOREIGN KEY (name, version) REFERENCES definitions (name, version),
    CONSTRAINT fk_runbook_versions_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_runbook_versions_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT ck_runbook_versions_status CHECK (status IN ('draft', 'active', 'retired')),
    CONSTRAINT ck_runbook_versions_changed_by CHECK ((status = 'draft') = (changed_by IS NULL))
);

-- every trigger asks what it starts
CREATE INDEX ix_runbook_versions_trigger ON runbook_versions (tenant, trigger_type);

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, name, version, trigger_type, arrived_at
    ON runbook_versions FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON runbook_versions FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON runbook_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- `attempt` is the fencing token of a read's lease.
CREATE TABLE steps (
    run_id TEXT NOT NULL,
    path TEXT NOT NULL,
    position INTEGER NOT NULL,
    verb TEXT NOT NULL,
    status TEXT NOT NULL,
    params JSON,
    result JSON,
    error TEXT DEFAULT '' NOT NULL,
    is_read BOOLEAN DEFAULT false NOT NULL,
    attempt INTEGER DEFAULT 0 NOT NULL,
    lease_owner TEXT,
    lease_expires_at TIMESTAMP WITH TIME ZONE,
    next_try_at TIMESTAMP WITH TIME ZONE,
    started_at TIMESTAMP WITH TIME ZONE,
    finished_at TIMESTAMP WITH TIME ZONE,
    handler TEXT NOT NULL,
    was_blocked BOOLEAN DEFAULT false NOT NULL,
    waited INTEGER DEFAULT 0 NOT NULL,
    kept JSON,
    error_code TEXT DEFAULT '' NOT NULL,
    version INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_steps PRIMARY KEY (run_id, path),
    CONSTRAINT fk_steps_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT ck_steps_status
        CHECK (status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable', 'needs_attention',
            'succeeded', 'failed_handled', 'failed_terminal', 'skipped', 'canceled'))
);

-- steps that need a person's decision
CREATE INDEX ix_steps_attention ON steps (run_id, path) WHERE status = 'needs_attention';
-- what the planner asks about the steps that an event does not reach
CREATE INDEX ix_steps_open ON steps (run_id, status)
    WHERE status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable', 'needs_attention');
-- what may hold values that must be redacted
CREATE INDEX ix_steps_params ON steps (run_id) WHERE params IS NOT NULL;
-- reads that a worker may lease: free, or with an expired lease or back-off
CREATE INDEX ix_steps_reads ON steps (attempt) WHERE is_read AND status IN ('ready', 'running', 'failed_retryable');

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, path, position, verb, handler, is_read
    ON steps FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON steps FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON steps FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- What a run is parked on. The token has to be sent back where `correlate` says so.
CREATE TABLE waits (
    wait_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    step TEXT NOT NULL,
    type TEXT NOT NULL,
    correlation_key TEXT NOT NULL,
    token TEXT NOT NULL,
    deadline TIMESTAMP WITH TIME ZONE NOT NULL,
    escalate_at TIMESTAMP WITH TIME ZONE,
    status TEXT NOT NULL,
    approval_id TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    resolved_at TIMESTAMP WITH TIME ZONE,
    correlate TEXT NOT NULL,
    progress JSON,
    moments JSON NOT NULL,
    turn INTEGER DEFAULT 0 NOT NULL,
    CONSTRAINT pk_waits PRIMARY KEY (wait_id),
    CONSTRAINT fk_waits_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT ck_waits_type CHECK (type IN ('approval', 'human_task', 'external', 'timer', 'child_run', 'signal')),
    CONSTRAINT ck_waits_status CHECK (status IN ('active', 'completed', 'timed_out', 'canceled')),
    CONSTRAINT ck_waits_correlate CHECK (correlate IN ('by_token', 'by_key'))
);

-- a step has one active wait, and beside it one for the approval of its effect
CREATE UNIQUE INDEX uq_waits_approval ON waits (run_id, step) WHERE status = 'active' AND type = 'approval';
CREATE UNIQUE INDEX uq_waits_step ON waits (run_id, step) WHERE status = 'active' AND type <> 'approval';
CREATE INDEX ix_waits_correlation ON waits (correlation_key);
-- What comes due. Without `< 'infinity'` PostgreSQL's planner takes these indexes for a short list of active waits, as
-- long as the table has no statistics, and reads them for other questions.
CREATE INDEX ix_waits_deadline ON waits (deadline) WHERE status = 'active' AND deadline < 'infinity';
CREATE INDEX ix_waits_escalate ON waits (escalate_at) WHERE status = 'active' AND escalate_at < 'infinity';
CREATE INDEX ix_waits_run ON waits (run_id);

CREATE TRIGGER write_once BEFORE UPDATE OF
    wait_id, run_id, step, type, correlation_key, correlate, token, approval_id, created_at
    ON waits FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF resolved_at
    ON waits FOR EACH ROW
    WHEN (OLD.resolved_at IS NOT NULL AND NEW.resolved_at IS DISTINCT FROM OLD.resolved_at)
    EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON waits FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON waits FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
