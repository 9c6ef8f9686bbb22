-- Where the Slack app is installed, and how often people are notified.

-- A link lets its holder install the app once, into the tenant's workspace. Only the SHA-256 of its secret is stored.
CREATE TABLE slack_links (
    link_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    secret_sha256 TEXT NOT NULL,
    made_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    policy JSON NOT NULL,
    made_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_slack_links PRIMARY KEY (link_id),
    CONSTRAINT uq_slack_links_secret_sha256 UNIQUE (secret_sha256),
    CONSTRAINT fk_slack_links_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_slack_links_lasts CHECK (made_at < expires_at)
);

CREATE TRIGGER write_once BEFORE UPDATE OF link_id, tenant, secret_sha256, made_by, reason, policy, made_at, expires_at
    ON slack_links FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a link is used once
CREATE TRIGGER set_once BEFORE UPDATE OF used_at
    ON slack_links FOR EACH ROW WHEN (OLD.used_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON slack_links FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON slack_links FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- OAuth states that are pending; each is used once.
CREATE TABLE slack_states (
    state_sha256 TEXT NOT NULL,
    link_id TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_slack_states PRIMARY KEY (state_sha256),
    CONSTRAINT fk_slack_states_link_id FOREIGN KEY (link_id) REFERENCES slack_links (link_id)
);

-- Where the app is or was installed. A new installation ends the one before it.
CREATE TABLE slack_installations (
    installation_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    team TEXT NOT NULL,
    enterprise TEXT NOT NULL,
    name TEXT NOT NULL,
    app_id TEXT NOT NULL,
    bot_user TEXT NOT NULL,
    bot_id TEXT NOT NULL,
    scopes JSON NOT NULL,
    link_id TEXT NOT NULL,
    installed_by TEXT NOT NULL,
    installed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    removed_at TIMESTAMP WITH TIME ZONE,
    removed_why TEXT,
    CONSTRAINT pk_slack_installations PRIMARY KEY (installation_id),
    CONSTRAINT fk_slack_installations_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_slack_installations_link_id FOREIGN KEY (link_id) REFERENCES slack_links (link_id),
    CONSTRAINT ck_slack_installations_place CHECK (team <> '' OR enterprise <> ''),
    CONSTRAINT ck_slack_installations_removed CHECK ((removed_at IS NULL) = (removed_why IS NULL)),
    CONSTRAINT ck_slack_installations_removed_why
        CHECK (removed_why IN ('app_uninstalled', 'tokens_revoked', 'installed_again'))
);

-- a workspace, or an organization, belongs to one tenant
CREATE UNIQUE INDEX uq_slack_installations_enterprise ON slack_installations (enterprise)
    WHERE removed_at IS NULL AND team = '';
CREATE UNIQUE INDEX uq_slack_installations_team ON slack_installations (team) WHERE removed_at IS NULL AND team <> '';

CREATE TRIGGER write_once BEFORE UPDATE OF
    installation_id, tenant, team, enterprise, name, app_id, bot_user, bot_id, scopes, link_id, installed_by,
    installed_at
    ON slack_installations FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- an installation ends once
CREATE TRIGGER set_once BEFORE UPDATE OF removed_at, removed_why
    ON slack_installations FOR EACH ROW WHEN (OLD.removed_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON slack_installations FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON slack_installations FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The encrypted tokens of installations; deleted when the installation ends.
CREATE TABLE slack_tokens (
    installation_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    token BYTEA NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    refreshing_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_slack_tokens PRIMARY KEY (installation_id),
    CONSTRAINT fk_slack_tokens_installation_id FOREIGN KEY (installation_id)
        REFERENCES slack_installations (installation_id)
);

-- Accounts that Slack reports as deactivated: they are asked nothing.
CREATE TABLE slack_absentees (
    tenant TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_slack_absentees PRIMARY KEY (tenant, team, account),
    CONSTRAINT fk_slack_absentees_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);

-- One digest message in place of many, for a person who was told much within an hour.
CREATE TABLE gatherings (
    gathering_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    account TEXT NOT NULL,
    poster TEXT NOT NULL,
    begun_at TIMESTAMP WITH TIME ZONE NOT NULL,
    channel TEXT,
    ts TEXT,
    CONSTRAINT pk_gatherings PRIMARY KEY (gathering_id),
    CONSTRAINT ck_gatherings_posted CHECK ((channel IS NULL) = (ts IS NULL))
);

CREATE INDEX ix_gatherings_begun ON gatherings (tenant, account, begun_at);

-- Each direct message to a person whose notifications are limited; rows are kept for a month. Private answers to what
-- people do in Slack are here by their digest, for a day: all processes together give each once.
CREATE TABLE direct_messages (
    tenant TEXT NOT NULL,
    message TEXT NOT NULL,
    account TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    gathering_id TEXT,
    said JSON NOT NULL,
    card_of TEXT,
    asks BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_direct_messages PRIMARY KEY (tenant, message),
    CONSTRAINT fk_direct_messages_gathering_id FOREIGN KEY (gathering_id) REFERENCES gatherings (gathering_id) ON DELETE CASCADE
);

CREATE INDEX ix_direct_messages_at ON direct_messages (tenant, account, at);
CREATE INDEX ix_direct_messages_gathering ON direct_messages (gathering_id);
