-- Where each version of a runbook stands in a tenant: a draft starts nothing, and what is retired starts nothing more.
CREATE TABLE definition_lives (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    trigger_type TEXT NOT NULL,
    trigger_when TEXT,
    status TEXT NOT NULL,
    changed_by TEXT,
    run_id TEXT,
    arrived_at TIMESTAMP WITH TIME ZONE NOT NULL,
    changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_definition_lives PRIMARY KEY (tenant, name, version),
    CONSTRAINT fk_definition_lives_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_definition_lives_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_definition_lives_name_version FOREIGN KEY (name, version) REFERENCES definitions (name, version),
    CONSTRAINT ck_definition_lives_status CHECK (status IN ('draft', 'active', 'retired')),
    CONSTRAINT ck_definition_lives_changed_by CHECK ((status = 'draft') = (changed_by IS NULL))
);
CREATE INDEX ix_definition_lives_trigger ON definition_lives (tenant, trigger_type);

-- What has run before there were lives is known: as drafts, of which the next start lets the newest begin anew.
INSERT INTO definition_lives (tenant, name, version, trigger_type, status, arrived_at, changed_at)
SELECT r.tenant, d.name, d.version, min(r.trigger_type), 'draft', d.created_at, d.created_at
  FROM definitions d JOIN runs r ON (r.definition_name, r.definition_version) = (d.name, d.version)
 GROUP BY r.tenant, d.name, d.version;
