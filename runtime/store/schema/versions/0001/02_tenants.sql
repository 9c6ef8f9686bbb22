-- Tenants, and the chain of each for events that belong to no run.

-- The salt commits to redacted values and never changes. A tenant runs on mocks always or never. `audit_seq` and
-- `audit_hash` are the last leaf of its chain.
CREATE TABLE tenants (
    tenant TEXT NOT NULL,
    salt TEXT NOT NULL,
    audit_seq INTEGER DEFAULT 0 NOT NULL,
    mocked BOOLEAN DEFAULT false NOT NULL,
    audit_hash TEXT DEFAULT '0000000000000000000000000000000000000000000000000000000000000000' NOT NULL,
    CONSTRAINT pk_tenants PRIMARY KEY (tenant)
);

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, salt, mocked
    ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON tenants FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Same form as audit_leaves. `once` is an event that must not be recorded twice.
CREATE TABLE tenant_leaves (
    tenant TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash BYTEA NOT NULL,
    leaf JSON NOT NULL,
    once TEXT,
    CONSTRAINT pk_tenant_leaves PRIMARY KEY (tenant, seq),
    CONSTRAINT uq_tenant_leaves_tenant_once UNIQUE (tenant, once),
    CONSTRAINT fk_tenant_leaves_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_tenant_leaves_seq CHECK (seq >= 1),
    CONSTRAINT ck_tenant_leaves_hash CHECK (length(hash) = 32)
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON tenant_leaves FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON tenant_leaves FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
