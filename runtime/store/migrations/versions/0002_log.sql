-- The order of leaves: each tenant's are put into one Merkle log once they are committed.

-- what is committed and not yet in the log: hashes of the leaves of a chain that a transaction wrote
CREATE TABLE log_pending (
    tenant TEXT NOT NULL,
    chain TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    hashes BYTEA NOT NULL,
    CONSTRAINT ck_log_pending_first_seq CHECK (first_seq >= 1),
    CONSTRAINT ck_log_pending_hashes CHECK (length(hashes) >= 32 AND length(hashes) % 32 = 0)
);
ALTER TABLE log_pending SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
INSERT INTO log_pending
SELECT r.tenant, r.run_id, 1, string_agg(l.hash, '' ORDER BY l.seq)
  FROM runs r JOIN audit_leaves l USING (run_id) GROUP BY r.run_id;

-- where they stand there: so many from an index on
CREATE TABLE log_entries (
    tenant TEXT NOT NULL,
    first_index BIGINT NOT NULL,
    count INTEGER NOT NULL,
    chain TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    CONSTRAINT pk_log_entries PRIMARY KEY (tenant, first_index),
    CONSTRAINT uq_log_entries_chain_first_seq UNIQUE (chain, first_seq),
    CONSTRAINT ck_log_entries_count CHECK (count >= 1)
);
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON log_entries
    FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- how far the log has grown: its compact range, and the hashes of every eighth level in tiles of 256
CREATE TABLE log_heads (
    tenant TEXT NOT NULL,
    size BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    CONSTRAINT pk_log_heads PRIMARY KEY (tenant),
    CONSTRAINT fk_log_heads_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_log_heads_size CHECK (size >= 0)
);
CREATE TABLE log_tiles (
    tenant TEXT NOT NULL,
    level INTEGER NOT NULL,
    number BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    CONSTRAINT pk_log_tiles PRIMARY KEY (tenant, level, number),
    CONSTRAINT ck_log_tiles_hashes CHECK (length(hashes) BETWEEN 32 AND 8192 AND length(hashes) % 32 = 0)
);

-- what was signed of the log, and what of it stands in the archive
CREATE TABLE log_checkpoints (
    tenant TEXT NOT NULL,
    size BIGINT NOT NULL,
    root BYTEA NOT NULL,
    note TEXT NOT NULL,
    signed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    published_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_log_checkpoints PRIMARY KEY (tenant, size),
    CONSTRAINT fk_log_checkpoints_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_log_checkpoints_root CHECK (length(root) = 32)
);

-- what an authority said of a checkpoint: that it existed at a time
CREATE TABLE log_stamps (
    tenant TEXT NOT NULL,
    size BIGINT NOT NULL,
    stamp BYTEA NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    published_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_log_stamps PRIMARY KEY (tenant, size),
    CONSTRAINT fk_log_stamps_tenant_size FOREIGN KEY (tenant, size) REFERENCES log_checkpoints (tenant, size),
    CONSTRAINT ck_log_stamps_stamp CHECK (length(stamp) <= 65536)
);

-- of which size the log was whose checkpoint proves a bundle's leaves, and whether that one's time stamp is inside
ALTER TABLE evidence_bundles ADD COLUMN log_size BIGINT, ADD COLUMN log_stamped BOOLEAN NOT NULL DEFAULT false;

-- who signs and publishes now
CREATE TABLE log_leases (
    tenant TEXT NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    fault TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_log_leases PRIMARY KEY (tenant),
    CONSTRAINT fk_log_leases_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);
