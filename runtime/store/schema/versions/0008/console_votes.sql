-- Votes in the console say by which account of which issuer they were given, and what the page showed.
ALTER TABLE votes
    DROP CONSTRAINT ck_votes_via,
    ADD CONSTRAINT ck_votes_via CHECK (via IN ('slack', 'command', 'edge', 'console')),
    ADD COLUMN console JSON,
    ADD CONSTRAINT ck_votes_console CHECK ((via = 'console') = (console IS NOT NULL));
DROP TRIGGER write_once ON votes;
CREATE TRIGGER write_once BEFORE UPDATE OF
    approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at, via, brought_by,
    delegator, delegation, passkey, together, break_glass, console
    ON votes FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

-- A link to sign with a passkey keeps the same, where the vote is given in the console.
ALTER TABLE passkey_links ADD COLUMN console JSON;
DROP TRIGGER write_once ON passkey_links;
CREATE TRIGGER write_once BEFORE UPDATE OF
    link_id, tenant, person, purpose, nonce, made_at, expires_at, approval_id, stamp, reason, ticket, team, account,
    invited_by, policy, console
    ON passkey_links FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
