-- a request may land after its timeout, and nobody can say until then that it did not
ALTER TABLE effects ADD COLUMN settles_s DOUBLE PRECISION;
UPDATE effects SET settles_s = CASE WHEN purpose = 'message' THEN 30
                                    WHEN tier = 'high' OR reversible_by IS NULL THEN 300 ELSE 60 END;
ALTER TABLE effects ALTER COLUMN settles_s SET NOT NULL;

-- the way back is on record before an attempt
ALTER TABLE effects ADD COLUMN before JSON;

-- that people are asked is said by a column of its own: what the verb declares about doubt stays as it is
ALTER TABLE effects ADD COLUMN asked BOOLEAN NOT NULL DEFAULT false;
UPDATE effects SET asked = true WHERE status = 'in_doubt' AND on_doubt = 'ask';
ALTER TABLE effects ADD CONSTRAINT ck_effects_asked CHECK (NOT asked OR status = 'in_doubt');
DROP INDEX ix_effects_due;
CREATE INDEX ix_effects_due ON effects (tenant, purpose, (tries + postponed > 0), next_try_at)
    WHERE status IN ('pending', 'held') OR status = 'in_doubt' AND NOT asked;

-- operators are told once that something is held
ALTER TABLE effects ADD COLUMN held BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE steps ADD COLUMN held BOOLEAN NOT NULL DEFAULT false;

-- what is not even taken uses up no attempt
ALTER TABLE steps ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;

-- the wait for an answer stays open while people are asked to approve its request
DROP INDEX uq_waits_step;
CREATE UNIQUE INDEX uq_waits_step ON waits (run_id, step) WHERE status = 'active' AND type <> 'approval';
CREATE UNIQUE INDEX uq_waits_approval ON waits (run_id, step) WHERE status = 'active' AND type = 'approval';
