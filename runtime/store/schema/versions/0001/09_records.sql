-- What proves what happened. Nobody changes or deletes a row of these tables.

-- Every policy that has decided, by its digest.
CREATE TABLE policy_texts (
    digest TEXT NOT NULL,
    files JSON NOT NULL,
    first_seen TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_policy_texts PRIMARY KEY (digest)
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON policy_texts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policy_texts FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- `seq` is the audit leaf that names the decision and has its digest.
CREATE TABLE policy_decisions (
    decision_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    document JSON NOT NULL,
    policy_digest TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_policy_decisions PRIMARY KEY (run_id, seq),
    CONSTRAINT fk_policy_decisions_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_policy_decisions_effect_id FOREIGN KEY (effect_id) REFERENCES effects (effect_id),
    CONSTRAINT fk_policy_decisions_policy_digest FOREIGN KEY (policy_digest) REFERENCES policy_texts (digest),
    CONSTRAINT ck_policy_decisions_outcome CHECK (outcome IN ('allow', 'deny', 'needs_approval'))
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON policy_decisions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policy_decisions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- What was attempted, and what happened. `response` answers a repeated request and is no part of the evidence.
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
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_receipts PRIMARY KEY (run_id, seq),
    CONSTRAINT fk_receipts_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_receipts_effect_id FOREIGN KEY (effect_id) REFERENCES effects (effect_id),
    CONSTRAINT ck_receipts_outcome CHECK (outcome IN ('success', 'failure', 'refusal', 'in_doubt'))
);

-- an idempotency key succeeds once
CREATE UNIQUE INDEX uq_receipts_success ON receipts (tenant, idempotency_key) WHERE outcome = 'success';

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON receipts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON receipts FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- What a read asked, got and cost: one record for each attempt that ended.
CREATE TABLE reads (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    step TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    document JSON NOT NULL,
    CONSTRAINT pk_reads PRIMARY KEY (run_id, seq),
    CONSTRAINT uq_reads_run_id_step_attempt UNIQUE (run_id, step, attempt),
    CONSTRAINT fk_reads_run_id_step FOREIGN KEY (run_id, step) REFERENCES steps (run_id, path),
    CONSTRAINT ck_reads_outcome CHECK (outcome IN ('success', 'failure'))
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON reads FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON reads FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The hash chain of a run: each leaf's hash covers the leaf before.
CREATE TABLE audit_leaves (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BYTEA NOT NULL,
    leaf JSON NOT NULL,
    CONSTRAINT pk_audit_leaves PRIMARY KEY (run_id, seq),
    CONSTRAINT fk_audit_leaves_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT ck_audit_leaves_seq CHECK (seq >= 1),
    CONSTRAINT ck_audit_leaves_hash CHECK (length(hash) = 32)
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON audit_leaves FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit_leaves FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
