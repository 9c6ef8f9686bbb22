-- Windows in which a candidate policy was asked beside the one in force, what came of it, and where they stand in the
-- tenant's log. A tenant has one at a time.
CREATE TABLE policy_shadows (
    shadow_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    candidate VARCHAR(64) NOT NULL,
    began_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    first_place BIGINT NOT NULL,
    next_place BIGINT NOT NULL,
    counts JSON DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_policy_shadows PRIMARY KEY (shadow_id),
    CONSTRAINT fk_policy_shadows_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_policy_shadows_next_place CHECK (next_place >= first_place)
);
CREATE UNIQUE INDEX uq_policy_shadows_open ON policy_shadows (tenant) WHERE ended_at IS NULL;

CREATE TABLE shadow_differences (
    shadow_id TEXT NOT NULL,
    decision_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    document JSON NOT NULL,
    CONSTRAINT pk_shadow_differences PRIMARY KEY (shadow_id, decision_id),
    CONSTRAINT fk_shadow_differences_shadow_id FOREIGN KEY (shadow_id) REFERENCES policy_shadows (shadow_id)
);

CREATE TRIGGER write_once BEFORE UPDATE OF shadow_id, tenant, candidate, began_at, first_place
    ON policy_shadows FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a window that has ended stays as it is
CREATE TRIGGER set_once BEFORE UPDATE OF ended_at, next_place, counts
    ON policy_shadows FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON policy_shadows FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policy_shadows FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON shadow_differences FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON shadow_differences FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
