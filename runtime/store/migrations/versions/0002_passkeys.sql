-- with what people sign; the directory is replaced as a whole, so no row here refers to it
CREATE TABLE passkeys (
    tenant TEXT NOT NULL,
    credential_id TEXT NOT NULL,
    person TEXT NOT NULL,
    public_key TEXT NOT NULL,
    cose_key BYTEA NOT NULL,
    algorithm INTEGER NOT NULL,
    origin TEXT NOT NULL,
    sign_count BIGINT NOT NULL,
    invited_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    registered_at TIMESTAMP WITH TIME ZONE NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    revoked_by TEXT,
    revoked_reason TEXT,
    CONSTRAINT pk_passkeys PRIMARY KEY (tenant, credential_id),
    CONSTRAINT fk_passkeys_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_passkeys_by_two CHECK (invited_by <> person),
    CONSTRAINT ck_passkeys_revoked
        CHECK ((revoked_at IS NULL) = (revoked_by IS NULL) AND (revoked_at IS NULL) = (revoked_reason IS NULL))
);
CREATE INDEX ix_passkeys_person ON passkeys (tenant, person);

-- the way to the page where one signs or registers; its token is nowhere, link_id is the SHA-256 of it
CREATE TABLE passkey_links (
    link_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    person TEXT NOT NULL,
    purpose TEXT NOT NULL,
    nonce TEXT NOT NULL,
    made_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    approval_id TEXT,
    stamp TEXT NOT NULL,
    reason TEXT NOT NULL,
    ticket TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    invited_by TEXT NOT NULL,
    policy JSON,
    opened_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_passkey_links PRIMARY KEY (link_id),
    CONSTRAINT fk_passkey_links_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_passkey_links_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT ck_passkey_links_purpose CHECK (purpose IN ('sign', 'register')),
    CONSTRAINT ck_passkey_links_about
        CHECK ((purpose = 'sign') = (approval_id IS NOT NULL) AND (purpose = 'register') = (policy IS NOT NULL))
);

-- what a vote was signed with, as it stands in evidence
ALTER TABLE votes ADD COLUMN passkey JSON;
