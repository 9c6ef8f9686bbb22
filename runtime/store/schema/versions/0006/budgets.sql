-- Budgets: what effects take of them, and the total of each for whom it is counted in each day or month.
CREATE TABLE budget_totals (
    tenant TEXT NOT NULL,
    budget TEXT NOT NULL,
    counted_by TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    currency TEXT NOT NULL,
    count INTEGER NOT NULL,
    sum NUMERIC NOT NULL,
    CONSTRAINT pk_budget_totals PRIMARY KEY (tenant, budget, counted_by, key, period, currency),
    CONSTRAINT fk_budget_totals_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_budget_totals_count CHECK (count >= 0),
    CONSTRAINT ck_budget_totals_sum CHECK (sum >= 0)
);

CREATE TABLE budget_uses (
    decision_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    budget TEXT NOT NULL,
    counted_by TEXT NOT NULL,
    key TEXT NOT NULL,
    period TEXT NOT NULL,
    currency TEXT NOT NULL,
    amount NUMERIC NOT NULL,
    status TEXT NOT NULL,
    in_total BOOLEAN DEFAULT true NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_budget_uses PRIMARY KEY (decision_id, budget),
    CONSTRAINT fk_budget_uses_effect_id FOREIGN KEY (effect_id) REFERENCES effects (effect_id),
    CONSTRAINT fk_budget_uses_tenant_budget_counted_by_key_period_currency FOREIGN KEY (tenant, budget, counted_by, key, period, currency)
        REFERENCES budget_totals (tenant, budget, counted_by, key, period, currency),
    CONSTRAINT ck_budget_uses_status CHECK (status IN ('reserved', 'used', 'released')),
    CONSTRAINT ck_budget_uses_in_total CHECK (in_total OR status = 'released'),
    CONSTRAINT ck_budget_uses_amount CHECK (amount >= 0)
);
CREATE UNIQUE INDEX uq_budget_uses_reserved ON budget_uses (effect_id, budget) WHERE status = 'reserved';
CREATE INDEX ix_budget_uses_returned ON budget_uses (tenant, budget, counted_by, key, period, currency)
    WHERE status = 'released' AND in_total;

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, budget, counted_by, key, period, currency
    ON budget_totals FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON budget_totals FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON budget_totals FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER write_once BEFORE UPDATE OF decision_id, effect_id, tenant, budget, counted_by, key, period, currency,
    amount, at ON budget_uses FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- what is used, or released, stays so
CREATE TRIGGER set_once BEFORE UPDATE OF status ON budget_uses
    FOR EACH ROW WHEN (OLD.status <> 'reserved') EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON budget_uses FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON budget_uses FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
