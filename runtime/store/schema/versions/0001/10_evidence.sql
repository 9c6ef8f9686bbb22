-- Evidence bundles, the register of keys that seal them, and legal holds.

-- The register of keys; a later key vouches for each entry.
CREATE TABLE signing_keys (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    entry JSON NOT NULL,
    CONSTRAINT pk_signing_keys PRIMARY KEY (tenant, number),
    CONSTRAINT uq_signing_keys_tenant_key_id UNIQUE (tenant, key_id),
    CONSTRAINT fk_signing_keys_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, number, key_id
    ON signing_keys FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON signing_keys FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON signing_keys FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Sealing and storing the bundle of a finished run. A bundle that has a SHA-256 is stored, and the other way round.
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
    tries INTEGER DEFAULT 0 NOT NULL,
    error TEXT DEFAULT '' NOT NULL,
    sealed_cards JSON DEFAULT '{}' NOT NULL,
    status TEXT DEFAULT 'sealing' NOT NULL,
    faults INTEGER DEFAULT 0 NOT NULL,
    in_the_way TEXT,
    file_number INTEGER DEFAULT 1 NOT NULL,
    retain_days INTEGER,
    key_id TEXT NOT NULL,
    log_size BIGINT,
    log_stamped BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_evidence_bundles PRIMARY KEY (run_id),
    CONSTRAINT fk_evidence_bundles_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT ck_evidence_bundles_status CHECK (status IN ('sealing', 'stored', 'stuck')),
    CONSTRAINT ck_evidence_bundles_stored
        CHECK ((status = 'stored') = (stored_at IS NOT NULL) AND (stored_at IS NULL) = (sha256 IS NULL)),
    CONSTRAINT ck_evidence_bundles_retain_days CHECK (retain_days >= 1)
);

CREATE INDEX ix_evidence_bundles_open ON evidence_bundles (next_try_at) WHERE status = 'sealing';

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, sealed_seq, sealed_cards, key_id, retain_days, created_at
    ON evidence_bundles FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- once stored, a bundle stays what it is and where it is
CREATE TRIGGER set_once BEFORE UPDATE OF
    status, file_number, sha256, size, location, version_id, retention_until, stored_at
    ON evidence_bundles FOR EACH ROW WHEN (OLD.stored_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
-- the checkpoint that a bundle carries is set once
CREATE TRIGGER set_once_of_log BEFORE UPDATE OF log_size, log_stamped
    ON evidence_bundles FOR EACH ROW
    WHEN (OLD.log_size IS NOT NULL AND (NEW.log_size, NEW.log_stamped) IS DISTINCT FROM (OLD.log_size, OLD.log_stamped))
    EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON evidence_bundles FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON evidence_bundles FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Legal holds on a run, or on all runs of a reference.
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

-- every sealing asks for open holds
CREATE UNIQUE INDEX uq_evidence_holds_open ON evidence_holds (tenant, subject, kind) WHERE lifted_at IS NULL;

CREATE TRIGGER write_once BEFORE UPDATE OF hold_id, tenant, kind, subject, reason, set_by, set_at
    ON evidence_holds FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a hold is lifted once
CREATE TRIGGER set_once BEFORE UPDATE OF lifted_reason, lifted_by, lifted_at
    ON evidence_holds FOR EACH ROW WHEN (OLD.lifted_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON evidence_holds FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON evidence_holds FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Stored bundles that a hold has named, and how many of these acts the archive has carried out.
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

CREATE TRIGGER write_once BEFORE UPDATE OF run_id ON evidence_held FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON evidence_held FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON evidence_held FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
