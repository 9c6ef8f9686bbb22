-- Whoever writes these rows holds that of the run, and no run or effect ever goes away: nothing has to be looked for.
ALTER TABLE steps DROP CONSTRAINT fk_steps_run_id;
ALTER TABLE effects DROP CONSTRAINT fk_effects_run_id;
ALTER TABLE waits DROP CONSTRAINT fk_waits_run_id;
ALTER TABLE policy_decisions DROP CONSTRAINT fk_policy_decisions_run_id, DROP CONSTRAINT fk_policy_decisions_effect_id;
ALTER TABLE receipts DROP CONSTRAINT fk_receipts_run_id, DROP CONSTRAINT fk_receipts_effect_id;
