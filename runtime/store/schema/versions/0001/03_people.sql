-- The directory: people, agents, their Slack accounts, delegations and passkeys.

-- The directory file that is loaded. An older version never replaces a newer one.
CREATE TABLE directories (
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    digest TEXT NOT NULL,
    loaded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    remind JSON DEFAULT '{}' NOT NULL,
    usergroups JSON DEFAULT '{}' NOT NULL,
    refreshed_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_directories PRIMARY KEY (tenant),
    CONSTRAINT ck_directories_version CHECK (version >= 0)
);

CREATE TRIGGER no_delete BEFORE DELETE ON directories FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON directories FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- People and agents of the loaded directory file; loading replaces them all.
CREATE TABLE actors (
    tenant TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    groups JSON NOT NULL,
    grants JSON NOT NULL,
    notices JSON DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_actors PRIMARY KEY (tenant, actor_id),
    CONSTRAINT ck_actors_kind CHECK (kind IN ('person', 'agent'))
);

-- Two people may share one Slack account here: their click must be answered, and is refused.
CREATE TABLE slack_accounts (
    tenant TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    linked BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_slack_accounts PRIMARY KEY (team, account, tenant, actor_id),
    CONSTRAINT fk_slack_accounts_tenant_actor_id FOREIGN KEY (tenant, actor_id)
        REFERENCES actors (tenant, actor_id) ON DELETE CASCADE
);

CREATE INDEX ix_slack_accounts_actor ON slack_accounts (tenant, actor_id);

-- Says who is in the groups that Slack fills, and which accounts addresses told: all that the program may change of the
-- directory. It runs with its owner's rights, so it trusts what the loaded directory says, and nothing that it is given.
-- `heard` has people by group and `told` the accounts; `heard_at` is when Slack was asked, NULL where it was not.
CREATE FUNCTION refresh_usergroups(of_tenant TEXT, heard JSON, told JSON, heard_at TIMESTAMP WITH TIME ZONE)
    RETURNS VOID LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    said JSON;
    wrong TEXT;
BEGIN
    UPDATE directories SET refreshed_at = coalesce(heard_at, refreshed_at) WHERE tenant = of_tenant
        RETURNING usergroups INTO said;
    SELECT name INTO wrong FROM json_object_keys(heard) AS h (name)
     WHERE NOT EXISTS (SELECT FROM json_object_keys(said -> 'groups') AS g (name) WHERE g.name = h.name);
    IF FOUND THEN
        RAISE EXCEPTION 'no Slack user group fills the group %', wrong USING ERRCODE = 'insufficient_privilege';
    END IF;
    SELECT t.actor_id INTO wrong FROM json_to_recordset(told) AS t (actor_id TEXT)
     WHERE NOT EXISTS (SELECT FROM json_each_text(said -> 'emails') AS e WHERE e.value = t.actor_id);
    IF FOUND THEN
        RAISE EXCEPTION 'no address tells the account of %', wrong USING ERRCODE = 'insufficient_privilege';
    END IF;

    -- a person's own groups stay in their order; those of user groups follow in the order of the file
    WITH source AS (
        SELECT name, place FROM json_object_keys(said -> 'groups') WITH ORDINALITY AS s (name, place)
    ), fit AS (
        SELECT a.actor_id, coalesce(json_agg(g.name ORDER BY g.is_heard, g.place) FILTER (WHERE g.name IS NOT NULL), '[]')
               AS groups
          FROM actors a LEFT JOIN LATERAL (
               SELECT name, place, false AS is_heard
                 FROM json_array_elements_text(a.groups) WITH ORDINALITY AS o (name, place)
                WHERE name NOT IN (SELECT name FROM source)
               UNION ALL
               SELECT name, place, true FROM source WHERE (heard -> name)::jsonb ? a.actor_id
               ) g ON true
         WHERE a.tenant = of_tenant AND a.kind = 'person' GROUP BY a.actor_id
    )
    UPDATE actors a SET groups = fit.groups FROM fit
     WHERE a.tenant = of_tenant AND a.actor_id = fit.actor_id AND a.groups::jsonb <> fit.groups::jsonb;

    -- an account that the directory lists stays as it lists it
    DELETE FROM slack_accounts WHERE tenant = of_tenant AND linked;
    INSERT INTO slack_accounts (tenant, team, account, actor_id, linked)
    SELECT DISTINCT ON (t.account) of_tenant, t.team, t.account, t.actor_id, true
      FROM json_to_recordset(told) AS t (team TEXT, account TEXT, actor_id TEXT)
     WHERE NOT EXISTS (SELECT FROM slack_accounts l WHERE l.tenant = of_tenant AND l.account = t.account)
     ORDER BY t.account, t.team, t.actor_id;
END
$$;

-- With its owner's rights it must find our tables, and none that its caller made; nobody calls it unless granted.
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION refresh_usergroups SET search_path = %I, pg_temp', current_schema());
END
$$;
REVOKE ALL ON FUNCTION refresh_usergroups FROM PUBLIC;

-- Who votes for whom, in which groups and when. Loading a directory replaces actors, so there is no reference to them.
CREATE TABLE delegations (
    delegation_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    delegator TEXT NOT NULL,
    delegate TEXT NOT NULL,
    groups JSON NOT NULL,
    starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
    recorded_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    ended_by TEXT,
    ended_reason TEXT,
    CONSTRAINT pk_delegations PRIMARY KEY (delegation_id),
    CONSTRAINT fk_delegations_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT ck_delegations_of_two CHECK (delegate NOT IN (delegator, recorded_by)),
    CONSTRAINT ck_delegations_lasts CHECK (starts_at < ends_at),
    CONSTRAINT ck_delegations_ended
        CHECK ((ended_at IS NULL) = (ended_by IS NULL) AND (ended_at IS NULL) = (ended_reason IS NULL))
);

CREATE INDEX ix_delegations_delegate ON delegations (tenant, delegate) WHERE ended_at IS NULL;

CREATE TRIGGER write_once BEFORE UPDATE OF
    delegation_id, tenant, delegator, delegate, groups, starts_at, ends_at, recorded_by, reason, recorded_at
    ON delegations FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a delegation is ended once
CREATE TRIGGER set_once BEFORE UPDATE OF ended_at, ended_by, ended_reason
    ON delegations FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON delegations FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON delegations FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- The passkeys that people sign with. Nobody invites themselves. There is no reference to actors: loading a directory
-- replaces them.
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

CREATE TRIGGER write_once BEFORE UPDATE OF
    tenant, credential_id, person, public_key, cose_key, algorithm, origin, invited_by, reason, registered_at
    ON passkeys FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a passkey is revoked once
CREATE TRIGGER set_once BEFORE UPDATE OF revoked_at, revoked_by, revoked_reason
    ON passkeys FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON passkeys FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON passkeys FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
