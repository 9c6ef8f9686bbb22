-- groups that are user groups of Slack: which, when they were last asked for, and the accounts that addresses told
ALTER TABLE directories ADD COLUMN usergroups JSON NOT NULL DEFAULT '{}';
ALTER TABLE directories ADD COLUMN refreshed_at TIMESTAMP WITH TIME ZONE;
ALTER TABLE slack_accounts ADD COLUMN linked BOOLEAN NOT NULL DEFAULT false;
