-- How a person of the directory signs in to the console: `email`, and `accounts` of identity providers.
ALTER TABLE actors ADD COLUMN sign_in JSON DEFAULT '{}' NOT NULL;

-- A session is opened by a link, or by an account of an identity provider.
ALTER TABLE console_sessions
    ALTER COLUMN link_digest DROP NOT NULL,
    ADD COLUMN issuer TEXT,
    ADD COLUMN subject TEXT,
    ADD COLUMN address TEXT,
    ADD CONSTRAINT ck_console_sessions_opened_by CHECK (
        (link_digest IS NULL) = (issuer IS NOT NULL) AND (issuer IS NULL) = (subject IS NULL)
        AND (address IS NULL OR issuer IS NOT NULL)
    );
DROP TRIGGER write_once ON console_sessions;
CREATE TRIGGER write_once BEFORE UPDATE OF session_id, tenant, secret_digest, actor_id, link_digest, opened_at, expires_at,
    issuer, subject, address ON console_sessions FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

-- Accounts that signed in by an address: the first one of an address stays its only one, as long as it is the same
-- person's.
CREATE TABLE linked_accounts (
    tenant TEXT NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    address TEXT NOT NULL,
    linked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_linked_accounts PRIMARY KEY (tenant, issuer, subject, address),
    CONSTRAINT fk_linked_accounts_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT uq_linked_accounts_tenant_issuer_actor_id_address UNIQUE (tenant, issuer, actor_id, address)
);
CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON linked_accounts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON linked_accounts FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
