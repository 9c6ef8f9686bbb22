-- leave to install the app: whoever has the link may do so once, in one workspace, which is then the tenant's
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
    CONSTRAINT fk_slack_links_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT uq_slack_links_secret_sha256 UNIQUE (secret_sha256),
    CONSTRAINT ck_slack_links_lasts CHECK (made_at < expires_at)
);

-- the states of OAuth that are out: each is used once, by the browser that it was given to
CREATE TABLE slack_states (
    state_sha256 TEXT NOT NULL,
    link_id TEXT NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_slack_states PRIMARY KEY (state_sha256),
    CONSTRAINT fk_slack_states_link_id FOREIGN KEY (link_id) REFERENCES slack_links (link_id)
);

-- where the app is, and was, installed; to install it again ends the installation before
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
CREATE UNIQUE INDEX uq_slack_installations_team ON slack_installations (team)
    WHERE removed_at IS NULL AND team <> '';
CREATE UNIQUE INDEX uq_slack_installations_enterprise ON slack_installations (enterprise)
    WHERE removed_at IS NULL AND team = '';

-- the tokens of those that are installed, encrypted: deleted when the installation ends
CREATE TABLE slack_tokens (
    installation_id TEXT NOT NULL,
    key_id TEXT NOT NULL,
    token BYTEA NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE,
    refreshing_until TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_slack_tokens PRIMARY KEY (installation_id),
    CONSTRAINT fk_slack_tokens_installation_id
        FOREIGN KEY (installation_id) REFERENCES slack_installations (installation_id)
);

-- accounts of the directory that Slack says are deactivated: they can be asked for nothing
CREATE TABLE slack_absentees (
    tenant TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    since TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_slack_absentees PRIMARY KEY (tenant, team, account),
    CONSTRAINT fk_slack_absentees_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant)
);
