-- A tenant has a chain of its own, for what belongs to no run.
ALTER TABLE tenants ADD COLUMN audit_seq INTEGER DEFAULT 0 NOT NULL,
    ADD COLUMN mocked BOOLEAN DEFAULT false NOT NULL,
    ADD COLUMN audit_hash TEXT DEFAULT '0000000000000000000000000000000000000000000000000000000000000000' NOT NULL;

CREATE TABLE tenant_leaves (
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BYTEA NOT NULL,
    leaf JSON NOT NULL,
    once TEXT,
    CONSTRAINT pk_tenant_leaves PRIMARY KEY (tenant, seq),
    CONSTRAINT fk_tenant_leaves_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT uq_tenant_leaves_tenant_once UNIQUE (tenant, once),
    CONSTRAINT ck_tenant_leaves_seq CHECK (seq >= 1),
    CONSTRAINT ck_tenant_leaves_hash CHECK (length(hash) = 32)
);
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON tenant_leaves
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
