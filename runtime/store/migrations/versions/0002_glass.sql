-- who did without the signatures of others, and what is asked about that afterwards
ALTER TABLE votes ADD COLUMN break_glass JSON;
ALTER TABLE votes ADD CONSTRAINT ck_votes_break_glass CHECK (break_glass IS NULL OR verdict = 'approve' AND delegation IS NULL);
CREATE INDEX ix_votes_glass ON votes (person, at) WHERE break_glass IS NOT NULL;
ALTER TABLE approvals DROP CONSTRAINT ck_approvals_kind;
ALTER TABLE approvals ADD CONSTRAINT ck_approvals_kind CHECK (kind IN ('effect', 'task', 'in_doubt', 'afterwards'));
