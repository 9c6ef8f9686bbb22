-- The first tables. Frozen: a change of the declared tables is a new migration.

CREATE TABLE actors (
    tenant TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    groups JSON NOT NULL,
    grants JSON NOT NULL,
    CONSTRAINT pk_actors PRIMARY KEY (tenant, actor_id),
    CONSTRAINT ck_actors_kind CHECK (kind IN ('person', 'agent'))
);

CREATE TABLE definitions (
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    canonical BYTEA NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_definitions PRIMARY KEY (name, version),
    CONSTRAINT ck_definitions_version CHECK (version >= 1)
);

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
    CONSTRAINT pk_notifications PRIMARY KEY (notification_id),
    CONSTRAINT uq_notifications_dedupe_key UNIQUE (dedupe_key),
    CONSTRAINT ck_notifications_status CHECK (status IN ('received', 'applied', 'duplicate', 'stale', 'dead_letter'))
);

CREATE INDEX ix_notifications_received ON notifications (received_at) WHERE status = 'received';

CREATE TABLE policy_texts (
    digest TEXT NOT NULL,
    files JSON NOT NULL,
    first_seen TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_policy_texts PRIMARY KEY (digest)
);

CREATE TABLE tenants (
    tenant TEXT NOT NULL,
    salt TEXT NOT NULL,
    CONSTRAINT pk_tenants PRIMARY KEY (tenant)
);

CREATE TABLE runs (
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    trigger_type TEXT NOT NULL,
    trigger_ref TEXT NOT NULL,
    trigger JSON NOT NULL,
    definition_name TEXT NOT NULL,
    definition_version INTEGER NOT NULL,
    definition_digest TEXT NOT NULL,
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
    CONSTRAINT pk_runs PRIMARY KEY (run_id),
    CONSTRAINT uq_runs_tenant_trigger_type_trigger_ref UNIQUE (tenant, trigger_type, trigger_ref),
    CONSTRAINT fk_runs_definition_name_definition_version FOREIGN KEY(definition_name, definition_version) REFERENCES definitions (name, version),
    CONSTRAINT ck_runs_status CHECK (status IN ('queued', 'running', 'waiting_approval', 'waiting', 'failed_retryable', 'succeeded', 'failed_terminal', 'canceled')),
    CONSTRAINT ck_runs_finished CHECK ((status IN ('succeeded', 'failed_terminal', 'canceled')) = (finished_at IS NOT NULL)),
    CONSTRAINT fk_runs_tenant FOREIGN KEY(tenant) REFERENCES tenants (tenant)
);

CREATE INDEX ix_runs_queued ON runs (created_at) WHERE status = 'queued';

CREATE INDEX ix_runs_unsealed ON runs (finished_at) WHERE finished_at IS NOT NULL AND NOT sealed;

CREATE TABLE slack_accounts (
    tenant TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    CONSTRAINT pk_slack_accounts PRIMARY KEY (team, account, tenant, actor_id),
    CONSTRAINT fk_slack_accounts_tenant_actor_id FOREIGN KEY(tenant, actor_id) REFERENCES actors (tenant, actor_id) ON DELETE CASCADE
);

CREATE TABLE audit_leaves (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    leaf JSON NOT NULL,
    CONSTRAINT pk_audit_leaves PRIMARY KEY (run_id, seq),
    CONSTRAINT ck_audit_leaves_seq CHECK (seq >= 1),
    CONSTRAINT ck_audit_leaves_hashes CHECK (length(hash) = 64 AND length(prev_hash) = 64),
    CONSTRAINT fk_audit_leaves_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE TABLE effects (
    effect_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    step TEXT NOT NULL,
    connector TEXT NOT NULL,
    operation TEXT NOT NULL,
    target TEXT NOT NULL,
    fields JSON NOT NULL,
    tier TEXT NOT NULL,
    reversible_by TEXT,
    redact JSON NOT NULL,
    idempotency_key TEXT NOT NULL,
    in_doubt TEXT NOT NULL,
    digest TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    correlation_key TEXT DEFAULT '' NOT NULL,
    timeout_s FLOAT NOT NULL,
    retry JSON NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER DEFAULT 0 NOT NULL,
    tries INTEGER DEFAULT 0 NOT NULL,
    postponed INTEGER DEFAULT 0 NOT NULL,
    lease_owner TEXT,
    lease_expires_at TIMESTAMP WITH TIME ZONE,
    next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
    give_up_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    claimed BOOLEAN DEFAULT false NOT NULL,
    approval_id TEXT,
    decision_id TEXT,
    error TEXT DEFAULT '' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_effects PRIMARY KEY (effect_id),
    CONSTRAINT uq_effects_dedupe_key UNIQUE (dedupe_key),
    CONSTRAINT ck_effects_status CHECK (status IN ('pending', 'leased', 'deferred', 'in_doubt', 'dispatched', 'rejected', 'failed')),
    CONSTRAINT ck_effects_lease CHECK ((status = 'leased') = (lease_owner IS NOT NULL)),
    CONSTRAINT ck_effects_tier CHECK (tier IN ('low', 'medium', 'high')),
    CONSTRAINT ck_effects_in_doubt CHECK (in_doubt IN ('retry', 'reconcile', 'ask')),
    CONSTRAINT fk_effects_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE INDEX ix_effects_due ON effects (next_try_at) WHERE status = 'pending' OR status = 'in_doubt' AND in_doubt <> 'ask';

CREATE INDEX ix_effects_leased ON effects (lease_expires_at) WHERE status = 'leased';

CREATE INDEX ix_effects_run ON effects (run_id);

CREATE UNIQUE INDEX uq_effects_claimed_key ON effects (tenant, idempotency_key) WHERE claimed;

CREATE TABLE evidence_bundles (
    run_id TEXT NOT NULL,
    sealed_seq INTEGER NOT NULL,
    sha256 VARCHAR(64),
    size BIGINT,
    location TEXT,
    version_id TEXT,
    retention_until TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
    stored_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_evidence_bundles PRIMARY KEY (run_id),
    CONSTRAINT ck_evidence_bundles_stored CHECK ((stored_at IS NULL) = (sha256 IS NULL)),
    CONSTRAINT fk_evidence_bundles_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE INDEX ix_evidence_bundles_open ON evidence_bundles (next_try_at) WHERE stored_at IS NULL;

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
    CONSTRAINT pk_steps PRIMARY KEY (run_id, path),
    CONSTRAINT ck_steps_status CHECK (status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable', 'succeeded', 'failed_terminal', 'skipped', 'canceled')),
    CONSTRAINT fk_steps_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE INDEX ix_steps_reads ON steps (next_try_at) WHERE is_read AND status IN ('ready', 'running', 'failed_retryable');

CREATE TABLE waits (
    wait_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    step TEXT NOT NULL,
    type TEXT NOT NULL,
    correlation_key TEXT NOT NULL,
    token TEXT NOT NULL,
    expected_version INTEGER NOT NULL,
    deadline TIMESTAMP WITH TIME ZONE NOT NULL,
    escalate_at TIMESTAMP WITH TIME ZONE,
    escalate_to JSON NOT NULL,
    captured JSON NOT NULL,
    status TEXT NOT NULL,
    approval_id TEXT,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    resolved_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_waits PRIMARY KEY (wait_id),
    CONSTRAINT ck_waits_type CHECK (type IN ('approval', 'human_task', 'external', 'timer', 'child_run', 'signal')),
    CONSTRAINT ck_waits_status CHECK (status IN ('active', 'completed', 'timed_out', 'canceled')),
    CONSTRAINT fk_waits_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id)
);

CREATE INDEX ix_waits_correlation ON waits (correlation_key);

CREATE INDEX ix_waits_deadline ON waits (deadline) WHERE status = 'active';

CREATE INDEX ix_waits_escalate ON waits (escalate_at) WHERE status = 'active';

CREATE INDEX ix_waits_run ON waits (run_id);

CREATE UNIQUE INDEX uq_waits_correlation ON waits (correlation_key) WHERE status = 'active';

CREATE UNIQUE INDEX uq_waits_step ON waits (run_id, step) WHERE status = 'active';

CREATE TABLE approvals (
    approval_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    step TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    tier TEXT NOT NULL,
    requirement JSON NOT NULL,
    reasons JSON NOT NULL,
    before JSON NOT NULL,
    purpose TEXT NOT NULL,
    status TEXT NOT NULL,
    revision INTEGER DEFAULT 1 NOT NULL,
    escalated BOOLEAN DEFAULT false NOT NULL,
    result TEXT DEFAULT '' NOT NULL,
    channel TEXT,
    card_ts TEXT,
    cards JSON NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE,
    consumed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_approvals PRIMARY KEY (approval_id),
    CONSTRAINT ck_approvals_kind CHECK (kind IN ('effect', 'task', 'in_doubt')),
    CONSTRAINT ck_approvals_status CHECK (status IN ('requested', 'approved', 'rejected', 'expired', 'canceled')),
    CONSTRAINT fk_approvals_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_approvals_effect_id FOREIGN KEY(effect_id) REFERENCES effects (effect_id)
);

CREATE INDEX ix_approvals_effect ON approvals (effect_id);

CREATE INDEX ix_approvals_run ON approvals (run_id);

CREATE UNIQUE INDEX uq_approvals_open ON approvals (effect_id, kind) WHERE status = 'requested';

CREATE TABLE policy_decisions (
    decision_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    document JSON NOT NULL,
    digest TEXT NOT NULL,
    policy_digest TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_policy_decisions PRIMARY KEY (decision_id),
    CONSTRAINT uq_policy_decisions_run_id_seq UNIQUE (run_id, seq),
    CONSTRAINT ck_policy_decisions_outcome CHECK (outcome IN ('allow', 'deny', 'needs_approval')),
    CONSTRAINT fk_policy_decisions_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_policy_decisions_effect_id FOREIGN KEY(effect_id) REFERENCES effects (effect_id),
    CONSTRAINT fk_policy_decisions_policy_digest FOREIGN KEY(policy_digest) REFERENCES policy_texts (digest)
);

CREATE TABLE receipts (
    receipt_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    outcome TEXT NOT NULL,
    document JSON NOT NULL,
    response JSON,
    digest TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_receipts PRIMARY KEY (receipt_id),
    CONSTRAINT ck_receipts_outcome CHECK (outcome IN ('success', 'failure', 'refusal', 'in_doubt')),
    CONSTRAINT uq_receipts_run_id_seq UNIQUE (run_id, seq),
    CONSTRAINT fk_receipts_run_id FOREIGN KEY(run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_receipts_effect_id FOREIGN KEY(effect_id) REFERENCES effects (effect_id)
);

CREATE UNIQUE INDEX uq_receipts_success ON receipts (tenant, idempotency_key) WHERE outcome = 'success';

CREATE TABLE votes (
    approval_id TEXT NOT NULL,
    person TEXT NOT NULL,
    person_name TEXT NOT NULL,
    groups JSON NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_votes PRIMARY KEY (approval_id, person),
    CONSTRAINT uq_votes_approval_id_team_account UNIQUE (approval_id, team, account),
    CONSTRAINT ck_votes_verdict CHECK (verdict IN ('approve', 'reject')),
    CONSTRAINT fk_votes_approval_id FOREIGN KEY(approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT fk_votes_notification_id FOREIGN KEY(notification_id) REFERENCES notifications (notification_id)
);

-- What proves what happened is written once: not even the program's own role may change it.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is insert only', TG_TABLE_NAME;
END
$$;

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON audit_leaves
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON policy_decisions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON policy_texts
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON receipts
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON votes
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON definitions
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
