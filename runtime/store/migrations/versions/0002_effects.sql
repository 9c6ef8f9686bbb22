-- what an effect is for, said by a column instead of by an empty step
ALTER TABLE effects ADD COLUMN purpose TEXT;
UPDATE effects SET purpose = CASE WHEN step = '' THEN 'message' ELSE 'step' END;
ALTER TABLE effects ALTER COLUMN purpose SET NOT NULL;
ALTER TABLE effects ADD CONSTRAINT ck_effects_purpose CHECK (purpose IN ('step', 'message'));
ALTER TABLE effects ADD CONSTRAINT ck_effects_message CHECK ((purpose = 'message') = (step = ''));

-- `in_doubt` is a status; what to do about it has a name of its own
DROP INDEX ix_effects_due;
ALTER TABLE effects ADD COLUMN on_doubt TEXT;
UPDATE effects SET on_doubt = in_doubt;
ALTER TABLE effects ALTER COLUMN on_doubt SET NOT NULL;
ALTER TABLE effects DROP COLUMN in_doubt;
ALTER TABLE effects ADD CONSTRAINT ck_effects_on_doubt CHECK (on_doubt IN ('retry', 'reconcile', 'ask', 'repeat'));

-- the other side refuses for a reason that somebody can mend
ALTER TABLE effects DROP CONSTRAINT ck_effects_status;
ALTER TABLE effects ADD CONSTRAINT ck_effects_status CHECK (
    status IN ('pending', 'leased', 'deferred', 'in_doubt', 'held', 'dispatched', 'rejected', 'failed')
);
CREATE INDEX ix_effects_due ON effects (next_try_at)
    WHERE status IN ('pending', 'held') OR status = 'in_doubt' AND on_doubt <> 'ask';
