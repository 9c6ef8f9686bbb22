-- The outbox: effects, the circuit breakers of other systems, and business entities of packs.

-- The same command of one step is one row, by its dedupe key. Only a leased effect has a lease owner. `attempt` is the
-- fencing token of the lease.
CREATE TABLE effects (
    effect_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    step TEXT NOT NULL,
    connector TEXT NOT NULL,
    operation TEXT NOT NULL,
    target TEXT NOT NULL,
    fields JSON NOT NULL,
    tier TEXT NOT NULL,
    reversible_by TEXT,
    redact JSON NOT NULL,
    idempotency_key TEXT NOT NULL,
    digest TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    correlation_key TEXT DEFAULT '' NOT NULL,
    timeout_s DOUBLE PRECISION NOT NULL,
    retry JSON NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER DEFAULT 0 NOT NULL,
    tries INTEGER DEFAULT 0 NOT NULL,
    postponed INTEGER DEFAULT 0 NOT NULL,
    lease_owner TEXT,
    lease_expires_at TIMESTAMP WITH TIME ZONE,
    next_try_at TIMESTAMP WITH TIME ZONE NOT NULL,
    give_up_at TIMESTAMP WITH TIME ZONE NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE,
    claimed BOOLEAN DEFAULT false NOT NULL,
    approval_id TEXT,
    decision_id TEXT,
    error TEXT DEFAULT '' NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    purpose TEXT NOT NULL,
    on_doubt TEXT NOT NULL,
    hides BOOLEAN DEFAULT true NOT NULL,
    forgotten JSON,
    settles_s DOUBLE PRECISION NOT NULL,
    before JSON,
    asked BOOLEAN DEFAULT false NOT NULL,
    was_blocked BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_effects PRIMARY KEY (effect_id),
    CONSTRAINT uq_effects_run_id_dedupe_key UNIQUE (run_id, dedupe_key),
    CONSTRAINT fk_effects_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT ck_effects_status
        CHECK (status IN ('pending', 'leased', 'deferred', 'in_doubt', 'blocked', 'dispatched', 'rejected', 'failed')),
    CONSTRAINT ck_effects_lease CHECK ((status = 'leased') = (lease_owner IS NOT NULL)),
    CONSTRAINT ck_effects_message CHECK ((purpose = 'message') = (step = '')),
    CONSTRAINT ck_effects_asked CHECK (NOT asked OR status = 'in_doubt'),
    CONSTRAINT ck_effects_purpose CHECK (purpose IN ('step', 'message')),
    CONSTRAINT ck_effects_tier CHECK (tier IN ('low', 'medium', 'high')),
    CONSTRAINT ck_effects_on_doubt CHECK (on_doubt IN ('retry', 'reconcile', 'ask', 'repeat'))
);

-- one effect at a time acts under an idempotency key
CREATE UNIQUE INDEX uq_effects_claimed_key ON effects (tenant, idempotency_key) WHERE claimed;
-- writes of a run that began: policy is told their number
CREATE INDEX ix_effects_begun ON effects (run_id) WHERE purpose = 'step' AND started_at IS NOT NULL;
-- leased by tenant and purpose; fresh effects before retried ones
CREATE INDEX ix_effects_due ON effects (tenant, purpose, (tries + postponed > 0), next_try_at)
    WHERE status IN ('pending', 'blocked') OR status = 'in_doubt' AND NOT asked;
-- what still holds values that must be redacted
CREATE INDEX ix_effects_hiding ON effects (run_id) WHERE hides AND forgotten IS NULL;
CREATE INDEX ix_effects_leased ON effects (lease_expires_at) WHERE status = 'leased';

CREATE TRIGGER write_once BEFORE UPDATE OF
    effect_id, run_id, tenant, purpose, step, connector, operation, target, tier, reversible_by, redact, hides,
    idempotency_key, dedupe_key, correlation_key, created_at
    ON effects FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- the fields change when the effect has ended, to redact them once, and by an edit of what people were asked
CREATE TRIGGER forget_once BEFORE UPDATE OF fields, forgotten
    ON effects FOR EACH ROW
    WHEN ((OLD.status NOT IN ('dispatched', 'rejected', 'failed') OR OLD.forgotten IS NOT NULL OR NEW.forgotten IS NULL)
          AND NOT (OLD.status = 'deferred' AND NEW.status = 'pending'
                   AND OLD.forgotten IS NULL AND NEW.forgotten IS NULL))
    EXECUTE FUNCTION refuse_rewrite();
-- an edit is on record before it changes the fields
CREATE TRIGGER only_edited BEFORE UPDATE OF fields
    ON effects FOR EACH ROW
    WHEN (OLD.status = 'deferred' AND NEW.status = 'pending') EXECUTE FUNCTION refuse_unedited();
CREATE TRIGGER no_delete BEFORE DELETE ON effects FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON effects FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Connectors and targets that fail are left alone until `open_until`. An empty target is the whole connector.
CREATE TABLE circuit_breakers (
    tenant TEXT NOT NULL,
    connector TEXT NOT NULL,
    target TEXT NOT NULL,
    failures INTEGER NOT NULL,
    failed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    open_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_circuit_breakers PRIMARY KEY (tenant, connector, target),
    CONSTRAINT ck_circuit_breakers_failures CHECK (failures >= 0)
);

-- Business entities that packs declare. A deleted entity is marked, its row stays.
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

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, entity, entity_id
    ON entities FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON entities FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON entities FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- What was done to entities. An idempotency key acts once, and makes one version.
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
    CONSTRAINT fk_entity_changes_tenant_entity_entity_id FOREIGN KEY (tenant, entity, entity_id)
        REFERENCES entities (tenant, entity, entity_id)
);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON entity_changes FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON entity_changes FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
