-- people look through what waits for them, what they asked for and what they decided, page by page
CREATE INDEX ix_approvals_waiting ON approvals (tenant, coalesce(prolonged_until, expires_at), approval_id)
    WHERE status = 'requested';
CREATE INDEX ix_votes_person ON votes (person, at, approval_id);
CREATE INDEX ix_runs_of_people ON runs (tenant, requested_by, created_at, run_id) WHERE requester_kind = 'person';

-- the act that decided several requests at once, a vote each: its id, and how many they were
ALTER TABLE votes ADD COLUMN together JSON;

-- of each request that is looked at, whether an account of the person's has asked for it or voted on it
CREATE INDEX ix_slack_accounts_actor ON slack_accounts (tenant, actor_id);
