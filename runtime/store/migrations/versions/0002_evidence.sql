-- what an ended run's effects hid is forgotten; of those that are there nobody knows whether they hide anything
ALTER TABLE effects
    ADD COLUMN hides BOOLEAN DEFAULT true NOT NULL,
    ADD COLUMN forgotten JSON;
CREATE INDEX ix_notifications_correlation ON notifications (correlation_key);
ALTER TABLE notifications ADD COLUMN forgotten BOOLEAN DEFAULT false NOT NULL;
ALTER TABLE runs ADD COLUMN trigger_digest TEXT, ADD COLUMN forgotten BOOLEAN DEFAULT false NOT NULL;

-- what became of the tries to seal and store a bundle, and how many cards stood when its sealing began
ALTER TABLE evidence_bundles
    ADD COLUMN tries INTEGER DEFAULT 0 NOT NULL,
    ADD COLUMN error TEXT DEFAULT '' NOT NULL,
    ADD COLUMN sealed_cards JSON DEFAULT '{}' NOT NULL;

-- what trying again cannot help waits for somebody to act; what took its name stays, and it gets another
ALTER TABLE evidence_bundles
    ADD COLUMN status TEXT DEFAULT 'sealing' NOT NULL,
    ADD COLUMN faults INTEGER DEFAULT 0 NOT NULL,
    ADD COLUMN in_the_way TEXT,
    ADD COLUMN file_number INTEGER DEFAULT 1 NOT NULL;
UPDATE evidence_bundles SET status = 'stored' WHERE stored_at IS NOT NULL;
ALTER TABLE evidence_bundles DROP CONSTRAINT ck_evidence_bundles_stored;
ALTER TABLE evidence_bundles
    ADD CONSTRAINT ck_evidence_bundles_status CHECK (status IN ('sealing', 'stored', 'stuck')),
    ADD CONSTRAINT ck_evidence_bundles_stored
        CHECK ((status = 'stored') = (stored_at IS NOT NULL) AND (stored_at IS NULL) = (sha256 IS NULL));
DROP INDEX ix_evidence_bundles_open;
CREATE INDEX ix_evidence_bundles_open ON evidence_bundles (next_try_at) WHERE status = 'sealing';

-- a definition may say for how long its evidence is kept
ALTER TABLE evidence_bundles ADD COLUMN retain_days INTEGER;
ALTER TABLE evidence_bundles ADD CONSTRAINT ck_evidence_bundles_retain_days CHECK (retain_days >= 1);

-- which key seals a bundle is known when its sealing begins, and which key signed when stands in the register
ALTER TABLE evidence_bundles ADD COLUMN key_id TEXT;
CREATE TABLE signing_keys (
    tenant TEXT NOT NULL,
    number INTEGER NOT NULL,
    key_id TEXT NOT NULL,
    entry JSON NOT NULL,
    CONSTRAINT pk_signing_keys PRIMARY KEY (tenant, number),
    CONSTRAINT uq_signing_keys_tenant_key_id UNIQUE (tenant, key_id),
    CONSTRAINT fk_signing_keys_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);
