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

-- what those who decide asked whoever asked, and what they were answered
CREATE TABLE questions (
    question_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    person TEXT NOT NULL,
    person_name TEXT NOT NULL,
    question TEXT NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    answer JSON,
    CONSTRAINT pk_questions PRIMARY KEY (question_id),
    CONSTRAINT fk_questions_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_questions_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id)
);
CREATE INDEX ix_questions_approval ON questions (approval_id);
-- one question at a time of each person
CREATE UNIQUE INDEX uq_questions_open ON questions (approval_id, person) WHERE answer IS NULL;
