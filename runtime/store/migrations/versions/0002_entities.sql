-- business entities that packs declare, and what was done to them under which idempotency key
CREATE TABLE entities (
    tenant TEXT NOT NULL,
    entity TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    deleted BOOLEAN DEFAULT false NOT NULL,
    fields JSON NOT NULL,
    CONSTRAINT pk_entities PRIMARY KEY (tenant, entity, entity_id),
    CONSTRAINT fk_entities_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_entities_version CHECK (version >= 1)
);

CREATE TABLE entity_changes (
    tenant TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    entity TEXT NOT NULL,
    entity_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    result JSON NOT NULL,
    CONSTRAINT pk_entity_changes PRIMARY KEY (tenant, idempotency_key),
    CONSTRAINT uq_entity_changes_tenant_entity_entity_id_version UNIQUE (tenant, entity, entity_id, version),
    CONSTRAINT fk_entity_changes_tenant_entity_entity_id
        FOREIGN KEY (tenant, entity, entity_id) REFERENCES entities (tenant, entity, entity_id)
);
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON entity_changes
    FOR EACH ROW EXECUTE FUNCTION refuse_change();
