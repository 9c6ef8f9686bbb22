-- Each tenant's Merkle log over the leaves of all its chains, in the order in which they were committed.

-- Hashes of leaves that are committed and not yet in the log. Rows come and go, so vacuum looks at it by number.
CREATE TABLE log_pending (
    tenant TEXT NOT NULL,
    chain TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    hashes BYTEA NOT NULL,
    CONSTRAINT ck_log_pending_first_seq CHECK (first_seq >= 1),
    CONSTRAINT ck_log_pending_hashes CHECK (length(hashes) >= 32 AND length(hashes) % 32 = 0)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Where the leaves of a chain stand in the log.
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

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON log_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The size of the log, and the hashes of its compact range.
CREATE TABLE log_heads (
    tenant TEXT NOT NULL,
    size BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    CONSTRAINT pk_log_heads PRIMARY KEY (tenant),
    CONSTRAINT fk_log_heads_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_log_heads_size CHECK (size >= 0)
);

CREATE TRIGGER no_delete BEFORE DELETE ON log_heads FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log_heads FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The hashes of every eighth level, in tiles of 256; the last tile of each level grows.
CREATE TABLE log_tiles (
    tenant TEXT NOT NULL,
    level INTEGER NOT NULL,
    number BIGINT NOT NULL,
    hashes BYTEA NOT NULL,
    CONSTRAINT pk_log_tiles PRIMARY KEY (tenant, level, number),
    CONSTRAINT ck_log_tiles_hashes CHECK (length(hashes) BETWEEN 32 AND 8192 AND length(hashes) % 32 = 0)
);

CREATE TRIGGER no_delete BEFORE DELETE ON log_tiles FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log_tiles FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Signed checkpoints, and when each was published to the archive.
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

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, size, root, note, signed_at
    ON log_checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON log_checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Time stamps of checkpoints by an authority (RFC 3161).
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

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, size, stamp, asked_at
    ON log_stamps FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON log_stamps FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON log_stamps FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Who signs and publishes now. `fault` says why the last one could not.
CREATE TABLE log_leases (
    tenant TEXT NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    fault TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_log_leases PRIMARY KEY (tenant),
    CONSTRAINT fk_log_leases_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);
