-- legal holds: on a run, or on all runs of a reference, whether their evidence is stored yet or not
CREATE TABLE evidence_holds (
    hold_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL,
    set_by TEXT NOT NULL,
    set_at TIMESTAMP WITH TIME ZONE NOT NULL,
    lifted_reason TEXT,
    lifted_by TEXT,
    lifted_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_evidence_holds PRIMARY KEY (hold_id),
    CONSTRAINT fk_evidence_holds_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_evidence_holds_kind CHECK (kind IN ('run', 'reference')),
    CONSTRAINT ck_evidence_holds_lifted
        CHECK ((lifted_at IS NULL) = (lifted_by IS NULL) AND (lifted_at IS NULL) = (lifted_reason IS NULL))
);
CREATE UNIQUE INDEX uq_evidence_holds_open ON evidence_holds (tenant, subject, kind) WHERE lifted_at IS NULL;

-- a stored bundle that any hold has named, and how far the archive has been told
CREATE TABLE evidence_held (
    run_id TEXT NOT NULL,
    acts INTEGER DEFAULT 1 NOT NULL,
    told INTEGER DEFAULT 0 NOT NULL,
    is_held BOOLEAN DEFAULT false NOT NULL,
    tries INTEGER DEFAULT 0 NOT NULL,
    error TEXT DEFAULT '' NOT NULL,
    next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_evidence_held PRIMARY KEY (run_id),
    CONSTRAINT fk_evidence_held_run_id FOREIGN KEY (run_id) REFERENCES evidence_bundles (run_id),
    CONSTRAINT ck_evidence_held_told CHECK (told <= acts)
);
CREATE INDEX ix_evidence_held_due ON evidence_held (next_try_at) WHERE told < acts;
