-- What needs attention, found among millions of rows that do not.
CREATE INDEX ix_effects_in_doubt ON effects (created_at, effect_id) WHERE status = 'in_doubt';
CREATE INDEX ix_evidence_bundles_unstored ON evidence_bundles (run_id) WHERE stored_at IS NULL;
