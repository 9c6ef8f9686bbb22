-- Versions of the policy, shared by all tenants. A database without one is for development.
CREATE TABLE policy_versions (
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    bundle BYTEA NOT NULL,
    tenant TEXT NOT NULL,
    author TEXT NOT NULL,
    comment TEXT NOT NULL,
    rules JSON NOT NULL,
    report JSON,
    proposed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_policy_versions PRIMARY KEY (version),
    CONSTRAINT fk_policy_versions_digest FOREIGN KEY (digest) REFERENCES policy_texts (digest),
    CONSTRAINT uq_policy_versions_digest UNIQUE (digest),
    CONSTRAINT ck_policy_versions_version CHECK (version >= 1)
);

-- Which version came into force when. The last row says which one is. There is no reference to the run: it would wait for
-- the run's lock, and whoever has that may wait for the version in force.
CREATE TABLE policy_activations (
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    replaces INTEGER,
    activated_by TEXT NOT NULL,
    run_id TEXT,
    activated_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_policy_activations PRIMARY KEY (number),
    CONSTRAINT fk_policy_activations_version FOREIGN KEY (version) REFERENCES policy_versions (version),
    CONSTRAINT fk_policy_activations_replaces FOREIGN KEY (replaces) REFERENCES policy_versions (version),
    CONSTRAINT ck_policy_activations_number CHECK (number >= 1 AND (number = 1) = (replaces IS NULL)),
    CONSTRAINT ck_policy_activations_run_id CHECK ((number = 1) = (run_id IS NULL))
);
CREATE UNIQUE INDEX uq_policy_activations_run_id ON policy_activations (run_id) WHERE run_id IS NOT NULL;

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON policy_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policy_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON policy_activations FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON policy_activations FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The version in force, which stays in force until the caller's transaction ends; null where the database is for
-- development. Whoever activates another one waits for that transaction. The row is read after the lock is had, by a
-- snapshot of its own (VOLATILE).
CREATE FUNCTION policy_in_force() RETURNS INTEGER LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('policy_in_force', 0));
    RETURN (SELECT version FROM policy_activations ORDER BY number DESC LIMIT 1);
END
$$;
REVOKE ALL ON FUNCTION policy_in_force FROM PUBLIC;
