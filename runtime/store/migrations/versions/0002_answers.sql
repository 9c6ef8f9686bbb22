-- a vote may ask for changes, which ends the request like a rejection, and may be withdrawn while the request is open:
-- it stays on record, and its person may vote again
ALTER TABLE votes DROP CONSTRAINT ck_votes_verdict;
ALTER TABLE votes ADD CONSTRAINT ck_votes_verdict CHECK (verdict IN ('approve', 'reject', 'changes'));
ALTER TABLE votes ADD COLUMN withdrawn_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE votes DROP CONSTRAINT pk_votes;
ALTER TABLE votes ADD CONSTRAINT pk_votes PRIMARY KEY (notification_id);
ALTER TABLE votes DROP CONSTRAINT uq_votes_approval_id_team_account;
ALTER TABLE votes DROP CONSTRAINT uq_votes_approval_id_delegator;
CREATE UNIQUE INDEX uq_votes_person ON votes (approval_id, person) WHERE withdrawn_at IS NULL;
CREATE UNIQUE INDEX uq_votes_account ON votes (approval_id, team, account) WHERE withdrawn_at IS NULL;
CREATE UNIQUE INDEX uq_votes_delegator ON votes (approval_id, delegator) WHERE withdrawn_at IS NULL;
CREATE INDEX ix_votes_approval ON votes (approval_id);
DROP TRIGGER insert_only ON votes;
