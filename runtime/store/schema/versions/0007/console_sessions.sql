-- Sessions of people in the console: of the secret in their browser the digest alone.
CREATE TABLE console_sessions (
    session_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    secret_digest TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    link_digest TEXT NOT NULL,
    opened_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_console_sessions PRIMARY KEY (session_id),
    CONSTRAINT fk_console_sessions_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT uq_console_sessions_secret_digest UNIQUE (secret_digest),
    CONSTRAINT uq_console_sessions_link_digest UNIQUE (link_digest)
);
CREATE TRIGGER write_once BEFORE UPDATE OF session_id, tenant, secret_digest, actor_id, link_digest, opened_at, expires_at
    ON console_sessions FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a session that has ended stays so
CREATE TRIGGER set_once BEFORE UPDATE OF ended_at ON console_sessions
    FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON console_sessions FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON console_sessions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
