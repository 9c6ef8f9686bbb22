-- These rows are written by the statement that writes the run, or the effect, that they name.
ALTER TABLE steps DROP CONSTRAINT fk_steps_run_id;
ALTER TABLE effects DROP CONSTRAINT fk_effects_run_id;
ALTER TABLE waits DROP CONSTRAINT fk_waits_run_id;
ALTER TABLE policy_decisions DROP CONSTRAINT fk_policy_decisions_run_id, DROP CONSTRAINT fk_policy_decisions_effect_id;
ALTER TABLE receipts DROP CONSTRAINT fk_receipts_run_id, DROP CONSTRAINT fk_receipts_effect_id;
