-- who works on a review
ALTER TABLE approvals ADD COLUMN assignee TEXT;
ALTER TABLE approvals ADD CONSTRAINT ck_approvals_assignee CHECK (assignee IS NULL OR kind = 'task');

-- how a person's word came in, and who brought it where a caller of the edge did
ALTER TABLE votes ADD COLUMN via TEXT NOT NULL DEFAULT 'slack';
ALTER TABLE votes ADD COLUMN brought_by TEXT NOT NULL DEFAULT '';
ALTER TABLE votes ADD CONSTRAINT ck_votes_via CHECK (via IN ('slack', 'command', 'edge'));
ALTER TABLE votes ADD CONSTRAINT ck_votes_brought_by CHECK ((via = 'edge') = (brought_by <> ''));
