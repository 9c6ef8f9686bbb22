-- Lists of runs under a name: the filters, and the ids that they found then.
CREATE TABLE run_lists (
    list_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    filters JSON NOT NULL,
    run_ids JSON NOT NULL,
    saved_by TEXT NOT NULL,
    saved_at TIMESTAMP WITH TIME ZONE NOT NULL,
    deleted_by TEXT,
    deleted_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_run_lists PRIMARY KEY (list_id),
    CONSTRAINT ck_run_lists_deleted CHECK ((deleted_by IS NULL) = (deleted_at IS NULL)),
    CONSTRAINT fk_run_lists_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);
CREATE UNIQUE INDEX uq_run_lists_name ON run_lists (tenant, name) WHERE deleted_at IS NULL;
CREATE TRIGGER write_once BEFORE UPDATE OF list_id, tenant, name, filters, run_ids, saved_by, saved_at
    ON run_lists FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a list that was deleted stays so
CREATE TRIGGER set_once BEFORE UPDATE OF deleted_by, deleted_at ON run_lists
    FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON run_lists FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON run_lists FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
