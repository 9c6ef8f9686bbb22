--
-- PostgreSQL database dump
--

\restrict GMdOpNUqSmDLj3KtbF1Sd46cXLDhoq2egTyQfXDfgzXBfboTcmxWIY3hJDUWj9I

-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: refresh_usergroups(text, json, json, timestamp with time zone); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refresh_usergroups(of_tenant text, heard json, told json, heard_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'public', 'pg_temp'
    AS $$
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


ALTER FUNCTION public.refresh_usergroups(of_tenant text, heard json, told json, heard_at timestamp with time zone) OWNER TO countersign_owner;

--
-- Name: refuse_change(); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% is insert only', TG_TABLE_NAME;
END
$$;


ALTER FUNCTION public.refuse_change() OWNER TO countersign_owner;

--
-- Name: refuse_delete(); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refuse_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'no row of % is deleted', TG_TABLE_NAME;
END
$$;


ALTER FUNCTION public.refuse_delete() OWNER TO countersign_owner;

--
-- Name: refuse_rewrite(); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refuse_rewrite() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'this of % is written once', TG_TABLE_NAME;
END
$$;


ALTER FUNCTION public.refuse_rewrite() OWNER TO countersign_owner;

--
-- Name: refuse_second_use(); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refuse_second_use() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.consumed_at IS NOT NULL OR EXISTS (
        SELECT FROM receipts WHERE run_id = OLD.run_id AND effect_id = OLD.effect_id
           AND outcome IN ('success', 'in_doubt') AND document ->> 'approval_id' = OLD.approval_id)
    THEN
        RAISE EXCEPTION 'this of % is written once', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;


ALTER FUNCTION public.refuse_second_use() OWNER TO countersign_owner;

--
-- Name: refuse_truncate(); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refuse_truncate() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% is never emptied', TG_TABLE_NAME;
END
$$;


ALTER FUNCTION public.refuse_truncate() OWNER TO countersign_owner;

--
-- Name: refuse_unedited(); Type: FUNCTION; Schema: public; Owner: countersign_owner
--

CREATE FUNCTION public.refuse_unedited() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM edits WHERE approval_id = OLD.approval_id AND effect_id = OLD.effect_id
                      AND replaced = OLD.digest AND digest = NEW.digest)
    THEN
        RAISE EXCEPTION 'this of % changes by an edit on record alone', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;


ALTER FUNCTION public.refuse_unedited() OWNER TO countersign_owner;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: actors; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.actors (
    tenant text NOT NULL,
    actor_id text NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    groups json NOT NULL,
    grants json NOT NULL,
    notices json DEFAULT '{}'::json NOT NULL,
    CONSTRAINT ck_actors_kind CHECK ((kind = ANY (ARRAY['person'::text, 'agent'::text])))
);


ALTER TABLE public.actors OWNER TO countersign_owner;

--
-- Name: alembic_version; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);


ALTER TABLE public.alembic_version OWNER TO countersign_owner;

--
-- Name: approvals; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.approvals (
    approval_id text NOT NULL,
    run_id text NOT NULL,
    effect_id text NOT NULL,
    step text NOT NULL,
    kind text NOT NULL,
    digest text NOT NULL,
    tier text NOT NULL,
    requirement json NOT NULL,
    reasons json NOT NULL,
    before json NOT NULL,
    purpose text NOT NULL,
    status text NOT NULL,
    revision integer DEFAULT 1 NOT NULL,
    result json,
    channel text,
    card_ts text,
    cards json NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    decided_at timestamp with time zone,
    consumed_at timestamp with time zone,
    shortfall text DEFAULT ''::text NOT NULL,
    shown json,
    route json NOT NULL,
    joined json DEFAULT '[]'::json NOT NULL,
    prolonged_until timestamp with time zone,
    tenant text NOT NULL,
    assignee text,
    CONSTRAINT ck_approvals_assignee CHECK (((assignee IS NULL) OR (kind = 'task'::text))),
    CONSTRAINT ck_approvals_kind CHECK ((kind = ANY (ARRAY['effect'::text, 'task'::text, 'in_doubt'::text, 'afterwards'::text]))),
    CONSTRAINT ck_approvals_status CHECK ((status = ANY (ARRAY['requested'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'canceled'::text])))
);


ALTER TABLE public.approvals OWNER TO countersign_owner;

--
-- Name: audit_leaves; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.audit_leaves (
    run_id text NOT NULL,
    seq integer NOT NULL,
    hash bytea NOT NULL,
    leaf json NOT NULL,
    CONSTRAINT ck_audit_leaves_hash CHECK ((length(hash) = 32)),
    CONSTRAINT ck_audit_leaves_seq CHECK ((seq >= 1))
);


ALTER TABLE public.audit_leaves OWNER TO countersign_owner;

--
-- Name: card_copies; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.card_copies (
    approval_id text NOT NULL,
    place text NOT NULL,
    channel text NOT NULL,
    card_ts text NOT NULL
);


ALTER TABLE public.card_copies OWNER TO countersign_owner;

--
-- Name: circuit_breakers; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.circuit_breakers (
    tenant text NOT NULL,
    connector text NOT NULL,
    target text NOT NULL,
    failures integer NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    open_until timestamp with time zone,
    CONSTRAINT ck_circuit_breakers_failures CHECK ((failures >= 0))
);


ALTER TABLE public.circuit_breakers OWNER TO countersign_owner;

--
-- Name: definitions; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.definitions (
    name text NOT NULL,
    version integer NOT NULL,
    digest text NOT NULL,
    canonical bytea NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_definitions_version CHECK ((version >= 1))
);


ALTER TABLE public.definitions OWNER TO countersign_owner;

--
-- Name: delegations; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.delegations (
    delegation_id text NOT NULL,
    tenant text NOT NULL,
    delegator text NOT NULL,
    delegate text NOT NULL,
    groups json NOT NULL,
    starts_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    recorded_by text NOT NULL,
    reason text NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    ended_by text,
    ended_reason text,
    CONSTRAINT ck_delegations_ended CHECK ((((ended_at IS NULL) = (ended_by IS NULL)) AND ((ended_at IS NULL) = (ended_reason IS NULL)))),
    CONSTRAINT ck_delegations_lasts CHECK ((starts_at < ends_at)),
    CONSTRAINT ck_delegations_of_two CHECK (((delegate <> delegator) AND (delegate <> recorded_by)))
);


ALTER TABLE public.delegations OWNER TO countersign_owner;

--
-- Name: direct_messages; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.direct_messages (
    tenant text NOT NULL,
    message text NOT NULL,
    account text NOT NULL,
    at timestamp with time zone NOT NULL,
    gathering_id text,
    said json NOT NULL,
    card_of text,
    asks boolean DEFAULT false NOT NULL
);


ALTER TABLE public.direct_messages OWNER TO countersign_owner;

--
-- Name: directories; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.directories (
    tenant text NOT NULL,
    version integer NOT NULL,
    digest text NOT NULL,
    loaded_at timestamp with time zone NOT NULL,
    remind json DEFAULT '{}'::json NOT NULL,
    usergroups json DEFAULT '{}'::json NOT NULL,
    refreshed_at timestamp with time zone,
    CONSTRAINT ck_directories_version CHECK ((version >= 0))
);


ALTER TABLE public.directories OWNER TO countersign_owner;

--
-- Name: edits; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.edits (
    approval_id text NOT NULL,
    run_id text NOT NULL,
    effect_id text NOT NULL,
    seq integer NOT NULL,
    person text NOT NULL,
    person_name text NOT NULL,
    groups json NOT NULL,
    reason text NOT NULL,
    team text NOT NULL,
    account text NOT NULL,
    replaced text NOT NULL,
    digest text NOT NULL,
    changes json NOT NULL,
    notification_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT ck_edits_another CHECK ((digest <> replaced))
);


ALTER TABLE public.edits OWNER TO countersign_owner;

--
-- Name: effects; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.effects (
    effect_id text NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL,
    step text NOT NULL,
    connector text NOT NULL,
    operation text NOT NULL,
    target text NOT NULL,
    fields json NOT NULL,
    tier text NOT NULL,
    reversible_by text,
    redact json NOT NULL,
    idempotency_key text NOT NULL,
    digest text NOT NULL,
    dedupe_key text NOT NULL,
    correlation_key text DEFAULT ''::text NOT NULL,
    timeout_s double precision NOT NULL,
    retry json NOT NULL,
    status text NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    postponed integer DEFAULT 0 NOT NULL,
    lease_owner text,
    lease_expires_at timestamp with time zone,
    next_try_at timestamp with time zone NOT NULL,
    give_up_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    claimed boolean DEFAULT false NOT NULL,
    approval_id text,
    decision_id text,
    error text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    purpose text NOT NULL,
    on_doubt text NOT NULL,
    hides boolean DEFAULT true NOT NULL,
    forgotten json,
    settles_s double precision NOT NULL,
    before json,
    asked boolean DEFAULT false NOT NULL,
    was_blocked boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_effects_asked CHECK (((NOT asked) OR (status = 'in_doubt'::text))),
    CONSTRAINT ck_effects_lease CHECK (((status = 'leased'::text) = (lease_owner IS NOT NULL))),
    CONSTRAINT ck_effects_message CHECK (((purpose = 'message'::text) = (step = ''::text))),
    CONSTRAINT ck_effects_on_doubt CHECK ((on_doubt = ANY (ARRAY['retry'::text, 'reconcile'::text, 'ask'::text, 'repeat'::text]))),
    CONSTRAINT ck_effects_purpose CHECK ((purpose = ANY (ARRAY['step'::text, 'message'::text]))),
    CONSTRAINT ck_effects_status CHECK ((status = ANY (ARRAY['pending'::text, 'leased'::text, 'deferred'::text, 'in_doubt'::text, 'blocked'::text, 'dispatched'::text, 'rejected'::text, 'failed'::text]))),
    CONSTRAINT ck_effects_tier CHECK ((tier = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text])))
);


ALTER TABLE public.effects OWNER TO countersign_owner;

--
-- Name: entities; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.entities (
    tenant text NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    version integer NOT NULL,
    deleted boolean DEFAULT false NOT NULL,
    fields json NOT NULL,
    CONSTRAINT ck_entities_version CHECK ((version >= 1))
);


ALTER TABLE public.entities OWNER TO countersign_owner;

--
-- Name: entity_changes; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.entity_changes (
    tenant text NOT NULL,
    idempotency_key text NOT NULL,
    entity text NOT NULL,
    entity_id text NOT NULL,
    version integer NOT NULL,
    digest text NOT NULL,
    result json NOT NULL
);


ALTER TABLE public.entity_changes OWNER TO countersign_owner;

--
-- Name: evidence_bundles; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.evidence_bundles (
    run_id text NOT NULL,
    sealed_seq integer NOT NULL,
    sha256 character varying(64),
    size bigint,
    location text,
    version_id text,
    retention_until timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    stored_at timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    sealed_cards json DEFAULT '{}'::json NOT NULL,
    status text DEFAULT 'sealing'::text NOT NULL,
    faults integer DEFAULT 0 NOT NULL,
    in_the_way text,
    file_number integer DEFAULT 1 NOT NULL,
    retain_days integer,
    key_id text NOT NULL,
    log_size bigint,
    log_stamped boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_evidence_bundles_retain_days CHECK ((retain_days >= 1)),
    CONSTRAINT ck_evidence_bundles_status CHECK ((status = ANY (ARRAY['sealing'::text, 'stored'::text, 'stuck'::text]))),
    CONSTRAINT ck_evidence_bundles_stored CHECK ((((status = 'stored'::text) = (stored_at IS NOT NULL)) AND ((stored_at IS NULL) = (sha256 IS NULL))))
);


ALTER TABLE public.evidence_bundles OWNER TO countersign_owner;

--
-- Name: evidence_held; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.evidence_held (
    run_id text NOT NULL,
    acts integer DEFAULT 1 NOT NULL,
    told integer DEFAULT 0 NOT NULL,
    is_held boolean DEFAULT false NOT NULL,
    tries integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_evidence_held_told CHECK ((told <= acts))
);


ALTER TABLE public.evidence_held OWNER TO countersign_owner;

--
-- Name: evidence_holds; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.evidence_holds (
    hold_id text NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    reason text NOT NULL,
    set_by text NOT NULL,
    set_at timestamp with time zone NOT NULL,
    lifted_reason text,
    lifted_by text,
    lifted_at timestamp with time zone,
    CONSTRAINT ck_evidence_holds_kind CHECK ((kind = ANY (ARRAY['run'::text, 'reference'::text]))),
    CONSTRAINT ck_evidence_holds_lifted CHECK ((((lifted_at IS NULL) = (lifted_by IS NULL)) AND ((lifted_at IS NULL) = (lifted_reason IS NULL))))
);


ALTER TABLE public.evidence_holds OWNER TO countersign_owner;

--
-- Name: gatherings; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.gatherings (
    gathering_id text NOT NULL,
    tenant text NOT NULL,
    account text NOT NULL,
    poster text NOT NULL,
    begun_at timestamp with time zone NOT NULL,
    channel text,
    ts text,
    CONSTRAINT ck_gatherings_posted CHECK (((channel IS NULL) = (ts IS NULL)))
);


ALTER TABLE public.gatherings OWNER TO countersign_owner;

--
-- Name: log_checkpoints; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_checkpoints (
    tenant text NOT NULL,
    size bigint NOT NULL,
    root bytea NOT NULL,
    note text NOT NULL,
    signed_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    CONSTRAINT ck_log_checkpoints_root CHECK ((length(root) = 32))
);


ALTER TABLE public.log_checkpoints OWNER TO countersign_owner;

--
-- Name: log_entries; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_entries (
    tenant text NOT NULL,
    first_index bigint NOT NULL,
    count integer NOT NULL,
    chain text NOT NULL,
    first_seq integer NOT NULL,
    CONSTRAINT ck_log_entries_count CHECK ((count >= 1))
);


ALTER TABLE public.log_entries OWNER TO countersign_owner;

--
-- Name: log_heads; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_heads (
    tenant text NOT NULL,
    size bigint NOT NULL,
    hashes bytea NOT NULL,
    CONSTRAINT ck_log_heads_size CHECK ((size >= 0))
);


ALTER TABLE public.log_heads OWNER TO countersign_owner;

--
-- Name: log_leases; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_leases (
    tenant text NOT NULL,
    until timestamp with time zone NOT NULL,
    fault text DEFAULT ''::text NOT NULL
);


ALTER TABLE public.log_leases OWNER TO countersign_owner;

--
-- Name: log_pending; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_pending (
    tenant text NOT NULL,
    chain text NOT NULL,
    first_seq integer NOT NULL,
    hashes bytea NOT NULL,
    CONSTRAINT ck_log_pending_first_seq CHECK ((first_seq >= 1)),
    CONSTRAINT ck_log_pending_hashes CHECK (((length(hashes) >= 32) AND ((length(hashes) % 32) = 0)))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');


ALTER TABLE public.log_pending OWNER TO countersign_owner;

--
-- Name: log_stamps; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_stamps (
    tenant text NOT NULL,
    size bigint NOT NULL,
    stamp bytea NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    published_at timestamp with time zone,
    CONSTRAINT ck_log_stamps_stamp CHECK ((length(stamp) <= 65536))
);


ALTER TABLE public.log_stamps OWNER TO countersign_owner;

--
-- Name: log_tiles; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.log_tiles (
    tenant text NOT NULL,
    level integer NOT NULL,
    number bigint NOT NULL,
    hashes bytea NOT NULL,
    CONSTRAINT ck_log_tiles_hashes CHECK ((((length(hashes) >= 32) AND (length(hashes) <= 8192)) AND ((length(hashes) % 32) = 0)))
);


ALTER TABLE public.log_tiles OWNER TO countersign_owner;

--
-- Name: marks; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.marks (
    approval_id text NOT NULL,
    mark text NOT NULL,
    who text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT ck_marks_mark CHECK ((mark = ANY (ARRAY['looked'::text, 'reminded'::text, 'escalated'::text])))
);


ALTER TABLE public.marks OWNER TO countersign_owner;

--
-- Name: notifications; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.notifications (
    notification_id text NOT NULL,
    tenant text NOT NULL,
    kind text NOT NULL,
    dedupe_key text NOT NULL,
    correlation_key text NOT NULL,
    payload json NOT NULL,
    actor json NOT NULL,
    request_id text NOT NULL,
    status text NOT NULL,
    outcome json,
    deliveries integer DEFAULT 1 NOT NULL,
    received_at timestamp with time zone NOT NULL,
    applied_at timestamp with time zone,
    forgotten boolean DEFAULT false NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    next_try_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_notifications_status CHECK ((status = ANY (ARRAY['received'::text, 'early'::text, 'applied'::text, 'duplicate'::text, 'stale'::text, 'refused'::text, 'dead_letter'::text, 'dropped'::text])))
);


ALTER TABLE public.notifications OWNER TO countersign_owner;

--
-- Name: passkey_links; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.passkey_links (
    link_id text NOT NULL,
    tenant text NOT NULL,
    person text NOT NULL,
    purpose text NOT NULL,
    nonce text NOT NULL,
    made_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    approval_id text,
    stamp text NOT NULL,
    reason text NOT NULL,
    ticket text NOT NULL,
    team text NOT NULL,
    account text NOT NULL,
    invited_by text NOT NULL,
    policy json,
    opened_at timestamp with time zone,
    CONSTRAINT ck_passkey_links_about CHECK ((((purpose = 'sign'::text) = (approval_id IS NOT NULL)) AND ((purpose = 'register'::text) = (policy IS NOT NULL)))),
    CONSTRAINT ck_passkey_links_purpose CHECK ((purpose = ANY (ARRAY['sign'::text, 'register'::text])))
);


ALTER TABLE public.passkey_links OWNER TO countersign_owner;

--
-- Name: passkeys; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.passkeys (
    tenant text NOT NULL,
    credential_id text NOT NULL,
    person text NOT NULL,
    public_key text NOT NULL,
    cose_key bytea NOT NULL,
    algorithm integer NOT NULL,
    origin text NOT NULL,
    sign_count bigint NOT NULL,
    invited_by text NOT NULL,
    reason text NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    revoked_by text,
    revoked_reason text,
    CONSTRAINT ck_passkeys_by_two CHECK ((invited_by <> person)),
    CONSTRAINT ck_passkeys_revoked CHECK ((((revoked_at IS NULL) = (revoked_by IS NULL)) AND ((revoked_at IS NULL) = (revoked_reason IS NULL))))
);


ALTER TABLE public.passkeys OWNER TO countersign_owner;

--
-- Name: policy_decisions; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.policy_decisions (
    decision_id text NOT NULL,
    run_id text NOT NULL,
    effect_id text NOT NULL,
    seq integer NOT NULL,
    outcome text NOT NULL,
    document json NOT NULL,
    policy_digest text NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT ck_policy_decisions_outcome CHECK ((outcome = ANY (ARRAY['allow'::text, 'deny'::text, 'needs_approval'::text])))
);


ALTER TABLE public.policy_decisions OWNER TO countersign_owner;

--
-- Name: policy_texts; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.policy_texts (
    digest text NOT NULL,
    files json NOT NULL,
    first_seen timestamp with time zone NOT NULL
);


ALTER TABLE public.policy_texts OWNER TO countersign_owner;

--
-- Name: questions; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.questions (
    question_id text NOT NULL,
    tenant text NOT NULL,
    approval_id text NOT NULL,
    person text NOT NULL,
    person_name text NOT NULL,
    question text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    answer json
);


ALTER TABLE public.questions OWNER TO countersign_owner;

--
-- Name: reads; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.reads (
    run_id text NOT NULL,
    seq integer NOT NULL,
    step text NOT NULL,
    attempt integer NOT NULL,
    outcome text NOT NULL,
    document json NOT NULL,
    CONSTRAINT ck_reads_outcome CHECK ((outcome = ANY (ARRAY['success'::text, 'failure'::text])))
);


ALTER TABLE public.reads OWNER TO countersign_owner;

--
-- Name: receipts; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.receipts (
    receipt_id text NOT NULL,
    run_id text NOT NULL,
    tenant text NOT NULL,
    effect_id text NOT NULL,
    seq integer NOT NULL,
    idempotency_key text NOT NULL,
    fingerprint text NOT NULL,
    outcome text NOT NULL,
    document json NOT NULL,
    response json,
    at timestamp with time zone NOT NULL,
    CONSTRAINT ck_receipts_outcome CHECK ((outcome = ANY (ARRAY['success'::text, 'failure'::text, 'refusal'::text, 'in_doubt'::text])))
);


ALTER TABLE public.receipts OWNER TO countersign_owner;

--
-- Name: refusals; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.refusals (
    approval_id text NOT NULL,
    who text NOT NULL,
    code text NOT NULL,
    times bigint NOT NULL
);


ALTER TABLE public.refusals OWNER TO countersign_owner;

--
-- Name: runbook_versions; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.runbook_versions (
    tenant text NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    trigger_type text NOT NULL,
    trigger_when text,
    status text NOT NULL,
    changed_by text,
    run_id text,
    arrived_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    CONSTRAINT ck_runbook_versions_changed_by CHECK (((status = 'draft'::text) = (changed_by IS NULL))),
    CONSTRAINT ck_runbook_versions_status CHECK ((status = ANY (ARRAY['draft'::text, 'active'::text, 'retired'::text])))
);


ALTER TABLE public.runbook_versions OWNER TO countersign_owner;

--
-- Name: runs; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.runs (
    run_id text NOT NULL,
    tenant text NOT NULL,
    trigger_type text NOT NULL,
    trigger_ref text NOT NULL,
    trigger json NOT NULL,
    definition_name text NOT NULL,
    definition_version integer NOT NULL,
    status text NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    requested_by text NOT NULL,
    requester_kind text NOT NULL,
    submitted_by text NOT NULL,
    requester_accounts json NOT NULL,
    request_id text NOT NULL,
    salt text NOT NULL,
    writes integer DEFAULT 0 NOT NULL,
    audit_seq integer DEFAULT 0 NOT NULL,
    audit_hash text NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    sealed boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    trigger_digest text NOT NULL,
    forgotten boolean DEFAULT false NOT NULL,
    hides boolean DEFAULT false NOT NULL,
    state json,
    reference text DEFAULT ''::text NOT NULL,
    outcome text DEFAULT ''::text NOT NULL,
    output json,
    parent json,
    about text DEFAULT ''::text NOT NULL,
    CONSTRAINT ck_runs_finished CHECK (((status = ANY (ARRAY['succeeded'::text, 'failed_terminal'::text, 'canceled'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT ck_runs_status CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'waiting_approval'::text, 'waiting'::text, 'failed_retryable'::text, 'needs_attention'::text, 'succeeded'::text, 'failed_terminal'::text, 'canceled'::text])))
);


ALTER TABLE public.runs OWNER TO countersign_owner;

--
-- Name: signing_keys; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.signing_keys (
    tenant text NOT NULL,
    number integer NOT NULL,
    key_id text NOT NULL,
    entry json NOT NULL
);


ALTER TABLE public.signing_keys OWNER TO countersign_owner;

--
-- Name: slack_absentees; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.slack_absentees (
    tenant text NOT NULL,
    team text NOT NULL,
    account text NOT NULL,
    since timestamp with time zone NOT NULL
);


ALTER TABLE public.slack_absentees OWNER TO countersign_owner;

--
-- Name: slack_accounts; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.slack_accounts (
    tenant text NOT NULL,
    team text NOT NULL,
    account text NOT NULL,
    actor_id text NOT NULL,
    linked boolean DEFAULT false NOT NULL
);


ALTER TABLE public.slack_accounts OWNER TO countersign_owner;

--
-- Name: slack_installations; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.slack_installations (
    installation_id text NOT NULL,
    tenant text NOT NULL,
    team text NOT NULL,
    enterprise text NOT NULL,
    name text NOT NULL,
    app_id text NOT NULL,
    bot_user text NOT NULL,
    bot_id text NOT NULL,
    scopes json NOT NULL,
    link_id text NOT NULL,
    installed_by text NOT NULL,
    installed_at timestamp with time zone NOT NULL,
    removed_at timestamp with time zone,
    removed_why text,
    CONSTRAINT ck_slack_installations_place CHECK (((team <> ''::text) OR (enterprise <> ''::text))),
    CONSTRAINT ck_slack_installations_removed CHECK (((removed_at IS NULL) = (removed_why IS NULL))),
    CONSTRAINT ck_slack_installations_removed_why CHECK ((removed_why = ANY (ARRAY['app_uninstalled'::text, 'tokens_revoked'::text, 'installed_again'::text])))
);


ALTER TABLE public.slack_installations OWNER TO countersign_owner;

--
-- Name: slack_links; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.slack_links (
    link_id text NOT NULL,
    tenant text NOT NULL,
    secret_sha256 text NOT NULL,
    made_by text NOT NULL,
    reason text NOT NULL,
    policy json NOT NULL,
    made_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT ck_slack_links_lasts CHECK ((made_at < expires_at))
);


ALTER TABLE public.slack_links OWNER TO countersign_owner;

--
-- Name: slack_states; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.slack_states (
    state_sha256 text NOT NULL,
    link_id text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);


ALTER TABLE public.slack_states OWNER TO countersign_owner;

--
-- Name: slack_tokens; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.slack_tokens (
    installation_id text NOT NULL,
    key_id text NOT NULL,
    token bytea NOT NULL,
    expires_at timestamp with time zone,
    refreshing_until timestamp with time zone
);


ALTER TABLE public.slack_tokens OWNER TO countersign_owner;

--
-- Name: steps; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.steps (
    run_id text NOT NULL,
    path text NOT NULL,
    "position" integer NOT NULL,
    verb text NOT NULL,
    status text NOT NULL,
    params json,
    result json,
    error text DEFAULT ''::text NOT NULL,
    is_read boolean DEFAULT false NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    lease_owner text,
    lease_expires_at timestamp with time zone,
    next_try_at timestamp with time zone,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    handler text NOT NULL,
    was_blocked boolean DEFAULT false NOT NULL,
    waited integer DEFAULT 0 NOT NULL,
    kept json,
    error_code text DEFAULT ''::text NOT NULL,
    version integer DEFAULT 0 NOT NULL,
    CONSTRAINT ck_steps_status CHECK ((status = ANY (ARRAY['pending'::text, 'ready'::text, 'running'::text, 'waiting_approval'::text, 'parked'::text, 'failed_retryable'::text, 'needs_attention'::text, 'succeeded'::text, 'failed_handled'::text, 'failed_terminal'::text, 'skipped'::text, 'canceled'::text])))
);


ALTER TABLE public.steps OWNER TO countersign_owner;

--
-- Name: tenant_leaves; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.tenant_leaves (
    tenant text NOT NULL,
    seq integer NOT NULL,
    hash bytea NOT NULL,
    leaf json NOT NULL,
    once text,
    CONSTRAINT ck_tenant_leaves_hash CHECK ((length(hash) = 32)),
    CONSTRAINT ck_tenant_leaves_seq CHECK ((seq >= 1))
);


ALTER TABLE public.tenant_leaves OWNER TO countersign_owner;

--
-- Name: tenants; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.tenants (
    tenant text NOT NULL,
    salt text NOT NULL,
    audit_seq integer DEFAULT 0 NOT NULL,
    mocked boolean DEFAULT false NOT NULL,
    audit_hash text DEFAULT '0000000000000000000000000000000000000000000000000000000000000000'::text NOT NULL
);


ALTER TABLE public.tenants OWNER TO countersign_owner;

--
-- Name: votes; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.votes (
    approval_id text NOT NULL,
    person text NOT NULL,
    person_name text NOT NULL,
    groups json NOT NULL,
    verdict text NOT NULL,
    reason text NOT NULL,
    team text NOT NULL,
    account text NOT NULL,
    notification_id text NOT NULL,
    at timestamp with time zone NOT NULL,
    via text DEFAULT 'slack'::text NOT NULL,
    brought_by text DEFAULT ''::text NOT NULL,
    delegator text,
    delegation json,
    passkey json,
    withdrawn_at timestamp with time zone,
    together json,
    break_glass json,
    CONSTRAINT ck_votes_break_glass CHECK (((break_glass IS NULL) OR ((verdict = 'approve'::text) AND (delegation IS NULL)))),
    CONSTRAINT ck_votes_brought_by CHECK (((via = 'edge'::text) = (brought_by <> ''::text))),
    CONSTRAINT ck_votes_delegator CHECK ((((delegator IS NULL) = (delegation IS NULL)) AND (delegator <> person))),
    CONSTRAINT ck_votes_verdict CHECK ((verdict = ANY (ARRAY['approve'::text, 'reject'::text, 'changes'::text]))),
    CONSTRAINT ck_votes_via CHECK ((via = ANY (ARRAY['slack'::text, 'command'::text, 'edge'::text])))
);


ALTER TABLE public.votes OWNER TO countersign_owner;

--
-- Name: waits; Type: TABLE; Schema: public; Owner: countersign_owner
--

CREATE TABLE public.waits (
    wait_id text NOT NULL,
    run_id text NOT NULL,
    step text NOT NULL,
    type text NOT NULL,
    correlation_key text NOT NULL,
    token text NOT NULL,
    deadline timestamp with time zone NOT NULL,
    escalate_at timestamp with time zone,
    status text NOT NULL,
    approval_id text,
    created_at timestamp with time zone NOT NULL,
    resolved_at timestamp with time zone,
    correlate text NOT NULL,
    progress json,
    moments json NOT NULL,
    turn integer DEFAULT 0 NOT NULL,
    CONSTRAINT ck_waits_correlate CHECK ((correlate = ANY (ARRAY['by_token'::text, 'by_key'::text]))),
    CONSTRAINT ck_waits_status CHECK ((status = ANY (ARRAY['active'::text, 'completed'::text, 'timed_out'::text, 'canceled'::text]))),
    CONSTRAINT ck_waits_type CHECK ((type = ANY (ARRAY['approval'::text, 'human_task'::text, 'external'::text, 'timer'::text, 'child_run'::text, 'signal'::text])))
);


ALTER TABLE public.waits OWNER TO countersign_owner;

--
-- Data for Name: actors; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.actors (tenant, actor_id, kind, name, groups, grants, notices) FROM stdin;
acme	rita	person	Rita	["onboarding"]	{}	{}
acme	ann	person	Ann	["compliance"]	{}	{}
acme	ben	person	Ben	["compliance"]	{}	{}
acme	cat	person	Cat	["compliance"]	{}	{}
acme	sue	person	Sue	["senior-compliance"]	{}	{}
acme	omar	person	Omar	["operators"]	{}	{}
acme	ivy	person	Ivy	["incident-managers"]	{}	{}
acme	olga	person	Olga	["payments-owners"]	{}	{}
acme	sam	person	Sam	["security"]	{}	{}
acme	pam	person	Pam	["payments-owners", "security"]	{}	{}
acme	portal-bot	agent	Portal	[]	{}	{}
\.


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.alembic_version (version_num) FROM stdin;
0001
\.


--
-- Data for Name: approvals; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.approvals (approval_id, run_id, effect_id, step, kind, digest, tier, requirement, reasons, before, purpose, status, revision, result, channel, card_ts, cards, requested_at, expires_at, decided_at, consumed_at, shortfall, shown, route, joined, prolonged_until, tenant, assignee) FROM stdin;
apr_088a82c46bac0a61062b71f6	run_088a82fadf9969b4f3dde22d	eff_088a82f2383254d8a7ca6c3a	file	effect	70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78	high	{"quorum": 2, "groups": ["compliance"], "all_groups": false, "exclude": ["portal-bot", "rita"], "reason_required": true, "escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}], "expires_in": "PT8H"}	[{"code": "writes.high_tier", "msg": "High-tier writes need signatures"}]	{}	File a report with the register	approved	4	{"code": "performed", "about": []}	\N	\N	[]	2026-01-05 09:00:00+00	2026-01-05 17:00:00+00	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00		\N	{"places": ["C0COMPLIANCE"], "mention": null, "why": "", "fallback": []}	[]	\N	acme	\N
apr_088a83a15fc3f85750643feb	run_088a83d07e268da9f5102ce5	eff_088a83b53e2a4bad81a692be	file	effect	14257f2743be44a01d377909d16346b3e719e931fe81eecc852653ad3f1a4a56	high	{"quorum": 2, "groups": ["compliance"], "all_groups": false, "exclude": ["portal-bot", "rita"], "reason_required": true, "escalate_to": [{"after": "PT6H", "to": ["senior-compliance"]}], "expires_in": "PT8H"}	[{"code": "writes.high_tier", "msg": "High-tier writes need signatures"}]	{}	File a report with the register	requested	2	\N	\N	\N	[]	2026-01-05 09:00:00+00	2026-01-05 17:00:00+00	\N	\N		\N	{"places": ["C0COMPLIANCE"], "mention": null, "why": "", "fallback": []}	[]	\N	acme	\N
\.


--
-- Data for Name: audit_leaves; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.audit_leaves (run_id, seq, hash, leaf) FROM stdin;
run_088a82fadf9969b4f3dde22d	1	\\x4eff7af95472eb2fd5e9b032ef80361e5a118020e0fbf3ea28246cc99c797955	{"actor":{"id":"rita","kind":"person"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"definition_digest":"386918408af06be8e9246bd28c06ebd18e38f7130d4bba7d2ed20a02db56d42b","definition_name":"bench-file","definition_version":1,"format":1,"requester_name":"Rita","submitted_by":"portal-bot","tenant":"acme","trigger_ref":"ended","trigger_type":"bench.file"},"event":"run.queued"}
run_088a82fadf9969b4f3dde22d	2	\\x6cab78557fbb690ef515beb1970af05c290242bd3c4de67bfced196a484fd767	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"worker":"bench"},"event":"run.started"}
run_088a82fadf9969b4f3dde22d	3	\\xafd3fcea6761505f34cc7c10bd2ad02decae258b3622cb9920922f332f3f9d55	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"action":"register::file_report","digest":"70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78","target":"register:ACME"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	4	\\xa51d94d33eadfdd3f621785da904fad05c7ef3265bfdedf6756d9a876dddfd03	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"from":"queued"},"event":"run.running"}
run_088a82fadf9969b4f3dde22d	5	\\xbcbe8b8439fda5f97824ab318adb14e208f75f7d8758804941f00ac7eafb6c7d	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"decision_id":"dec_088a82f9477e4fcff01cdf17","digest":"9cf716d62d681e55507a2d00d02936c414167f9ff734b21ff32bb4cff229aae6","outcome":"needs_approval","reasons":["writes.high_tier"]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	6	\\xbd5156472984b05fbad2b1d33409608272954ed2d3c86949434a1a29010b59e7	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"approval_id":"apr_088a82c46bac0a61062b71f6","asked":"c086cb191df481cc9696dbb5a6955e81827dd04299df85efeeee0bd0a909ab5b","digest":"70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78","kind":"effect","requirement":{"all_groups":false,"escalate_to":[{"after":"PT6H","to":["senior-compliance"]}],"exclude":["portal-bot","rita"],"expires_in":"PT8H","groups":["compliance"],"quorum":2,"reason_required":true}},"event":"approval.requested"}
run_088a82fadf9969b4f3dde22d	7	\\xfdb1e5c3db6f462f75eeade79e19ee27bc7c930bc22f182c65969747e623edf1	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"correlation_key":"approval:apr_088a82c46bac0a61062b71f6","deadline":"2026-01-05T17:00:00.000000Z","type":"approval","wait_id":"wait_088a82d043dcc04450ed48cf"},"event":"wait.opened"}
run_088a82fadf9969b4f3dde22d	8	\\x4b4e0fbcb79723bda46f1a6c667299ce843ddee42e25fd97d2dc57df4ddf0de4	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8215d02e41a09489d9ee","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::post_card","digest":"f20fb0c3aca76660ae2eb1ed0161107f6ecb650a0eebd98aac1a4c08d09463f0","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	9	\\x75bf732f3c434e1fca66d8d8031fcf96b6e304ac66b95cf2deb0756bc648d83c	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{},"event":"step.waiting_approval"}
run_088a82fadf9969b4f3dde22d	10	\\x6c860300ba6444c1cbd295f2e67d2b2f1d04d2714d88465db5de4cbcb1bef057	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"from":"running"},"event":"run.waiting_approval"}
run_088a82fadf9969b4f3dde22d	11	\\xee90a5fdf23842d4376d14b8c796a1b8b7a017ca8ab71ac5cdf3b80658b2eecf	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8215d02e41a09489d9ee","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a8293c5f4ed6bf3490dd4","digest":"bba5343172b236270990d679ed6300b90039bc06c1fa2411ed9ea7ecab324ad0","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	12	\\x73d4a4c0486d07162fcefb8ed767c33c060590b96f4d01b8cca9d39c9ed2353d	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8215d02e41a09489d9ee","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"571ea98d7a0cc08f955caa023f98a9ca2cd41589831b801632c9230bfcb57557","outcome":"success","receipt_id":"rcp_088a826bbdfff96d403c4b86"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	13	\\xc18285138277666b9b468a5dc17494f1510549f960351d760aeb84545189f521	{"actor":{"id":"ann","kind":"person"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"approval_id":"apr_088a82c46bac0a61062b71f6","digest":"1f80f4e53e2b88448792e9019b19fb9ec178e6c343aff479a58801ab00e3c43e","person":"ann","verdict":"approve"},"event":"vote.counted"}
run_088a82fadf9969b4f3dde22d	14	\\x449f54b01f4e976357adb5f905d7a12213841077fd1ad227171b12518c33afbe	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a820da57a4aa3fc863141","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::post_message","digest":"c8e549c7f305a25be4b841647c850c04a8bd1a1d32a7ace0306f0f6f7fec3ae3","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	15	\\xcec5f08a4e8e8166e436913bc7939b198413316b304cf162bdac25f9c6f61df1	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a822896ebf921e9022ea2","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::update_card","digest":"e3445215641b8a999c1f7baa43cf7019c81c09ea60ea86e44c3a87a4d664618c","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	16	\\xe09248ad7e851af9a9e3162a6c679cc16a0da422c08d18618f9e2f7e82440e4f	{"actor":{"id":"ben","kind":"person"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"approval_id":"apr_088a82c46bac0a61062b71f6","digest":"953fb5861633962cacce95ece9860dcd8ac5052ce8ca49dc13a194243b3f3898","person":"ben","verdict":"approve"},"event":"vote.counted"}
run_088a82fadf9969b4f3dde22d	17	\\xe3a19c61dc343d9d173293ed6048b70614f8807da2fb540aaf18848ba2d98a5a	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a824816ee4ff50c414cce","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::post_message","digest":"000a860a167e8ea5d8ed96300ace9eb6b0e2d2d2c8e1b5bc48374f8ad89b9186","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	18	\\xd991ec9ff9bf4493905b7ab67a11ae3f1c68e30854a4c9a99a9fee2366d21279	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"approval_id":"apr_088a82c46bac0a61062b71f6","votes":2},"event":"approval.approved"}
run_088a82fadf9969b4f3dde22d	19	\\x8269524177b9d1a6ba984073b31d56f579c90804df67e6b1d0ba69c20a2b869c	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"from":"waiting_approval"},"event":"run.running"}
run_088a82fadf9969b4f3dde22d	20	\\x35cc1c5295d669d897734d5dce4fdcceeba60ed18c909f9c69855016c13c523c	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a826903904bd2e74ce943","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::update_card","digest":"987242dd372223f76ab0047c99d7790749ef497ce2ee4f4b3ce660728f973e8c","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	21	\\xcdcd90490a25fd5b376aaaba16d3ae39da0ce0be807e0a94421473ce8090b080	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f4d98561440d9c2d83","request_id":"req-click","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::direct_message","digest":"979af4d4ca7a4d01a16dea16a3e79f806256d2bd6ce7c5c693daac44b3f434d6","target":"URITA"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	22	\\x1eb4db0f9b8973e23898a008f702468425bb474b717edc01024eeb59918a1094	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a820da57a4aa3fc863141","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a8280bda60a7ecc88651d","digest":"a675350f0ff84037eb3a8890d6eec1f72446db28c565395a217b4bf25c152111","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	23	\\x084e6de3e0c834f21d74b18bf5903f2897f19b2340e5786b72a7ab536efba5dd	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a826903904bd2e74ce943","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a82dab805c33452a9de40","digest":"2f770a9d75466f5080e3163b566cd31894d456b789d7925e92571cfdb890b0f2","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	24	\\x92e89c751bd26312381d902c24f628de2ff9540c89f9f3ac185a32503e372588	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a824816ee4ff50c414cce","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a82a9c96a3c66c3c8c2cc","digest":"f594e6c5694a9f2516c16ea089172a47ceba677a7fbb1e82a47ea4db856b1acf","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	25	\\x2e49f01c8650803f82319c1515ad24040345693dc5925733475fcc704bd19be4	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a822896ebf921e9022ea2","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a82a7ad0f14596b33115d","digest":"8a3aead11f9a8b056566b231dd1b1b7a3c3f53256bcb5d693335405c68da7215","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	27	\\x6420d7ef60bdedf9b900e6d5f4f1f2d8806d3cc6b5a70ed3c7462d91df2c7f3a	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a820da57a4aa3fc863141","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"7c7f3eb065346047762f835edf3c5d8b4f2ab3097e77da5042deccfc25cfd977","outcome":"success","receipt_id":"rcp_088a829fd8f71c03b9ff5600"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	28	\\x92b2f6eb1a8381241b031da997f82b07c54ffe6a5e4fb830fb781f3f395ae80a	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"digest":"8209c1976270fc9c5b9ab927dd4eca4662104a44b346956a511d9aa4eceb30f4","outcome":"success","receipt_id":"rcp_088a82cf0d1c972772e180a2"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	29	\\x58a329aa3b7974c6ab0004a926e52c2f0a120d0938a2fb39516d363828499d20	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f49a4d94fa66acbcaa","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::update_card","digest":"437dc6fcc81a68f3f1a54ca944309dbcd5afcb640246c8a1ac19b45cfc0e4e2e","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	30	\\x0028490a426de831906b367469791a058f34be01ac7c35ad6b01e5b19843f201	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82d8a6a41c6b7ecf10fd","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::post_message","digest":"beb65c4861aaf96f78991ba7bf9cc2e9860d984c7099a73e086bb8f143dd0bb5","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	31	\\x18ac27f3b8dcb761c4f3e9d28acb795924ee1371313c0e7994d60a7bed1d9a79	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"result":"89e7ef85ceb89a16b566914cf78e70f5"},"event":"step.succeeded"}
run_088a82fadf9969b4f3dde22d	32	\\xde91fedb358bedb7fecb0265750a43301c997ee6387250ba2cd383d89d6ba097	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8212414aba0f8a07b09f","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"action":"slack::direct_message","digest":"22d8ba41090ba0b845809da0b7651a8fed1f6f8c4ed49e507a3556b900f67d89","target":"URITA"},"event":"effect.proposed"}
run_088a82fadf9969b4f3dde22d	33	\\x263b9ebf5b48a5c3b18a9a5067eab08d03e9721ae2139ea1afdddd4de9648d05	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"error":"","from":"running","writes":1},"event":"run.succeeded"}
run_088a82fadf9969b4f3dde22d	26	\\x1ea31770e0567ba6f6d9ae005bdfd084f5c268830c180db95b75b2366bd6e5e8	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a82c46bac0a61062b71f6","effect_id":"eff_088a82f2383254d8a7ca6c3a","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"},"data":{"decision_id":"dec_088a82e780599c4e2539643e","digest":"f687f38365b25e40f738bf400bbfd1563728dd988a7417c98a133440089fb475","outcome":"allow","reasons":["approvals.fulfilled"]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	34	\\xc75d2daaebad1f442b4c77d42b4c2525f2f3649a39e4ad917d6821e49137bbdb	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a824816ee4ff50c414cce","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"56043201bfa07aaa37fe92396c6e6cbde5a197565267d7935ea61209ec4fd973","outcome":"success","receipt_id":"rcp_088a82b6999fffc01199942b"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	35	\\xc8b1c9005d40c942512b33e835f591087729d7308fefd6fadc2dc449bf0de1b2	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a822896ebf921e9022ea2","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"2ace8bed6c22ccddad36271a15f223be7ed88fa7bb7188915ae93f3c3c152406","outcome":"success","receipt_id":"rcp_088a82b75985307dfe2ca32c"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	36	\\x42d006c782c862505add94a3e018c073030fd8a9fccb7505b3652a50267c051c	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a826903904bd2e74ce943","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"f37385045705c98100c9f3ee125868a2f071737c4ec72af04016a6e987f69466","outcome":"success","receipt_id":"rcp_088a8287f3b8f95fbf98943f"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	37	\\xe4df243cf2bf1a6527c9474b21460a7a04e9ec8ff6cb6adabd130e33a45ac0c0	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8212414aba0f8a07b09f","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a82ff18e12a0ab8d14565","digest":"75d974f039612aa05b77a2101d9630a1c65d72b35ec7a23403f97c59735d86f5","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	38	\\x8423907eadbe87022b58306466f45bb2624c8612710208d1117d3e7b2176f54a	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f4d98561440d9c2d83","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a822bb093d14e405458ee","digest":"c6e3a498f2b3f5f543764d7b4c13c00abf590eaca17f91dfe40fa18fb22bbf19","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	39	\\x1bb79958d2b08178db07e60aacde0c0abbe0038469baa6f15b02e682bfd2bb69	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82d8a6a41c6b7ecf10fd","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a8229223d3ffab1506980","digest":"ef3db4c77c2cba36358fb63eb0bdfdd459d7d48de1f1f0351322c6de018e2c4f","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	40	\\x373024a2fddb5071262d44df7389ce040a29affba720eb9fcd62685754e36f73	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f49a4d94fa66acbcaa","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"decision_id":"dec_088a82b1d7965a95261f77c5","digest":"456bb8a5c290936e26851ebc6c579c572a8a008e51f4b177a78ab8fd6f54412d","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a82fadf9969b4f3dde22d	41	\\x836800841cb67721a69c358030ebd8aeab4191603064f69788efacf1ef105ca2	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8212414aba0f8a07b09f","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"0bc23b30ccc5d70c813966ae689e7159c1e88e57c907233e8f5c52ad1ed509dd","outcome":"success","receipt_id":"rcp_088a8273f2526419e3d4e755"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	42	\\x3f072022afd5449c63690a9c262470fc6d584363e5a0228ba7c256fb2e3511bc	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f4d98561440d9c2d83","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"9ba97896d7b97ecb482f8080b4c7e6efa600d9060f961ff45749e95f36734193","outcome":"success","receipt_id":"rcp_088a82f0baa8a047c6dee8d5"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	43	\\xed9478b7b797104917d6364b0f47dd4d334d45a1020d50f245db7d27b87eff92	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82d8a6a41c6b7ecf10fd","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"eda3e1ea1cb35ea512f3ede8cac544440f0b5e51b6cd13f911ed63c7f5331db5","outcome":"success","receipt_id":"rcp_088a82c075b551ed2a7ee075"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	44	\\xbc5059f441ad7e7eae02a8eb666586333ba461978105416b3361886311c12d6c	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a82f49a4d94fa66acbcaa","request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"digest":"e16682d474269803be67f9ddd067653b6deceaeeb9c568a0983dad3dfb5e63b0","outcome":"success","receipt_id":"rcp_088a826f09d0a102c56a8336"},"event":"receipt.written"}
run_088a82fadf9969b4f3dde22d	45	\\x74323df38ff3bd20da9662f82156efe74d4cc0806fbd18a8cac39c72e20abf44	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"key_id":"1aa28cc468c6794b4a481fc415c478006281a0ce56ad59883dd01bf69cc19a63"},"event":"evidence.begun"}
run_088a82fadf9969b4f3dde22d	46	\\xef5e9ade38719915c38b21102c16f6d028070548afba7223141292f2942a74e6	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a82fadf9969b4f3dde22d","step":null},"data":{"location":"/tmp/tmpqgmb54v9/evidence/run_088a82fadf9969b4f3dde22d.zip","sha256":"0e5287487c67b42b33cecc666291433cfd9fb639ffdc2191b95895096d57112c","size":124898,"version_id":null},"event":"evidence.sealed"}
run_088a83d07e268da9f5102ce5	1	\\x24487cc3b2cd6178121260b7e5b2fc004c13ee1d9f12a107bf21c39fe21b1737	{"actor":{"id":"rita","kind":"person"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"definition_digest":"386918408af06be8e9246bd28c06ebd18e38f7130d4bba7d2ed20a02db56d42b","definition_name":"bench-file","definition_version":1,"format":1,"requester_name":"Rita","submitted_by":"portal-bot","tenant":"acme","trigger_ref":"signed once","trigger_type":"bench.file"},"event":"run.queued"}
run_088a835a184a171c047c51c3	1	\\xbfe498404f3eb4f0d797eb5392788c54d58010f55cf39892e1550073896d0626	{"actor":{"id":"rita","kind":"person"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":null},"data":{"definition_digest":"666ce51be56c642aa20dc1a301f4cc43f82b66691a38a134ee1d4524ce713d36","definition_name":"bench-wait","definition_version":1,"format":1,"requester_name":"Rita","submitted_by":"portal-bot","tenant":"acme","trigger_ref":"parked","trigger_type":"bench.wait"},"event":"run.queued"}
run_088a83d07e268da9f5102ce5	2	\\xd9069c7963fe129f69dd4e5c71bd9a8779452a71bf9cad41898bd9e7ba35d841	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"worker":"bench"},"event":"run.started"}
run_088a83d07e268da9f5102ce5	3	\\x047ebf736b084dfd6a9256537ffb464ccd0262bb9069710f76054fb78b4eb299	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a83b53e2a4bad81a692be","request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":"file"},"data":{"action":"register::file_report","digest":"14257f2743be44a01d377909d16346b3e719e931fe81eecc852653ad3f1a4a56","target":"register:ACME"},"event":"effect.proposed"}
run_088a83d07e268da9f5102ce5	4	\\xedf7a2761b7a8f94896d65e5cbcbbc4d291eee107fda973e146805f979a02ae0	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"from":"queued"},"event":"run.running"}
run_088a835a184a171c047c51c3	2	\\x5838e6663b4f9719710834ef7299b7582a886026bf5755fe1eb4cd8d1daa6ba8	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":null},"data":{"worker":"bench"},"event":"run.started"}
run_088a835a184a171c047c51c3	3	\\xaa8b52c87017a70745f096d4279a769e77aa804ca431900e9c30ccb6a458d0f9	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a83a553b852a6f637b798","request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":"ask"},"data":{"action":"portal::request_documents","digest":"df20b969fe66a5f00f0865ec7070e8755f9dde8e5ab476bf4a4436bb021cf320","target":"portal:C1"},"event":"effect.proposed"}
run_088a835a184a171c047c51c3	4	\\xdfbea9ab014f14ecc9f253736a48f3c1d90e68a6d2dffb1a65e5cf52c249ac57	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":null},"data":{"from":"queued"},"event":"run.running"}
run_088a83d07e268da9f5102ce5	11	\\x8440c73a78afa6610fedd92d5c55df061dd454cd2f3945215a814c86ad99aaf2	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a839f73f6d1ab6567af63","request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"decision_id":"dec_088a831abc34ade11c53e565","digest":"0d9facdea0c5dbaaf2ef4eeeef10fd285c045dbb78d73d057976e53e1240f988","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a83d07e268da9f5102ce5	12	\\x8edecfe2da99fcb7cbb45d22b26f5d56836faaa4922955fa70479a775f37f285	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a839f73f6d1ab6567af63","request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"digest":"0273cc23b3f46091969db6f6f968978e0e5aebcee973ef29e197f4daf14ab546","outcome":"success","receipt_id":"rcp_088a8355a33a7f5fb567f474"},"event":"receipt.written"}
run_088a83d07e268da9f5102ce5	13	\\x35a85183971f45d2f8fabf9bf26b45e1ee09562977d888caeafb007ac4c788c6	{"actor":{"id":"ann","kind":"person"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a83a15fc3f85750643feb","effect_id":"eff_088a83b53e2a4bad81a692be","request_id":"req-click","run_id":"run_088a83d07e268da9f5102ce5","step":"file"},"data":{"approval_id":"apr_088a83a15fc3f85750643feb","digest":"1f80f4e53e2b88448792e9019b19fb9ec178e6c343aff479a58801ab00e3c43e","person":"ann","verdict":"approve"},"event":"vote.counted"}
run_088a83d07e268da9f5102ce5	14	\\x4f3ef1148f8a8a35cec6fae04a8abd2dc0de9adbdeb402530e2ed3250f56ab6f	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a836b8777fd2246cf1686","request_id":"req-click","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"action":"slack::post_message","digest":"91ea1bacb22d0258453e48916f8637d0256ab3fcd9da500ef624aac48c144321","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a83d07e268da9f5102ce5	15	\\x305760e6ca985e2579115ee9a32ce22fe6ea5ad904ce588004ea5dd8bdd6de83	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a8334a08ae51d4fd79811","request_id":"req-click","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"action":"slack::update_card","digest":"6d02315c33e66f6c1f093b2fd819130a6f0f467197467a58e0d399c6dd99f59c","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a835a184a171c047c51c3	5	\\x48839b2e6ceb812bce465ca60a11581404e6e9691859dbf86dbe63e98bfa97e2	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a83a553b852a6f637b798","request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":"ask"},"data":{"decision_id":"dec_088a83dd4ec1446dab53730a","digest":"d0ec920f57ccc7c00fd87e4193a624a36545314fbd27710c6b0f501e1d80a8ae","outcome":"allow","reasons":[]},"event":"decision.recorded"}
run_088a835a184a171c047c51c3	6	\\x7ef600d272f99b53d5d8c6e5ea6419961b92117c3c8d29b51b0740408a46404f	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":"ask"},"data":{"correlation_key":"acme:await_answer:C1","deadline":"2026-01-19T09:00:00.000000Z","type":"external","wait_id":"wait_088a8391c6caca5c3d226dd6"},"event":"wait.opened"}
run_088a83d07e268da9f5102ce5	5	\\xebd069e3033390b835ba326ebbe8769ff8ca2d0933ec98b107e2317399fb935d	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a83b53e2a4bad81a692be","request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":"file"},"data":{"decision_id":"dec_088a83354d48df47835b3b0b","digest":"f4e098e619b04134399abd5ccedde29af43ed2521fa48d7c036945b56bca13bf","outcome":"needs_approval","reasons":["writes.high_tier"]},"event":"decision.recorded"}
run_088a83d07e268da9f5102ce5	6	\\x33f29fb654b3091c7d7e16f20243e97e6ad1d2284df948410410e6cd3660adff	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a83a15fc3f85750643feb","effect_id":"eff_088a83b53e2a4bad81a692be","request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":"file"},"data":{"approval_id":"apr_088a83a15fc3f85750643feb","asked":"a762bd14cba5df0bf0adeb50d8b87e199028be8eee606e9a7c4c74df3fffc56e","digest":"14257f2743be44a01d377909d16346b3e719e931fe81eecc852653ad3f1a4a56","kind":"effect","requirement":{"all_groups":false,"escalate_to":[{"after":"PT6H","to":["senior-compliance"]}],"exclude":["portal-bot","rita"],"expires_in":"PT8H","groups":["compliance"],"quorum":2,"reason_required":true}},"event":"approval.requested"}
run_088a83d07e268da9f5102ce5	7	\\x8b3213603129ac882a7d1c2c5108165ea86ee3afee55ca09b72565c23b0ee1ad	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":"apr_088a83a15fc3f85750643feb","effect_id":null,"request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":"file"},"data":{"correlation_key":"approval:apr_088a83a15fc3f85750643feb","deadline":"2026-01-05T17:00:00.000000Z","type":"approval","wait_id":"wait_088a8396074fa2ef62ea9085"},"event":"wait.opened"}
run_088a83d07e268da9f5102ce5	8	\\x5d00376b19be5d80c52075221b2b02c75347d192c870d7b829167544e3535281	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a839f73f6d1ab6567af63","request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"action":"slack::post_card","digest":"64d4e3c760f70152658f370f4ddbe3de6483c179ffcf43c488878de4e9b4b85a","target":"C0COMPLIANCE"},"event":"effect.proposed"}
run_088a83d07e268da9f5102ce5	9	\\x151859b9ce32732bb65c14ce3af987e93c177329e7e2949753a71f36d79c8760	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":"file"},"data":{},"event":"step.waiting_approval"}
run_088a83d07e268da9f5102ce5	10	\\xa35fa90ba248a43bb1cb27499ff4967ad6114a27eb026388623cfb2aa85a6207	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a83d07e268da9f5102ce5","step":null},"data":{"from":"running"},"event":"run.waiting_approval"}
run_088a835a184a171c047c51c3	7	\\xb9b0d22205c1c8397cbd104b0eacd1a929ab4324c5f93701d47e5700cfec16c2	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":"eff_088a83a553b852a6f637b798","request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":"ask"},"data":{"digest":"6d87f313a620852112b5d7d35535c2d620abb02c0f0202871b48a748c79e1e32","outcome":"success","receipt_id":"rcp_088a833324df22f844f64877"},"event":"receipt.written"}
run_088a835a184a171c047c51c3	8	\\x5a63d19b84f683d96b6bef011f4c117316180588fa739a374fdd7283bf52ecb7	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":"ask"},"data":{},"event":"step.parked"}
run_088a835a184a171c047c51c3	9	\\x30506c908ca3dee1fb8b7ae41848af30a026d2d36ff83f1301c77b4606b0c56a	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":"req-1","run_id":"run_088a835a184a171c047c51c3","step":null},"data":{"from":"running"},"event":"run.waiting"}
\.


--
-- Data for Name: card_copies; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.card_copies (approval_id, place, channel, card_ts) FROM stdin;
\.


--
-- Data for Name: circuit_breakers; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.circuit_breakers (tenant, connector, target, failures, failed_at, open_until) FROM stdin;
\.


--
-- Data for Name: definitions; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.definitions (name, version, digest, canonical, created_at) FROM stdin;
countersign-activate	1	bd4ba365187ae9fb7972a9e317af263403d51b133b43ceacc7ee35e213f028fc	\\x7b226465736372697074696f6e223a224e65772072756e732073746172742077697468207468652076657273696f6e3b2074686f73652074686174207765726520616374697665207265746972652c20756e6c65737320697420636f6d657320626573696465207468656d2e222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a22636f756e7465727369676e2d6163746976617465222c227374657073223a5b7b226964223a2261637469766174696f6e222c22706172616d73223a7b22616374697665223a22247b747269676765722e6163746976657d222c226368616e676573223a22247b747269676765722e6368616e6765737d222c22646967657374223a22247b747269676765722e6469676573747d222c22696e5f706c6163655f6f66223a22247b747269676765722e696e5f706c6163655f6f667d222c226e616d65223a22247b747269676765722e6e616d657d222c22726561736f6e223a22247b747269676765722e726561736f6e7d222c2276657273696f6e223a22247b747269676765722e76657273696f6e7d227d2c2276657262223a2261637469766174655f646566696e6974696f6e222c227768656e223a6e756c6c7d5d2c227469746c65223a22416374697661746520612076657273696f6e206f6620612072756e626f6f6b222c2274726967676572223a7b22736368656d61223a7b2270726f70657274696573223a7b22616374697665223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d2c226368616e676573223a7b2274797065223a22737472696e67227d2c22646967657374223a7b2274797065223a22737472696e67227d2c22696e5f706c6163655f6f66223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d2c226e616d65223a7b2274797065223a22737472696e67227d2c22726561736f6e223a7b2274797065223a22737472696e67227d2c2276657273696f6e223a7b226d696e696d756d223a312c2274797065223a22696e7465676572227d7d2c227265717569726564223a5b226e616d65222c2276657273696f6e222c22646967657374222c22616374697665222c22696e5f706c6163655f6f66222c226368616e676573222c22726561736f6e225d2c2274797065223a226f626a656374227d2c2274797065223a22636f756e7465727369676e2e6163746976617465227d2c227665726273223a7b2261637469766174655f646566696e6974696f6e223a7b226465736372697074696f6e223a224c6574206e65772072756e73207374617274207769746820612076657273696f6e206f6620612072756e626f6f6b222c22646f6d61696e223a22636f756e7465727369676e222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a22646566696e6974696f6e3a61637469766174653a247b72756e2e69647d222c22696e5f646f756274223a227265747279222c2272657665727369626c655f6279223a227265746972655f646566696e6974696f6e222c22746172676574223a22646566696e6974696f6e3a247b706172616d732e6e616d657d222c2274696572223a226d656469756d227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22646566696e6974696f6e3a3a6163746976617465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543153222c226d61785f617474656d707473223a352c226d61785f64656c6179223a225054314d227d2c2274696d656f7574223a225054333053222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b2270726f70657274696573223a7b22616374697665223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d2c226368616e676573223a7b2274797065223a22737472696e67227d2c22646967657374223a7b2274797065223a22737472696e67227d2c22696e5f706c6163655f6f66223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d2c226e616d65223a7b2274797065223a22737472696e67227d2c22726561736f6e223a7b2274797065223a22737472696e67227d2c2276657273696f6e223a7b226d696e696d756d223a312c2274797065223a22696e7465676572227d7d2c227265717569726564223a5b226e616d65222c2276657273696f6e222c22646967657374222c22616374697665222c22696e5f706c6163655f6f66222c226368616e676573222c22726561736f6e225d2c2274797065223a226f626a656374227d2c226e616d65223a2261637469766174655f646566696e6974696f6e222c226f75747075745f736368656d61223a7b2270726f70657274696573223a7b2272657469726564223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d7d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
countersign-retire	1	9095156227ae07b79aef209fa911938fd9a9b21a2f95e259f8d7048072466463	\\x7b226465736372697074696f6e223a224e6f206e65772072756e207374617274732077697468207468652076657273696f6e3b2072756e7320746861742074686572652061726520676f206f6e2e222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a22636f756e7465727369676e2d726574697265222c227374657073223a5b7b226964223a227265746972656d656e74222c22706172616d73223a7b22616374697665223a22247b747269676765722e6163746976657d222c22646967657374223a22247b747269676765722e6469676573747d222c226e616d65223a22247b747269676765722e6e616d657d222c22726561736f6e223a22247b747269676765722e726561736f6e7d222c2276657273696f6e223a22247b747269676765722e76657273696f6e7d227d2c2276657262223a227265746972655f646566696e6974696f6e222c227768656e223a6e756c6c7d5d2c227469746c65223a2252657469726520612076657273696f6e206f6620612072756e626f6f6b222c2274726967676572223a7b22736368656d61223a7b2270726f70657274696573223a7b22616374697665223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d2c22646967657374223a7b2274797065223a22737472696e67227d2c226e616d65223a7b2274797065223a22737472696e67227d2c22726561736f6e223a7b2274797065223a22737472696e67227d2c2276657273696f6e223a7b226d696e696d756d223a312c2274797065223a22696e7465676572227d7d2c227265717569726564223a5b226e616d65222c2276657273696f6e222c22646967657374222c22616374697665222c22726561736f6e225d2c2274797065223a226f626a656374227d2c2274797065223a22636f756e7465727369676e2e726574697265227d2c227665726273223a7b227265746972655f646566696e6974696f6e223a7b226465736372697074696f6e223a224c6574206e6f206e65772072756e207374617274207769746820612076657273696f6e206f6620612072756e626f6f6b222c22646f6d61696e223a22636f756e7465727369676e222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a22646566696e6974696f6e3a7265746972653a247b72756e2e69647d222c22696e5f646f756274223a227265747279222c2272657665727369626c655f6279223a2261637469766174655f646566696e6974696f6e222c22746172676574223a22646566696e6974696f6e3a247b706172616d732e6e616d657d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22646566696e6974696f6e3a3a726574697265222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543153222c226d61785f617474656d707473223a352c226d61785f64656c6179223a225054314d227d2c2274696d656f7574223a225054333053222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b2270726f70657274696573223a7b22616374697665223a7b226974656d73223a7b2274797065223a22696e7465676572227d2c2274797065223a226172726179227d2c22646967657374223a7b2274797065223a22737472696e67227d2c226e616d65223a7b2274797065223a22737472696e67227d2c22726561736f6e223a7b2274797065223a22737472696e67227d2c2276657273696f6e223a7b226d696e696d756d223a312c2274797065223a22696e7465676572227d7d2c227265717569726564223a5b226e616d65222c2276657273696f6e222c22646967657374222c22616374697665222c22726561736f6e225d2c2274797065223a226f626a656374227d2c226e616d65223a227265746972655f646566696e6974696f6e222c226f75747075745f736368656d61223a7b2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-branches	1	a9a219208d1e90c8dbde751fcb636852d37c826539da62e7feae67092494b999	\\x7b226465736372697074696f6e223a2254776f207265616473207369646520627920736964652c207468656e206f6e65206f662074776f20777269746573222c226564676573223a5b7b226b696e64223a2273657175656e6365222c22736f75726365223a22626967222c22746172676574223a2261667465725f626967227d2c7b226b696e64223a2264617461222c22736f75726365223a226c656674222c22746172676574223a22626967227d2c7b226b696e64223a2264617461222c22736f75726365223a226c656674222c22746172676574223a22736d616c6c227d2c7b226b696e64223a2264617461222c22736f75726365223a227269676874222c22746172676574223a22626967227d2c7b226b696e64223a2264617461222c22736f75726365223a227269676874222c22746172676574223a22736d616c6c227d5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d6272616e63686573222c227374657073223a5b7b226964223a226c656674222c22706172616d73223a7b2277686174223a226c656674227d2c2276657262223a226c6f6f6b222c227768656e223a6e756c6c7d2c7b226964223a227269676874222c22706172616d73223a7b2277686174223a227269676874227d2c2276657262223a226c6f6f6b222c227768656e223a6e756c6c7d2c7b226964223a22626967222c22706172616d73223a7b22696e636964656e74223a224931222c2274657874223a22626967227d2c2276657262223a226e6f7465222c227768656e223a2273746570732e6c6566742e726573756c742e76616c7565202b2073746570732e72696768742e726573756c742e76616c7565203e203130227d2c7b226964223a2261667465725f626967222c22706172616d73223a7b7d2c2276657262223a226c6f6f6b222c227768656e223a6e756c6c7d2c7b226964223a22736d616c6c222c22706172616d73223a7b22696e636964656e74223a224931222c2274657874223a22736d616c6c227d2c2276657262223a226e6f7465222c227768656e223a2273746570732e6c6566742e726573756c742e76616c7565202b2073746570732e72696768742e726573756c742e76616c7565203c3d203130227d5d2c227469746c65223a224272616e63686573222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e6272616e63686573227d2c227665726273223a7b226c6f6f6b223a7b226465736372697074696f6e223a225265616420736f6d657468696e67222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a2272656164222c226964656d706f74656e63795f6b6579223a22222c22696e5f646f756274223a227265747279222c2272657665727369626c655f6279223a6e756c6c2c22746172676574223a22222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a2262656e63683a3a6c6f6f6b222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2277686174223a7b2274797065223a22737472696e67227d7d2c2274797065223a226f626a656374227d2c226e616d65223a226c6f6f6b222c226f75747075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2276616c7565223a7b2274797065223a22696e7465676572227d7d2c227265717569726564223a5b2276616c7565225d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d2c226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-chain	1	a6aca30c3c9f74dedcffe01a5c54830897001ec3da873a7709f20e758708abd0	\\x7b226465736372697074696f6e223a2254656e206c6f772d74696572207772697465732c206f6e6520616674657220746865206f74686572222c226564676573223a5b7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f30222c22746172676574223a226e6f74655f31227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f31222c22746172676574223a226e6f74655f32227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f32222c22746172676574223a226e6f74655f33227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f33222c22746172676574223a226e6f74655f34227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f34222c22746172676574223a226e6f74655f35227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f35222c22746172676574223a226e6f74655f36227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f36222c22746172676574223a226e6f74655f37227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f37222c22746172676574223a226e6f74655f38227d2c7b226b696e64223a2273657175656e6365222c22736f75726365223a226e6f74655f38222c22746172676574223a226e6f74655f39227d5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d636861696e222c227374657073223a5b7b226964223a226e6f74655f30222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652030227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f31222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652031227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f32222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652032227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f33222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652033227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f34222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652034227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f35222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652035227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f36222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652036227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f37222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652037227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f38222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652038227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d2c7b226964223a226e6f74655f39222c22706172616d73223a7b22696e636964656e74223a22247b747269676765722e636173657d222c2274657874223a226e6f74652039227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a2254656e20676f7665726e6564207374657073222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e636861696e227d2c227665726273223a7b226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-fan	1	0afca2dc4ed92fb9020a397a27ab6748a5b00d1b04b115055a85caa95225ff69	\\x7b226465736372697074696f6e223a224d6f7265206c6f772d746965722077726974657320736964652062792073696465207468616e206f6e652072756e206d617920646f222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d66616e222c227374657073223a5b7b226964223a226e6f746573222c22726570656174223a7b2261745f6d6f73745f61745f6f6e6365223a37322c22666f725f65616368223a22247b5b20302c20312c20322c20332c20342c20352c20362c20372c20382c20392c2031302c2031312c2031322c2031332c2031342c2031352c2031362c2031372c2031382c2031392c2032302c2032312c2032322c2032332c2032342c2032352c2032362c2032372c2032382c2032392c2033302c2033312c2033322c2033332c2033342c2033352c2033362c2033372c2033382c2033392c2034302c2034312c2034322c2034332c2034342c2034352c2034362c2034372c2034382c2034392c2035302c2035312c2035322c2035332c2035342c2035352c2035362c2035372c2035382c2035392c2036302c2036312c2036322c2036332c2036342c2036352c2036362c2036372c2036382c2036392c2037302c203731205d7d227d2c227768656e223a6e756c6c7d2c7b226964223a226e6f7465732e6e6f7465222c22696e223a22646f222c22706172616d73223a7b22696e636964656e74223a224931222c2274657874223a226e6f746520247b6974656d7d227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a224d616e7920777269746573206174206f6e6365222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e66616e227d2c227665726273223a7b226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-file	1	386918408af06be8e9246bd28c06ebd18e38f7130d4bba7d2ed20a02db56d42b	\\x7b226465736372697074696f6e223a224f6e6520686967682d74696572207772697465222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d66696c65222c227374657073223a5b7b226964223a2266696c65222c22706172616d73223a7b22636f6d70616e79223a22247b747269676765722e636f6d70616e797d222c2274657874223a22247b747269676765722e746578747d227d2c2276657262223a2266696c65222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e652066696c696e67222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b22636f6d70616e79223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22636f6d70616e79222c2274657874225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e66696c65227d2c227665726273223a7b2266696c65223a7b226465736372697074696f6e223a2246696c652061207265706f7274207769746820746865207265676973746572222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a2266696c653a247b72756e2e69647d222c22696e5f646f756274223a2261736b222c2272657665727369626c655f6279223a6e756c6c2c22746172676574223a2272656769737465723a247b706172616d732e636f6d70616e797d222c2274696572223a2268696768227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a2272656769737465723a3a66696c655f7265706f7274222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b22636f6d70616e79223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22636f6d70616e79222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a2266696c65222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-file-for-good	1	e263147af9e8f41e7007bb15ccf16ed08cfbac25a34817554c54709a48f24875	\\x7b226465736372697074696f6e223a22222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d66696c652d666f722d676f6f64222c227374657073223a5b7b226964223a2266696c65222c22706172616d73223a7b22636173655f6964223a22247b747269676765722e636173655f69647d222c226c6569223a22247b747269676765722e6c65697d222c227265706f7274223a22247b747269676765722e7265706f72747d227d2c2276657262223a2266696c655f666f725f676f6f64222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e652066696c696e6720746861742063616e206265206c6f6f6b6564207570222c2274726967676572223a7b22736368656d61223a7b2270726f70657274696573223a7b22636173655f6964223a7b2274797065223a22737472696e67227d2c226c6569223a7b2274797065223a22737472696e67227d2c227265706f7274223a7b2274797065223a226f626a656374227d7d2c227265717569726564223a5b22636173655f6964222c226c6569222c227265706f7274225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e66696c655f666f725f676f6f64227d2c227665726273223a7b2266696c655f666f725f676f6f64223a7b226465736372697074696f6e223a2246696c652061207265706f72742077697468207468652072656769737465722c2077686963682063616e206265206c6f6f6b6564207570207468657265222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a2266696c653a247b72756e2e69647d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a6e756c6c2c22746172676574223a2272656769737465723a247b706172616d732e6c65697d222c2274696572223a2268696768227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a2272656769737465723a3a66696c655f7265706f7274222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b22636173655f6964223a7b2274797065223a22737472696e67227d2c226c6569223a7b2274797065223a22737472696e67227d2c227265706f7274223a7b2274797065223a226f626a656374227d7d2c227265717569726564223a5b22636173655f6964222c226c6569222c227265706f7274225d2c2274797065223a226f626a656374227d2c226e616d65223a2266696c655f666f725f676f6f64222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-file-to-group	1	1ee1d8a02bb6b098397f6f9777b7b6d1a9deb44b01b77133e2ee8e2d3e327e13	\\x7b226465736372697074696f6e223a224f6e6520686967682d746965722077726974652061626f757420776869636820612067726f757020616e7377657273207175657374696f6e73222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d66696c652d746f2d67726f7570222c227175657374696f6e735f746f223a227365637572697479222c227374657073223a5b7b226964223a2266696c65222c22706172616d73223a7b22636f6d70616e79223a22247b747269676765722e636f6d70616e797d222c2274657874223a22247b747269676765722e746578747d227d2c2276657262223a2266696c65222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e652066696c696e67222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b22636f6d70616e79223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22636f6d70616e79222c2274657874225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e66696c655f746f5f67726f7570227d2c227665726273223a7b2266696c65223a7b226465736372697074696f6e223a2246696c652061207265706f7274207769746820746865207265676973746572222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a2266696c653a247b72756e2e69647d222c22696e5f646f756274223a2261736b222c2272657665727369626c655f6279223a6e756c6c2c22746172676574223a2272656769737465723a247b706172616d732e636f6d70616e797d222c2274696572223a2268696768227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a2272656769737465723a3a66696c655f7265706f7274222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b22636f6d70616e79223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22636f6d70616e79222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a2266696c65222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-kept	1	5dd8ba6c3787cd74509825edf31fed1df07420f04fb5fd732d70a69987037c24	\\x7b226465736372697074696f6e223a224f6e65206c6f772d74696572207772697465222c226564676573223a5b5d2c2265766964656e6365223a7b2272657461696e223a22503344227d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d6b657074222c227374657073223a5b7b226964223a226e6f7465222c22706172616d73223a7b226170695f746f6b656e223a22247b747269676765722e6170695f746f6b656e7d222c22696e636964656e74223a22247b747269676765722e696e636964656e747d222c2274657874223a22247b747269676765722e746578747d227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e65206e6f74652077686f73652065766964656e6365206973206b65707420666f722074687265652064617973222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874222c226170695f746f6b656e225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e6b657074227d2c227665726273223a7b226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-note	1	9c480314411f309ef5a584c01bec1bc9f57d3639c912950a1aaf1f3633c23b2a	\\x7b226465736372697074696f6e223a224f6e65206c6f772d74696572207772697465222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d6e6f7465222c227374657073223a5b7b226964223a226e6f7465222c22706172616d73223a7b226170695f746f6b656e223a22247b747269676765722e6170695f746f6b656e7d222c22696e636964656e74223a22247b747269676765722e696e636964656e747d222c2274657874223a22247b747269676765722e746578747d227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e65206e6f7465222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874222c226170695f746f6b656e225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e6e6f7465227d2c227665726273223a7b226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-review	1	5d0a9f54efe6131b32d3899520592ab7eeff02a8dad6a517d791cb902bc2ac07	\\x7b226465736372697074696f6e223a2241207175657374696f6e20746f2074686520636f6d706c69616e6365206465736b222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d726576696577222c227374657073223a5b7b226964223a22726576696577222c22706172616d73223a7b2263617365223a22247b747269676765722e636173657d222c2267726f757073223a5b22636f6d706c69616e6365225d2c227469746c65223a224973207468697320616c6c2072696768743f227d2c2276657262223a22726576696577222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e6520726576696577222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e726576696577227d2c227665726273223a7b22726576696577223a7b226465736372697074696f6e223a224861766520746865206465736b206c6f6f6b20617420612063617365222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a227265766965772d247b72756e2e69647d2d247b737465707d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a2243616e63656c207468652072756e222c22746172676574223a227265766965773a247b706172616d732e67726f7570735b305d7d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a5b7b226166746572223a22503544222c22746f223a5b2273656e696f722d636f6d706c69616e6365225d7d5d2c2268616e646c6572223a22736c61636b3a3a706f73745f7461736b222c226b696e64223a2264757261626c65222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226669786564222c22626173655f64656c6179223a2250543153222c226d61785f617474656d707473223a312c226d61785f64656c6179223a2250543153227d2c2274696d656f7574223a22503744222c2277616974223a2268756d616e5f7461736b227d2c22696e7075745f736368656d61223a7b2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d2c2267726f757073223a7b226974656d73223a7b2274797065223a22737472696e67227d2c226d696e4974656d73223a312c2274797065223a226172726179227d2c227469746c65223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b227469746c65222c2267726f757073222c2263617365225d2c2274797065223a226f626a656374227d2c226e616d65223a22726576696577222c226f75747075745f736368656d61223a7b2270726f70657274696573223a7b226465636973696f6e223a7b22656e756d223a5b22617070726f766564222c2272656a6563746564225d7d2c22726561736f6e223a7b2274797065223a22737472696e67227d2c227265766965776572223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b226465636973696f6e222c227265766965776572222c22726561736f6e225d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-signal	1	7d5bc0e6b746c194d239c28b6753a87f7c6ee6c469b7529913efb97e2c4c8fd2	\\x7b226465736372697074696f6e223a22576169747320756e74696c20616e20696e636964656e7420697320636c6f7365642c207468656e206e6f746573206974222c226564676573223a5b7b226b696e64223a2273657175656e6365222c22736f75726365223a226b6e6f776e222c22746172676574223a227061757365227d2c7b226b696e64223a2264617461222c22736f75726365223a227061757365222c22746172676574223a226e6f7465227d5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d7369676e616c222c227374657073223a5b7b226964223a226b6e6f776e222c227265666572656e6365223a7b227265666572656e6365223a22636173653a247b747269676765722e636173657d227d2c227768656e223a6e756c6c7d2c7b226964223a227061757365222c2277616974223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b22636c6f7365645f6279223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22636c6f7365645f6279225d2c2274797065223a226f626a656374227d2c227369676e616c223a22636c6f736564222c2274696d656f7574223a22503344227d2c227768656e223a6e756c6c7d2c7b226964223a226e6f7465222c22706172616d73223a7b22696e636964656e74223a224931222c2274657874223a22636c6f73656420627920247b73746570732e70617573652e726573756c742e636c6f7365645f62797d227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e65207369676e616c222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e7369676e616c227d2c227665726273223a7b226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-timer	1	05853c28cc23878882032217a1e926ceee543938eb2c54eea15805e08ca3d217	\\x7b226465736372697074696f6e223a22412074696d65722c207468656e2061206e6f7465222c226564676573223a5b7b226b696e64223a2273657175656e6365222c22736f75726365223a227061757365222c22746172676574223a226e6f7465227d5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d74696d6572222c227374657073223a5b7b226964223a227061757365222c22706172616d73223a7b226475726174696f6e223a2250543148227d2c2276657262223a22776169745f666f72222c227768656e223a6e756c6c7d2c7b226964223a226e6f7465222c22706172616d73223a7b22696e636964656e74223a224931222c2274657874223a226c61746572227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a2241207061757365222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e74696d6572227d2c227665726273223a7b226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d2c22776169745f666f72223a7b226465736372697074696f6e223a225761697420756e74696c2074686520676976656e2074696d652068617320706173736564222c22646f6d61696e223a2274696d65222c22656666656374223a7b22636c617373223a2272656164222c226964656d706f74656e63795f6b6579223a22222c22696e5f646f756274223a227265747279222c2272657665727369626c655f6279223a6e756c6c2c22746172676574223a22222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a2274696d65723a3a77616974222c226b696e64223a2264757261626c65222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226669786564222c22626173655f64656c6179223a2250543153222c226d61785f617474656d707473223a312c226d61785f64656c6179223a2250543153227d2c2274696d656f7574223a2250333635323544222c2277616974223a2274696d6572227d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226475726174696f6e223a7b22666f726d6174223a226475726174696f6e222c2274797065223a22737472696e67227d7d2c227265717569726564223a5b226475726174696f6e225d2c2274797065223a226f626a656374227d2c226e616d65223a22776169745f666f72222c226f75747075745f736368656d61223a7b2270726f70657274696573223a7b7d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-wait	1	666ce51be56c642aa20dc1a301f4cc43f82b66691a38a134ee1d4524ce713d36	\\x7b226465736372697074696f6e223a2241207175657374696f6e20746f2074686520636c69656e74222c226564676573223a5b7b226b696e64223a2264617461222c22736f75726365223a2261736b222c22746172676574223a226e6f7465227d5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d77616974222c227374657073223a5b7b226964223a2261736b222c22706172616d73223a7b2263617365223a22247b747269676765722e636173657d227d2c2276657262223a2261776169745f616e73776572222c227768656e223a6e756c6c7d2c7b226964223a226e6f7465222c22706172616d73223a7b22696e636964656e74223a224931222c2274657874223a22247b73746570732e61736b2e726573756c742e616e737765727d227d2c2276657262223a226e6f7465222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e652077616974222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e77616974227d2c227665726273223a7b2261776169745f616e73776572223a7b226465736372697074696f6e223a2241736b2074686520636c69656e7420616e64207761697420666f722074686520616e73776572222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a2261736b3a247b72756e2e69647d3a247b737465707d222c22696e5f646f756274223a227265747279222c2272657665727369626c655f6279223a2257697468647261772074686520726571756573742e222c22746172676574223a22706f7274616c3a247b706172616d732e636173657d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a2263617365222c22657363616c6174696f6e223a5b7b226166746572223a2250313044222c22746f223a5b22636f6d706c69616e6365225d7d5d2c2268616e646c6572223a22706f7274616c3a3a726571756573745f646f63756d656e7473222c226b696e64223a2264757261626c65222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226669786564222c22626173655f64656c6179223a2250543153222c226d61785f617474656d707473223a312c226d61785f64656c6179223a2250543153227d2c2274696d656f7574223a2250313444222c2277616974223a2265787465726e616c227d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c226e616d65223a2261776169745f616e73776572222c226f75747075745f736368656d61223a7b2270726f70657274696573223a7b22616e73776572223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22616e73776572225d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d2c226e6f7465223a7b226465736372697074696f6e223a22416464206120776f726b206e6f746520746f20616e20696e636964656e74222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a226e6f74653a247b706172616d732e696e636964656e747d3a247b6669656c64735f686173687d222c22696e5f646f756274223a227265636f6e63696c65222c2272657665727369626c655f6279223a224120636f7272656374696e67206e6f74652e222c22746172676574223a22696e636964656e743a247b706172616d732e696e636964656e747d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c6174696f6e5f6669656c64223a6e756c6c2c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22736572766963656e6f773a3a6164645f776f726b5f6e6f7465222c226b696e64223a2273796e63222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226578706f6e656e7469616c222c22626173655f64656c6179223a2250543253222c226d61785f617474656d707473223a332c226d61785f64656c6179223a225054333053227d2c2274696d656f7574223a2250543553222c2277616974223a6e756c6c7d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b226170695f746f6b656e223a7b2274797065223a22737472696e67227d2c22696e636964656e74223a7b2274797065223a22737472696e67227d2c2274657874223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22696e636964656e74222c2274657874225d2c2274797065223a226f626a656374227d2c226e616d65223a226e6f7465222c226f75747075745f736368656d61223a7b2274797065223a226f626a656374227d2c22726564616374223a5b222f6170695f746f6b656e225d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
bench-word	1	6ce2a2c765332b96f4d87713f98ea9dba921c0ade77f2cd6d24d516c772b89f6	\\x7b226465736372697074696f6e223a2241207175657374696f6e20746f20736f6d65626f64792077686f206e616d657320746865206361736520616c6f6e65222c226564676573223a5b5d2c22666f726d6174223a22636f756e7465727369676e2f646566696e6974696f6e2f31222c226e616d65223a2262656e63682d776f7264222c227374657073223a5b7b226964223a2261736b222c22706172616d73223a7b2263617365223a22247b747269676765722e636173657d227d2c2276657262223a2261776169745f776f7264222c227768656e223a6e756c6c7d5d2c227469746c65223a224f6e6520776f7264222c2274726967676572223a7b22736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c2274797065223a2262656e63682e776f7264227d2c227665726273223a7b2261776169745f776f7264223a7b226465736372697074696f6e223a2241736b20736f6d65626f64792077686f2063616e6e6f74206361727279206120746f6b656e2c20616e642077686f7365206e6f6e73656e736520656e6473207468652073746570222c22646f6d61696e223a2262656e6368222c22656666656374223a7b22636c617373223a227772697465222c226964656d706f74656e63795f6b6579223a22776f72643a247b72756e2e69647d3a247b737465707d222c22696e5f646f756274223a227265747279222c2272657665727369626c655f6279223a2257697468647261772074686520726571756573742e222c22746172676574223a22706f7274616c3a247b706172616d732e636173657d222c2274696572223a226c6f77227d2c22657865637574696f6e223a7b22636f7272656c617465223a2262795f6b6579222c22636f7272656c6174696f6e5f6669656c64223a2263617365222c22657363616c6174696f6e223a6e756c6c2c2268616e646c6572223a22706f7274616c3a3a726571756573745f646f63756d656e7473222c226b696e64223a2264757261626c65222c226f6e5f696e76616c6964223a226661696c222c22706172616d73223a7b7d2c227265747279223a7b226261636b6f6666223a226669786564222c22626173655f64656c6179223a2250543153222c226d61785f617474656d707473223a312c226d61785f64656c6179223a2250543153227d2c2274696d656f7574223a2250313444222c2277616974223a2265787465726e616c227d2c22696e7075745f736368656d61223a7b226164646974696f6e616c50726f70657274696573223a66616c73652c2270726f70657274696573223a7b2263617365223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b2263617365225d2c2274797065223a226f626a656374227d2c226e616d65223a2261776169745f776f7264222c226f75747075745f736368656d61223a7b2270726f70657274696573223a7b22616e73776572223a7b2274797065223a22737472696e67227d7d2c227265717569726564223a5b22616e73776572225d2c2274797065223a226f626a656374227d2c22726564616374223a5b5d7d7d2c2276657273696f6e223a317d	2026-01-05 09:00:00+00
\.


--
-- Data for Name: delegations; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.delegations (delegation_id, tenant, delegator, delegate, groups, starts_at, ends_at, recorded_by, reason, recorded_at, ended_at, ended_by, ended_reason) FROM stdin;
\.


--
-- Data for Name: direct_messages; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.direct_messages (tenant, message, account, at, gathering_id, said, card_of, asks) FROM stdin;
\.


--
-- Data for Name: directories; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.directories (tenant, version, digest, loaded_at, remind, usergroups, refreshed_at) FROM stdin;
acme	0	bebebebebebebebebebebebebebebebebebebebebebebebebebebebebebebebe	2026-11-26 19:37:38.568133+00	{}	{}	\N
\.


--
-- Data for Name: edits; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.edits (approval_id, run_id, effect_id, seq, person, person_name, groups, reason, team, account, replaced, digest, changes, notification_id, at) FROM stdin;
\.


--
-- Data for Name: effects; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.effects (effect_id, run_id, tenant, step, connector, operation, target, fields, tier, reversible_by, redact, idempotency_key, digest, dedupe_key, correlation_key, timeout_s, retry, status, attempt, tries, postponed, lease_owner, lease_expires_at, next_try_at, give_up_at, started_at, claimed, approval_id, decision_id, error, created_at, purpose, on_doubt, hides, forgotten, settles_s, before, asked, was_blocked) FROM stdin;
eff_088a8215d02e41a09489d9ee	run_088a82fadf9969b4f3dde22d	acme		slack	post_card	C0COMPLIANCE	{"approval_id":"apr_088a82c46bac0a61062b71f6","channel":"C0COMPLIANCE","is_copy":false}	low	\N	[]	slack:card:apr_088a82c46bac0a61062b71f6	f20fb0c3aca76660ae2eb1ed0161107f6ecb650a0eebd98aac1a4c08d09463f0	e5bb3ad54eac306fb1987503d27d16dd		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-05 17:00:00+00	\N	t	\N	dec_088a8293c5f4ed6bf3490dd4		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a820da57a4aa3fc863141	run_088a82fadf9969b4f3dde22d	acme		slack	post_message	C0COMPLIANCE	{"said":{"kind":"vote_counted","ask":"effect","person":"Ann","verdict":"approve","reason":"seen and checked","count":1,"quorum":2,"missing":[]},"card_of":null,"channel":"C0COMPLIANCE","thread_of":"apr_088a82c46bac0a61062b71f6"}	low	\N	[]	slack:say:run_088a82fadf9969b4f3dde22d:vote:ntf_088a821db4943bbabef7cd20	c8e549c7f305a25be4b841647c850c04a8bd1a1d32a7ace0306f0f6f7fec3ae3	f44758dcb15f95a0f36f8048aac9615e		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a8280bda60a7ecc88651d		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a82f2383254d8a7ca6c3a	run_088a82fadf9969b4f3dde22d	acme	file	register	file_report	register:ACME	{"company":"ACME","text":"report"}	high	\N	[]	file:run_088a82fadf9969b4f3dde22d	70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78	12ed2418215bdb996ef391af2856c949		5	{"max_attempts":3,"backoff":"exponential","base_delay":2.0,"max_delay":30.0}	dispatched	2	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	apr_088a82c46bac0a61062b71f6	dec_088a82e780599c4e2539643e		2026-01-05 09:00:00+00	step	ask	f	\N	300	\N	f	f
eff_088a826903904bd2e74ce943	run_088a82fadf9969b4f3dde22d	acme		slack	update_card	C0COMPLIANCE	{"approval_id":"apr_088a82c46bac0a61062b71f6","revision":3,"copy_at":null}	low	\N	[]	slack:card:apr_088a82c46bac0a61062b71f6:3	987242dd372223f76ab0047c99d7790749ef497ce2ee4f4b3ce660728f973e8c	71a49d8143e920dabd804bc1981c43be		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a82dab805c33452a9de40		2026-01-05 09:00:00+00	message	retry	f	\N	30	\N	f	f
eff_088a82f4d98561440d9c2d83	run_088a82fadf9969b4f3dde22d	acme		slack	direct_message	URITA	{"said":{"kind":"approval_ended","run":{"title":"One filing","reference":"ended"},"step":"file","status":"approved","votes":[{"name":"Ann","why":"seen and checked"},{"name":"Ben","why":"seen and checked"}],"changes":false},"card_of":"apr_088a82c46bac0a61062b71f6","user":"URITA"}	low	\N	[]	slack:dm:run_088a82fadf9969b4f3dde22d:approval:apr_088a82c46bac0a61062b71f6:URITA	979af4d4ca7a4d01a16dea16a3e79f806256d2bd6ce7c5c693daac44b3f434d6	3284e3ad19728380f74319d9ee0824ab		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a822bb093d14e405458ee		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a8212414aba0f8a07b09f	run_088a82fadf9969b4f3dde22d	acme		slack	direct_message	URITA	{"said":{"kind":"run_ended","run":{"title":"One filing","reference":"ended"},"status":"succeeded","outcome":"","handled":[],"failed":[],"rejected":[],"skipped":[],"response":""},"card_of":null,"user":"URITA"}	low	\N	[]	slack:dm:run_088a82fadf9969b4f3dde22d:run:URITA	22d8ba41090ba0b845809da0b7651a8fed1f6f8c4ed49e507a3556b900f67d89	85bd0aaf9cc5d15ca6ce891865066557		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a82ff18e12a0ab8d14565		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a824816ee4ff50c414cce	run_088a82fadf9969b4f3dde22d	acme		slack	post_message	C0COMPLIANCE	{"said":{"kind":"vote_counted","ask":"effect","person":"Ben","verdict":"approve","reason":"seen and checked","count":2,"quorum":2,"missing":[]},"card_of":null,"channel":"C0COMPLIANCE","thread_of":"apr_088a82c46bac0a61062b71f6"}	low	\N	[]	slack:say:run_088a82fadf9969b4f3dde22d:vote:ntf_088a82ef40a08a97a72ef6a1	000a860a167e8ea5d8ed96300ace9eb6b0e2d2d2c8e1b5bc48374f8ad89b9186	a5dc1a73fe8a3fe62609f13c4c0e1140		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a82a9c96a3c66c3c8c2cc		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a822896ebf921e9022ea2	run_088a82fadf9969b4f3dde22d	acme		slack	update_card	C0COMPLIANCE	{"approval_id":"apr_088a82c46bac0a61062b71f6","revision":2,"copy_at":null}	low	\N	[]	slack:card:apr_088a82c46bac0a61062b71f6:2	e3445215641b8a999c1f7baa43cf7019c81c09ea60ea86e44c3a87a4d664618c	47ba0a53cd8aaaa7446922018154e2b6		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a82a7ad0f14596b33115d		2026-01-05 09:00:00+00	message	retry	f	\N	30	\N	f	f
eff_088a82d8a6a41c6b7ecf10fd	run_088a82fadf9969b4f3dde22d	acme		slack	post_message	C0COMPLIANCE	{"said":{"kind":"effect_ended","code":"performed","about":[]},"card_of":null,"channel":"C0COMPLIANCE","thread_of":"apr_088a82c46bac0a61062b71f6"}	low	\N	[]	slack:say:run_088a82fadf9969b4f3dde22d:result:apr_088a82c46bac0a61062b71f6	beb65c4861aaf96f78991ba7bf9cc2e9860d984c7099a73e086bb8f143dd0bb5	a39ad456849cc06688f0941f41be827f		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a8229223d3ffab1506980		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a82f49a4d94fa66acbcaa	run_088a82fadf9969b4f3dde22d	acme		slack	update_card	C0COMPLIANCE	{"approval_id":"apr_088a82c46bac0a61062b71f6","revision":4,"copy_at":null}	low	\N	[]	slack:card:apr_088a82c46bac0a61062b71f6:4	437dc6fcc81a68f3f1a54ca944309dbcd5afcb640246c8a1ac19b45cfc0e4e2e	3987aa15f0ccf948b619217b7d0381f5		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a82b1d7965a95261f77c5		2026-01-05 09:00:00+00	message	retry	f	\N	30	\N	f	f
eff_088a83b53e2a4bad81a692be	run_088a83d07e268da9f5102ce5	acme	file	register	file_report	register:ACME	{"company":"ACME","text":"report"}	high	\N	[]	file:run_088a83d07e268da9f5102ce5	14257f2743be44a01d377909d16346b3e719e931fe81eecc852653ad3f1a4a56	081da200a096caa281d622793d074b9f		5	{"max_attempts":3,"backoff":"exponential","base_delay":2.0,"max_delay":30.0}	deferred	1	0	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	f	apr_088a83a15fc3f85750643feb	\N		2026-01-05 09:00:00+00	step	ask	f	\N	300	\N	f	f
eff_088a83a553b852a6f637b798	run_088a835a184a171c047c51c3	acme	ask	portal	request_documents	portal:C1	{"case":"C1"}	low	Withdraw the request.	[]	ask:run_088a835a184a171c047c51c3:ask	df20b969fe66a5f00f0865ec7070e8755f9dde8e5ab476bf4a4436bb021cf320	312cad72fbb7450b3e62700783a1014c	acme:await_answer:C1	30	{"max_attempts":1,"backoff":"fixed","base_delay":1.0,"max_delay":1.0}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	t	\N	dec_088a83dd4ec1446dab53730a		2026-01-05 09:00:00+00	step	retry	f	\N	60	\N	f	f
eff_088a839f73f6d1ab6567af63	run_088a83d07e268da9f5102ce5	acme		slack	post_card	C0COMPLIANCE	{"approval_id":"apr_088a83a15fc3f85750643feb","channel":"C0COMPLIANCE","is_copy":false}	low	\N	[]	slack:card:apr_088a83a15fc3f85750643feb	64d4e3c760f70152658f370f4ddbe3de6483c179ffcf43c488878de4e9b4b85a	4cfc79dcac86147a630573553f2cbaf7		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	dispatched	1	1	0	\N	\N	2026-01-05 09:00:00+00	2026-01-05 17:00:00+00	\N	t	\N	dec_088a831abc34ade11c53e565		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a836b8777fd2246cf1686	run_088a83d07e268da9f5102ce5	acme		slack	post_message	C0COMPLIANCE	{"said":{"kind":"vote_counted","ask":"effect","person":"Ann","verdict":"approve","reason":"seen and checked","count":1,"quorum":2,"missing":[]},"card_of":null,"channel":"C0COMPLIANCE","thread_of":"apr_088a83a15fc3f85750643feb"}	low	\N	[]	slack:say:run_088a83d07e268da9f5102ce5:vote:ntf_088a8358708b349e558dad5f	91ea1bacb22d0258453e48916f8637d0256ab3fcd9da500ef624aac48c144321	8446d0e4775ebb6908b07d737405e162		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	pending	0	0	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	f	\N	\N		2026-01-05 09:00:00+00	message	reconcile	f	\N	30	\N	f	f
eff_088a8334a08ae51d4fd79811	run_088a83d07e268da9f5102ce5	acme		slack	update_card	C0COMPLIANCE	{"approval_id":"apr_088a83a15fc3f85750643feb","revision":2,"copy_at":null}	low	\N	[]	slack:card:apr_088a83a15fc3f85750643feb:2	6d02315c33e66f6c1f093b2fd819130a6f0f467197467a58e0d399c6dd99f59c	5a04caf80f27dfd1bd29de83cc921c6a		15	{"max_attempts":100000,"backoff":"exponential","base_delay":1.0,"max_delay":120.0,"factor":1.5}	pending	0	0	0	\N	\N	2026-01-05 09:00:00+00	2026-01-06 09:00:00+00	\N	f	\N	\N		2026-01-05 09:00:00+00	message	retry	f	\N	30	\N	f	f
\.


--
-- Data for Name: entities; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.entities (tenant, entity, entity_id, version, deleted, fields) FROM stdin;
\.


--
-- Data for Name: entity_changes; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.entity_changes (tenant, idempotency_key, entity, entity_id, version, digest, result) FROM stdin;
\.


--
-- Data for Name: evidence_bundles; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.evidence_bundles (run_id, sealed_seq, sha256, size, location, version_id, retention_until, created_at, next_try_at, stored_at, tries, error, sealed_cards, status, faults, in_the_way, file_number, retain_days, key_id, log_size, log_stamped) FROM stdin;
run_088a82fadf9969b4f3dde22d	45	0e5287487c67b42b33cecc666291433cfd9fb639ffdc2191b95895096d57112c	124898	/tmp/tmpqgmb54v9/evidence/run_088a82fadf9969b4f3dde22d.zip	\N	\N	2026-11-26 19:37:38.959763+00	2026-11-26 19:39:38.96636+00	2026-11-26 19:37:39.066492+00	1		{ "apr_088a82c46bac0a61062b71f6" : 0 }	stored	0	\N	1	\N	1aa28cc468c6794b4a481fc415c478006281a0ce56ad59883dd01bf69cc19a63	76	f
\.


--
-- Data for Name: evidence_held; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.evidence_held (run_id, acts, told, is_held, tries, error, next_try_at) FROM stdin;
\.


--
-- Data for Name: evidence_holds; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.evidence_holds (hold_id, tenant, kind, subject, reason, set_by, set_at, lifted_reason, lifted_by, lifted_at) FROM stdin;
\.


--
-- Data for Name: gatherings; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.gatherings (gathering_id, tenant, account, poster, begun_at, channel, ts) FROM stdin;
\.


--
-- Data for Name: log_checkpoints; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_checkpoints (tenant, size, root, note, signed_at, published_at) FROM stdin;
acme	76	\\x3ad5b7d54925b5a198e5da6cf2a77b7697531c7ec8d3948b4b4d2cb0af34cf79	countersign/acme\n76\nOtW31UkltaGY5dps8qd7dpdTHH7I05SLS00ssK80z3k=\n\n— countersign/acme ng+mVe2/tGl0HnqHnoFR/e3lOLa//mYpZM2memVv+NBLExkhdl20vvJX6S3+vN4eiCMqyLmJ/pP39sxlVDoVghBtQQo=\n	2026-01-05 09:00:00+00	\N
\.


--
-- Data for Name: log_entries; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_entries (tenant, first_index, count, chain, first_seq) FROM stdin;
acme	0	45	run_088a82fadf9969b4f3dde22d	1
acme	45	31	tenant_acme	1
\.


--
-- Data for Name: log_heads; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_heads (tenant, size, hashes) FROM stdin;
acme	76	\\xb416cc722ba356764a1e1449936c3741b10405f476b0259826920ff3e372a411c7464fbd585a9b42e228aa8c2d8c84db049fd144feddd8d1e2d6deec6e3e83c1349223f570e8ef3b726732aa6878083a6739784def84d4dac322350715568cbb
\.


--
-- Data for Name: log_leases; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_leases (tenant, until, fault) FROM stdin;
\.


--
-- Data for Name: log_pending; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_pending (tenant, chain, first_seq, hashes) FROM stdin;
acme	tenant_acme	32	\\x5f036808fef58366dea5d931517208b014a79128a67cfe60fac3a67d866877f9
acme	run_088a82fadf9969b4f3dde22d	46	\\xef5e9ade38719915c38b21102c16f6d028070548afba7223141292f2942a74e6
acme	run_088a83d07e268da9f5102ce5	1	\\x24487cc3b2cd6178121260b7e5b2fc004c13ee1d9f12a107bf21c39fe21b1737
acme	run_088a835a184a171c047c51c3	1	\\xbfe498404f3eb4f0d797eb5392788c54d58010f55cf39892e1550073896d0626
acme	run_088a83d07e268da9f5102ce5	2	\\xd9069c7963fe129f69dd4e5c71bd9a8779452a71bf9cad41898bd9e7ba35d841047ebf736b084dfd6a9256537ffb464ccd0262bb9069710f76054fb78b4eb299edf7a2761b7a8f94896d65e5cbcbbc4d291eee107fda973e146805f979a02ae0
acme	run_088a835a184a171c047c51c3	2	\\x5838e6663b4f9719710834ef7299b7582a886026bf5755fe1eb4cd8d1daa6ba8aa8b52c87017a70745f096d4279a769e77aa804ca431900e9c30ccb6a458d0f9dfbea9ab014f14ecc9f253736a48f3c1d90e68a6d2dffb1a65e5cf52c249ac57
acme	run_088a835a184a171c047c51c3	5	\\x48839b2e6ceb812bce465ca60a11581404e6e9691859dbf86dbe63e98bfa97e27ef600d272f99b53d5d8c6e5ea6419961b92117c3c8d29b51b0740408a46404f
acme	run_088a83d07e268da9f5102ce5	5	\\xebd069e3033390b835ba326ebbe8769ff8ca2d0933ec98b107e2317399fb935d33f29fb654b3091c7d7e16f20243e97e6ad1d2284df948410410e6cd3660adff8b3213603129ac882a7d1c2c5108165ea86ee3afee55ca09b72565c23b0ee1ad5d00376b19be5d80c52075221b2b02c75347d192c870d7b829167544e3535281151859b9ce32732bb65c14ce3af987e93c177329e7e2949753a71f36d79c8760a35fa90ba248a43bb1cb27499ff4967ad6114a27eb026388623cfb2aa85a6207
acme	run_088a835a184a171c047c51c3	7	\\xb9b0d22205c1c8397cbd104b0eacd1a929ab4324c5f93701d47e5700cfec16c25a63d19b84f683d96b6bef011f4c117316180588fa739a374fdd7283bf52ecb730506c908ca3dee1fb8b7ae41848af30a026d2d36ff83f1301c77b4606b0c56a
acme	run_088a83d07e268da9f5102ce5	11	\\x8440c73a78afa6610fedd92d5c55df061dd454cd2f3945215a814c86ad99aaf2
acme	run_088a83d07e268da9f5102ce5	12	\\x8edecfe2da99fcb7cbb45d22b26f5d56836faaa4922955fa70479a775f37f285
acme	run_088a83d07e268da9f5102ce5	13	\\x35a85183971f45d2f8fabf9bf26b45e1ee09562977d888caeafb007ac4c788c64f3ef1148f8a8a35cec6fae04a8abd2dc0de9adbdeb402530e2ed3250f56ab6f305760e6ca985e2579115ee9a32ce22fe6ea5ad904ce588004ea5dd8bdd6de83
\.


--
-- Data for Name: log_stamps; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_stamps (tenant, size, stamp, asked_at, published_at) FROM stdin;
\.


--
-- Data for Name: log_tiles; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.log_tiles (tenant, level, number, hashes) FROM stdin;
acme	0	0	\\x4eff7af95472eb2fd5e9b032ef80361e5a118020e0fbf3ea28246cc99c7979556cab78557fbb690ef515beb1970af05c290242bd3c4de67bfced196a484fd767afd3fcea6761505f34cc7c10bd2ad02decae258b3622cb9920922f332f3f9d55a51d94d33eadfdd3f621785da904fad05c7ef3265bfdedf6756d9a876dddfd03bcbe8b8439fda5f97824ab318adb14e208f75f7d8758804941f00ac7eafb6c7dbd5156472984b05fbad2b1d33409608272954ed2d3c86949434a1a29010b59e7fdb1e5c3db6f462f75eeade79e19ee27bc7c930bc22f182c65969747e623edf14b4e0fbcb79723bda46f1a6c667299ce843ddee42e25fd97d2dc57df4ddf0de475bf732f3c434e1fca66d8d8031fcf96b6e304ac66b95cf2deb0756bc648d83c6c860300ba6444c1cbd295f2e67d2b2f1d04d2714d88465db5de4cbcb1bef057ee90a5fdf23842d4376d14b8c796a1b8b7a017ca8ab71ac5cdf3b80658b2eecf73d4a4c0486d07162fcefb8ed767c33c060590b96f4d01b8cca9d39c9ed2353dc18285138277666b9b468a5dc17494f1510549f960351d760aeb84545189f521449f54b01f4e976357adb5f905d7a12213841077fd1ad227171b12518c33afbecec5f08a4e8e8166e436913bc7939b198413316b304cf162bdac25f9c6f61df1e09248ad7e851af9a9e3162a6c679cc16a0da422c08d18618f9e2f7e82440e4fe3a19c61dc343d9d173293ed6048b70614f8807da2fb540aaf18848ba2d98a5ad991ec9ff9bf4493905b7ab67a11ae3f1c68e30854a4c9a99a9fee2366d212798269524177b9d1a6ba984073b31d56f579c90804df67e6b1d0ba69c20a2b869c35cc1c5295d669d897734d5dce4fdcceeba60ed18c909f9c69855016c13c523ccdcd90490a25fd5b376aaaba16d3ae39da0ce0be807e0a94421473ce8090b0801eb4db0f9b8973e23898a008f702468425bb474b717edc01024eeb59918a1094084e6de3e0c834f21d74b18bf5903f2897f19b2340e5786b72a7ab536efba5dd92e89c751bd26312381d902c24f628de2ff9540c89f9f3ac185a32503e3725882e49f01c8650803f82319c1515ad24040345693dc5925733475fcc704bd19be41ea31770e0567ba6f6d9ae005bdfd084f5c268830c180db95b75b2366bd6e5e86420d7ef60bdedf9b900e6d5f4f1f2d8806d3cc6b5a70ed3c7462d91df2c7f3a92b2f6eb1a8381241b031da997f82b07c54ffe6a5e4fb830fb781f3f395ae80a58a329aa3b7974c6ab0004a926e52c2f0a120d0938a2fb39516d363828499d200028490a426de831906b367469791a058f34be01ac7c35ad6b01e5b19843f20118ac27f3b8dcb761c4f3e9d28acb795924ee1371313c0e7994d60a7bed1d9a79de91fedb358bedb7fecb0265750a43301c997ee6387250ba2cd383d89d6ba097263b9ebf5b48a5c3b18a9a5067eab08d03e9721ae2139ea1afdddd4de9648d05c75d2daaebad1f442b4c77d42b4c2525f2f3649a39e4ad917d6821e49137bbdbc8b1c9005d40c942512b33e835f591087729d7308fefd6fadc2dc449bf0de1b242d006c782c862505add94a3e018c073030fd8a9fccb7505b3652a50267c051ce4df243cf2bf1a6527c9474b21460a7a04e9ec8ff6cb6adabd130e33a45ac0c08423907eadbe87022b58306466f45bb2624c8612710208d1117d3e7b2176f54a1bb79958d2b08178db07e60aacde0c0abbe0038469baa6f15b02e682bfd2bb69373024a2fddb5071262d44df7389ce040a29affba720eb9fcd62685754e36f73836800841cb67721a69c358030ebd8aeab4191603064f69788efacf1ef105ca23f072022afd5449c63690a9c262470fc6d584363e5a0228ba7c256fb2e3511bced9478b7b797104917d6364b0f47dd4d334d45a1020d50f245db7d27b87eff92bc5059f441ad7e7eae02a8eb666586333ba461978105416b3361886311c12d6c74323df38ff3bd20da9662f82156efe74d4cc0806fbd18a8cac39c72e20abf44c1e7fe98cc9dfde37f5c7d010a4df009313e93ff36670d1f48395999e74edf967970afefb0c5ac07b029adc0a19a636a1791b2f8954552a53d67799b36eac69be1c7567077df37dddaa163a7a44a353bb4f84b38bcfbe0d339f88c9b1a065bbedf928b5228742f0a5f29c93ef99134cc062a3f00905fca1ad18bf819c6fe9e438848d36405d40cfc5873e9a85fdc270a8d824f61bbb7ad25a198d5d6ffb110ae6e30d544cccdd48b4d14b81353b73004a9f9e3858cbdb2431c3568b3d4172ceafbf1a6517352767414fe5c4a8bfecb74ee93a5a6d15f2de852afe6c241b9b78bd17294977d8657458d682a89df37eec761555775d138fc6a10b999124942fd6f2da1b6923c2427085f4cb11876af910282284caeb6d39ff552f7564adec329ba02366e8bf6d058f3878fc35b7545be740596b920235622ad9603bb0107874303430d04ec5025a8464ede54bb6891c90673c0431d66a5babe7fd36bee548de9a69a581fa6d16372fe12601e5f8b8b2fbca2a6df9c68aeffc7bbca36b420b42c6ccd1373a6662ce27ca5aad23fd26cf24e9d72aa663f7761c9e59e4a81ed3f8416e9c1d5e2550bf24a1a76cbd1c816be6f698d177725b2b60b756a5421521a52472043f351068a107c0eb2a5196d65f7649e0d39d0b090520174fec94de7ea69c34978fd4e6e77084df825d7c4eef3c777197e6f2b030275575869ca44a9bf41bb0142e6598a0a5b468d019a2ebf2f73157d05295b4363b7e5c33d1edee9d2aafff073d87cfa719d6f3f51d19947a0ecaffa954a9cb616109a6d4e34bed2b2d3e1f73f0b77572c160df01f8e65973657a3b35055eeda3e726cf6bb695008a258cd7c528f7a39ac80ae370f3f4e9aaf815db0c08d1244f12a9debb5e800243b465f88c030ba814a55cd8024ae788dfe4f03f881e641ce78599500565e0eea0a59c398a499b9b21e34491ed64b75e4819255dd3f4514994d15dceba772ca8b518ba57f48c161d89cd6074cbaf066d87ddd406231a6f2b68ba5a20b2cf5c1c6e31077ec0c8bc4c013e411b82e3f0906c2d90ecc073c706f711f3d3c05c3f697dd40266f3b5146e56308f463ff70eec9e60f09b6fc36690b08a44c7d0d3443dc09dd945a990368a53778e23a4c0d2762f12d685870068be0e42d4b1636379149bb602842bde72193226160282a95aa6cd36df4e3ef7083d7e5586bd7c06a59195d49e1f2b50c19906fbd0553070ee7adf919aa4ab4264423fc2e890e69482093f61122118eda6eb79b055b6b4dbbd2383dfd491788cea7dc139c0da1ecd7b5fc60d7f548a6b02b7fafa7977b9bae6a74263a794b5b97b86dd67dccc79fc8ce8b1676a882bbcf7605b7c9c54d32c3014ccee389edad9f63d17b5df89db6cbcbd5bd01c6
\.


--
-- Data for Name: marks; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.marks (approval_id, mark, who, at) FROM stdin;
\.


--
-- Data for Name: notifications; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor, request_id, status, outcome, deliveries, received_at, applied_at, forgotten, failures, error, next_try_at) FROM stdin;
ntf_088a821db4943bbabef7cd20	acme	vote	vote:apr_088a82c46bac0a61062b71f6:ann:approve:	approval:apr_088a82c46bac0a61062b71f6	{"approval_id":"apr_088a82c46bac0a61062b71f6","team":"T0ACME","user":"UANN","person_id":"ann","refusal":null,"via":"slack","brought_by":"","stamp":"","verdict":"approve","reason":"seen and checked","ticket":"","together":null}	{"id":"ann","kind":"person"}	req-click	applied	{"counted": true, "approval": "requested", "status": "applied"}	1	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	f	0		2026-01-05 09:00:02+00
ntf_088a82ef40a08a97a72ef6a1	acme	vote	vote:apr_088a82c46bac0a61062b71f6:ben:approve:	approval:apr_088a82c46bac0a61062b71f6	{"approval_id":"apr_088a82c46bac0a61062b71f6","team":"T0ACME","user":"UBEN","person_id":"ben","refusal":null,"via":"slack","brought_by":"","stamp":"","verdict":"approve","reason":"seen and checked","ticket":"","together":null}	{"id":"ben","kind":"person"}	req-click	applied	{"counted": true, "approval": "approved", "status": "applied"}	1	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	f	0		2026-01-05 09:00:02+00
ntf_088a8358708b349e558dad5f	acme	vote	vote:apr_088a83a15fc3f85750643feb:ann:approve:	approval:apr_088a83a15fc3f85750643feb	{"approval_id":"apr_088a83a15fc3f85750643feb","team":"T0ACME","user":"UANN","person_id":"ann","refusal":null,"via":"slack","brought_by":"","stamp":"","verdict":"approve","reason":"seen and checked","ticket":"","together":null}	{"id":"ann","kind":"person"}	req-click	applied	{"counted": true, "approval": "requested", "status": "applied"}	1	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	f	0		2026-01-05 09:00:02+00
\.


--
-- Data for Name: passkey_links; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.passkey_links (link_id, tenant, person, purpose, nonce, made_at, expires_at, approval_id, stamp, reason, ticket, team, account, invited_by, policy, opened_at) FROM stdin;
\.


--
-- Data for Name: passkeys; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.passkeys (tenant, credential_id, person, public_key, cose_key, algorithm, origin, sign_count, invited_by, reason, registered_at, revoked_at, revoked_by, revoked_reason) FROM stdin;
\.


--
-- Data for Name: policy_decisions; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.policy_decisions (decision_id, run_id, effect_id, seq, outcome, document, policy_digest, at) FROM stdin;
dec_088a82f9477e4fcff01cdf17	run_088a82fadf9969b4f3dde22d	eff_088a82f2383254d8a7ca6c3a	5	needs_approval	{"answer":{"obligations":[],"outcome":"needs_approval","reasons":[{"code":"writes.high_tier","msg":"High-tier writes need signatures"}],"requirement":{"all_groups":false,"escalate_to":[{"after":"PT6H","to":["senior-compliance"]}],"exclude":["portal-bot","rita"],"expires_in":"PT8H","groups":["compliance"],"quorum":2,"reason_required":true},"tier":"high"},"effect_id":"eff_088a82f2383254d8a7ca6c3a","id":"dec_088a82f9477e4fcff01cdf17","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"register","digest":"70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78","fields":{"company":"ACME","text":"report"},"operation":"file_report","reversible":false,"target":"register:ACME","tier":"high"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"file","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":44404,"opa_decision_id":"217e7d75-a9a5-45ff-babf-bd44b962c5e8/0","opa_version":"1.22.0","outcome":"needs_approval","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a8293c5f4ed6bf3490dd4	run_088a82fadf9969b4f3dde22d	eff_088a8215d02e41a09489d9ee	11	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a8215d02e41a09489d9ee","id":"dec_088a8293c5f4ed6bf3490dd4","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"slack","digest":"f20fb0c3aca76660ae2eb1ed0161107f6ecb650a0eebd98aac1a4c08d09463f0","fields":{"approval_id":"apr_088a82c46bac0a61062b71f6","channel":"C0COMPLIANCE","is_copy":false},"operation":"post_card","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":2417,"opa_decision_id":"6aaf2884-5711-494d-81a2-d080388d5092/0","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a8280bda60a7ecc88651d	run_088a82fadf9969b4f3dde22d	eff_088a820da57a4aa3fc863141	22	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a820da57a4aa3fc863141","id":"dec_088a8280bda60a7ecc88651d","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"slack","digest":"c8e549c7f305a25be4b841647c850c04a8bd1a1d32a7ace0306f0f6f7fec3ae3","fields":{"card_of":null,"channel":"C0COMPLIANCE","said":{"ask":"effect","count":1,"kind":"vote_counted","missing":[],"person":"Ann","quorum":2,"reason":"seen and checked","verdict":"approve"},"thread_of":"apr_088a82c46bac0a61062b71f6"},"operation":"post_message","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":12441,"opa_decision_id":"3a129b5d-aee1-420b-8ba7-23f969d0c2c3/0","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a82dab805c33452a9de40	run_088a82fadf9969b4f3dde22d	eff_088a826903904bd2e74ce943	23	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a826903904bd2e74ce943","id":"dec_088a82dab805c33452a9de40","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"slack","digest":"987242dd372223f76ab0047c99d7790749ef497ce2ee4f4b3ce660728f973e8c","fields":{"approval_id":"apr_088a82c46bac0a61062b71f6","copy_at":null,"revision":3},"operation":"update_card","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":12441,"opa_decision_id":"3a129b5d-aee1-420b-8ba7-23f969d0c2c3/1","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a82a9c96a3c66c3c8c2cc	run_088a82fadf9969b4f3dde22d	eff_088a824816ee4ff50c414cce	24	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a824816ee4ff50c414cce","id":"dec_088a82a9c96a3c66c3c8c2cc","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"slack","digest":"000a860a167e8ea5d8ed96300ace9eb6b0e2d2d2c8e1b5bc48374f8ad89b9186","fields":{"card_of":null,"channel":"C0COMPLIANCE","said":{"ask":"effect","count":2,"kind":"vote_counted","missing":[],"person":"Ben","quorum":2,"reason":"seen and checked","verdict":"approve"},"thread_of":"apr_088a82c46bac0a61062b71f6"},"operation":"post_message","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":12441,"opa_decision_id":"3a129b5d-aee1-420b-8ba7-23f969d0c2c3/2","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a82a7ad0f14596b33115d	run_088a82fadf9969b4f3dde22d	eff_088a822896ebf921e9022ea2	25	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a822896ebf921e9022ea2","id":"dec_088a82a7ad0f14596b33115d","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"slack","digest":"e3445215641b8a999c1f7baa43cf7019c81c09ea60ea86e44c3a87a4d664618c","fields":{"approval_id":"apr_088a82c46bac0a61062b71f6","copy_at":null,"revision":2},"operation":"update_card","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":12441,"opa_decision_id":"3a129b5d-aee1-420b-8ba7-23f969d0c2c3/3","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a82e780599c4e2539643e	run_088a82fadf9969b4f3dde22d	eff_088a82f2383254d8a7ca6c3a	26	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[{"code":"approvals.fulfilled","msg":"All required signatures are given"}],"requirement":null,"tier":"high"},"effect_id":"eff_088a82f2383254d8a7ca6c3a","id":"dec_088a82e780599c4e2539643e","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":{"expires_at":"2026-01-05T17:00:00.000000Z","requested_at":"2026-01-05T09:00:00.000000Z"},"counters":{"writes":0},"effect":{"connector":"register","digest":"70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78","fields":{"company":"ACME","text":"report"},"operation":"file_report","reversible":false,"target":"register:ACME","tier":"high"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"file","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[{"at":"2026-01-05T09:00:00.000000Z","groups":["compliance"],"person":"ann","verdict":"approve"},{"at":"2026-01-05T09:00:00.000000Z","groups":["compliance"],"person":"ben","verdict":"approve"}]},"latency_us":4653,"opa_decision_id":"6ea763cb-e15e-421b-bc50-d57a1be4b2ea/0","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":"file"}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a82ff18e12a0ab8d14565	run_088a82fadf9969b4f3dde22d	eff_088a8212414aba0f8a07b09f	37	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a8212414aba0f8a07b09f","id":"dec_088a82ff18e12a0ab8d14565","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":1},"effect":{"connector":"slack","digest":"22d8ba41090ba0b845809da0b7651a8fed1f6f8c4ed49e507a3556b900f67d89","fields":{"card_of":null,"said":{"failed":[],"handled":[],"kind":"run_ended","outcome":"","rejected":[],"response":"","run":{"reference":"ended","title":"One filing"},"skipped":[],"status":"succeeded"},"user":"URITA"},"operation":"direct_message","reversible":false,"target":"URITA","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":2967,"opa_decision_id":"766b4220-6767-492a-be7d-2415fdb6f9ca/0","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a822bb093d14e405458ee	run_088a82fadf9969b4f3dde22d	eff_088a82f4d98561440d9c2d83	38	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a82f4d98561440d9c2d83","id":"dec_088a822bb093d14e405458ee","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":1},"effect":{"connector":"slack","digest":"979af4d4ca7a4d01a16dea16a3e79f806256d2bd6ce7c5c693daac44b3f434d6","fields":{"card_of":"apr_088a82c46bac0a61062b71f6","said":{"changes":false,"kind":"approval_ended","run":{"reference":"ended","title":"One filing"},"status":"approved","step":"file","votes":[{"name":"Ann","why":"seen and checked"},{"name":"Ben","why":"seen and checked"}]},"user":"URITA"},"operation":"direct_message","reversible":false,"target":"URITA","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":2967,"opa_decision_id":"766b4220-6767-492a-be7d-2415fdb6f9ca/1","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a8229223d3ffab1506980	run_088a82fadf9969b4f3dde22d	eff_088a82d8a6a41c6b7ecf10fd	39	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a82d8a6a41c6b7ecf10fd","id":"dec_088a8229223d3ffab1506980","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":1},"effect":{"connector":"slack","digest":"beb65c4861aaf96f78991ba7bf9cc2e9860d984c7099a73e086bb8f143dd0bb5","fields":{"card_of":null,"channel":"C0COMPLIANCE","said":{"about":[],"code":"performed","kind":"effect_ended"},"thread_of":"apr_088a82c46bac0a61062b71f6"},"operation":"post_message","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":2967,"opa_decision_id":"766b4220-6767-492a-be7d-2415fdb6f9ca/2","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a82b1d7965a95261f77c5	run_088a82fadf9969b4f3dde22d	eff_088a82f49a4d94fa66acbcaa	40	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a82f49a4d94fa66acbcaa","id":"dec_088a82b1d7965a95261f77c5","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":1},"effect":{"connector":"slack","digest":"437dc6fcc81a68f3f1a54ca944309dbcd5afcb640246c8a1ac19b45cfc0e4e2e","fields":{"approval_id":"apr_088a82c46bac0a61062b71f6","copy_at":null,"revision":4},"operation":"update_card","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a82fadf9969b4f3dde22d","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":2967,"opa_decision_id":"766b4220-6767-492a-be7d-2415fdb6f9ca/3","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a82fadf9969b4f3dde22d","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a83dd4ec1446dab53730a	run_088a835a184a171c047c51c3	eff_088a83a553b852a6f637b798	5	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a83a553b852a6f637b798","id":"dec_088a83dd4ec1446dab53730a","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"portal","digest":"df20b969fe66a5f00f0865ec7070e8755f9dde8e5ab476bf4a4436bb021cf320","fields":{"case":"C1"},"operation":"request_documents","reversible":true,"target":"portal:C1","tier":"low"},"run":{"definition":"bench-wait","id":"run_088a835a184a171c047c51c3","trigger_type":"bench.wait","version":1},"step":"ask","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":5266,"opa_decision_id":"3c9d9011-a9db-4162-8c72-821a93024f32/0","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a835a184a171c047c51c3","step":"ask"}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a83354d48df47835b3b0b	run_088a83d07e268da9f5102ce5	eff_088a83b53e2a4bad81a692be	5	needs_approval	{"answer":{"obligations":[],"outcome":"needs_approval","reasons":[{"code":"writes.high_tier","msg":"High-tier writes need signatures"}],"requirement":{"all_groups":false,"escalate_to":[{"after":"PT6H","to":["senior-compliance"]}],"exclude":["portal-bot","rita"],"expires_in":"PT8H","groups":["compliance"],"quorum":2,"reason_required":true},"tier":"high"},"effect_id":"eff_088a83b53e2a4bad81a692be","id":"dec_088a83354d48df47835b3b0b","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"register","digest":"14257f2743be44a01d377909d16346b3e719e931fe81eecc852653ad3f1a4a56","fields":{"company":"ACME","text":"report"},"operation":"file_report","reversible":false,"target":"register:ACME","tier":"high"},"run":{"definition":"bench-file","id":"run_088a83d07e268da9f5102ce5","trigger_type":"bench.file","version":1},"step":"file","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":5266,"opa_decision_id":"3c9d9011-a9db-4162-8c72-821a93024f32/1","opa_version":"1.22.0","outcome":"needs_approval","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a83d07e268da9f5102ce5","step":"file"}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
dec_088a831abc34ade11c53e565	run_088a83d07e268da9f5102ce5	eff_088a839f73f6d1ab6567af63	11	allow	{"answer":{"obligations":[],"outcome":"allow","reasons":[],"requirement":null,"tier":"low"},"effect_id":"eff_088a839f73f6d1ab6567af63","id":"dec_088a831abc34ade11c53e565","input":{"actor":{"groups":["onboarding"],"id":"rita","kind":"person","submitted_by":"portal-bot"},"approval":null,"counters":{"writes":0},"effect":{"connector":"slack","digest":"64d4e3c760f70152658f370f4ddbe3de6483c179ffcf43c488878de4e9b4b85a","fields":{"approval_id":"apr_088a83a15fc3f85750643feb","channel":"C0COMPLIANCE","is_copy":false},"operation":"post_card","reversible":false,"target":"C0COMPLIANCE","tier":"low"},"run":{"definition":"bench-file","id":"run_088a83d07e268da9f5102ce5","trigger_type":"bench.file","version":1},"step":"","tenant":"acme","time":"2026-01-05T09:00:00.000000Z","votes":[]},"latency_us":1862,"opa_decision_id":"aefe981d-1680-41a0-b5e1-f1b0a341597c/0","opa_version":"1.22.0","outcome":"allow","policy_digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab","run_id":"run_088a83d07e268da9f5102ce5","step":""}	0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	2026-01-05 09:00:00+00
\.


--
-- Data for Name: policy_texts; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.policy_texts (digest, files, first_seen) FROM stdin;
0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab	{"countersign/limits.rego": "# METADATA\\n# title: Limits\\n# description: >-\\n#   How much one run may write. Chat is not counted, or a run at its limit could not say so; and neither are reads.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.limits\\n\\nimport data.countersign.effect.config\\nimport data.countersign.effect.connectors\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Permitted\\n# description: The effect is chat or a read, or the run has written less than it may.\\npermitted if connectors.connector.chat == true\\n\\npermitted if input.effect.reads == true\\n\\npermitted if {\\n\\tis_number(input.counters.writes)\\n\\tinput.counters.writes >= 0\\n\\tinput.counters.writes < config.tenant.writes_per_run\\n}\\n\\n# METADATA\\n# title: Write limit reached\\n# description: Denies writes of a run that has used up its limit, or whose count is unknown.\\n# custom:\\n#   short_name: limits.writes_per_run\\n#   failure_msg: The run has reached its limit of writes\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tconfig.valid\\n\\tnot permitted\\n}\\n", "countersign/windows.rego": "# METADATA\\n# title: Windows\\n# description: When an allowed effect may be carried out, where the tenant's list of operations says so.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.windows\\n\\nimport data.countersign.effect.config\\n\\n# METADATA\\n# title: Said\\n# description: The member `execute` of an answer or a requirement; nothing where the tenant's list says nothing of it.\\ndefault said := {}\\n\\nsaid := {\\"execute\\": _operation.execute} if \\"execute\\" in object.keys(_operation)\\n\\n_operation := config.tenant.connectors[input.effect.connector].operations[input.effect.operation]\\n", "countersign/tiers.rego": "# METADATA\\n# title: Tiers\\n# description: How risky the effect is. The configuration may raise what the verb declares, never lower it.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.tiers\\n\\nimport data.countersign.effect.connectors\\nimport data.countersign.effect.reasons\\n\\n_ranks := {\\"low\\": 1, \\"medium\\": 2, \\"high\\": 3}\\n\\n# METADATA\\n# title: Effective tier\\n# description: The higher one of the declared tier and the operation's; \\"high\\" while either is unknown.\\ndefault effective := \\"high\\"\\n\\neffective := tier if {\\n\\thighest := max({_ranks[input.effect.tier], _ranks[connectors.operation.tier]})\\n\\tsome tier, rank in _ranks\\n\\trank == highest\\n}\\n\\n# METADATA\\n# title: Permitted\\n# description: The verb declares a tier that is known.\\npermitted if _ranks[input.effect.tier]\\n\\n# METADATA\\n# title: Tier unknown\\n# description: Denies effects whose declared tier is none of low, medium and high.\\n# custom:\\n#   short_name: tiers.unknown\\n#   failure_msg: The effect declares no known tier\\ndeny contains reasons.of(rego.metadata.rule()) if not permitted\\n", "countersign_pack/incident_triage/servicenow.rego": "# METADATA\\n# title: Incidents in ServiceNow\\n# description: A change to an urgent incident takes an incident manager, by the tenant's requirement \\"urgent_incident\\".\\n# schemas:\\n#   - input: schema.input\\npackage countersign_pack.incident_triage.servicenow\\n\\nimport data.countersign.effect.reasons\\nimport data.countersign.effect.tiers\\n\\n# METADATA\\n# title: Routine\\n# description: A low-tier write, or one to an incident whose priority is known and below 1.\\nroutine if tiers.effective == \\"low\\"\\n\\nroutine if input.effect.fields.priority in {2, 3, 4, 5, \\"2\\", \\"3\\", \\"4\\", \\"5\\"}\\n\\n# METADATA\\n# title: Demand for routine work\\n# description: Nobody signs it.\\ndemand := {\\"requirement\\": \\"none\\"} if routine\\n\\n# METADATA\\n# title: Urgent incident\\n# description: Changing an urgent incident takes an incident manager.\\n# custom:\\n#   short_name: incidents.urgent\\n#   failure_msg: A change to an incident of priority 1, or of unknown priority, needs an incident manager's signature\\ndemand := {\\"requirement\\": \\"urgent_incident\\", \\"reason\\": reasons.of(rego.metadata.rule())} if not routine\\n", "countersign/packs.rego": "# METADATA\\n# title: Rules of packs\\n# description: >-\\n#   What the packs say about effects of their connectors. The package countersign_pack.PACK.CONNECTOR holds a pack's\\n#   rules for one connector; it states who signs each effect as `demand`, and may deny. It touches no other connector.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.packs\\n\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Concerned\\n# description: The rules of each pack that has some for the effect's connector.\\nconcerned contains rules if {\\n\\tsome pack\\n\\trules := data.countersign_pack[pack][input.effect.connector]\\n}\\n\\n# METADATA\\n# title: Demand\\n# description: Who signs, as the packs agree; nobody where no pack asks for it. Undefined while they do not agree.\\ndemand := {\\"requirement\\": \\"none\\"} if count(_asked) == 0\\n\\ndemand := asked if {\\n\\tcount(_asked) == 1\\n\\tsome asked in _asked\\n}\\n\\n# METADATA\\n# title: Permitted\\n# description: Each pack that is concerned has said who signs, and they agree.\\npermitted if {\\n\\tevery rules in concerned {\\n\\t\\t_answers(rules)\\n\\t}\\n\\tdemand\\n}\\n\\n# METADATA\\n# title: Denied by packs\\n# description: The reasons for which rules of packs deny.\\ndenied contains reason if {\\n\\tsome rules in concerned\\n\\tsome reason in rules.deny\\n}\\n\\n# METADATA\\n# title: Pack without an answer\\n# description: Denies what a pack has rules for that do not say who signs it.\\n# custom:\\n#   short_name: packs.silent\\n#   failure_msg: The pack's rules do not say who signs this\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tsome rules in concerned\\n\\tnot _answers(rules)\\n}\\n\\n# METADATA\\n# title: Packs that contradict each other\\n# description: Denies what two packs want signed in different ways.\\n# custom:\\n#   short_name: packs.contradiction\\n#   failure_msg: Two packs disagree on who signs this\\ndeny contains reasons.of(rego.metadata.rule()) if count(_asked) > 1\\n\\n_asked contains rules.demand if {\\n\\tsome rules in concerned\\n\\t_answers(rules)\\n\\trules.demand.requirement != \\"none\\"\\n}\\n\\n_answers(rules) if is_string(rules.demand.requirement)\\n", "countersign/decision_log.rego": "# METADATA\\n# title: OPA's own decision log\\n# description: >-\\n#   OPA gives decision ids only while its decision log is on. Decisions are stored with their input elsewhere, so\\n#   nothing is printed twice.\\npackage system.log\\n\\n# METADATA\\n# title: Drop\\n# description: Drops every entry of the decision log.\\ndrop := true\\n", "countersign/operator.rego": "# METADATA\\n# title: Decision on what an operator does\\n# description: >-\\n#   The entrypoint for a privileged act: how a step that needs attention or waits goes on, that a run stops, who votes for whom, who signs with\\n#   which passkey, or that the app may be installed in a workspace. It is allowed only when every rule says so outright.\\n# schemas:\\n#   - input: schema.operator\\npackage countersign.operator\\n\\nimport data.countersign.effect.config\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Decision\\n# description: The answer, with every member present; the default stands when anything in it is undefined.\\n# entrypoint: true\\ndefault decision := {\\n\\t\\"outcome\\": \\"deny\\",\\n\\t\\"reasons\\": [{\\"code\\": \\"operator.undefined\\", \\"msg\\": \\"The policy gives no answer for this act\\"}],\\n}\\n\\ndecision := {\\"outcome\\": \\"deny\\", \\"reasons\\": sort(deny)} if count(deny) > 0\\n\\ndecision := {\\"outcome\\": \\"allow\\", \\"reasons\\": []} if {\\n\\tcount(deny) == 0\\n\\tpermitted\\n}\\n\\n# METADATA\\n# title: Permitted\\n# description: Every rule vouches for the act, beside that none denies it.\\npermitted if {\\n\\tknown\\n\\tentitled\\n\\tapart\\n\\tanswerable\\n}\\n\\n# METADATA\\n# title: Known\\n# description: >-\\n#   The act is one of the four on a step that needs attention or on one that waits, stops a run, records or ends who votes for whom, is about a passkey, or\\n#   lets somebody install the app.\\nknown if {\\n\\tinput.act in {\\"retry\\", \\"supply\\", \\"skip\\", \\"end\\"}\\n\\tis_object(input.run)\\n\\tis_object(input.step)\\n}\\n\\nknown if {\\n\\tinput.act == \\"cancel\\"\\n\\tis_object(input.run)\\n\\tinput.step == null\\n}\\n\\nknown if {\\n\\t_delegates\\n\\tinput.run == null\\n\\tinput.step == null\\n\\tis_object(input.delegation)\\n}\\n\\nknown if {\\n\\tinput.act == \\"install_link\\"\\n\\tinput.run == null\\n\\tinput.step == null\\n}\\n\\nknown if {\\n\\t_about_passkey\\n\\tinput.run == null\\n\\tinput.step == null\\n\\tis_object(input.passkey)\\n}\\n\\n# METADATA\\n# title: Entitled\\n# description: >-\\n#   A person of one of the groups that the tenant names as its operators; nobody, where it names none. Who asked for a run\\n#   may stop it, too, and so may a caller that speaks for itself: the edge lets in those alone that the directory lets\\n#   stop runs of this kind. People say themselves who votes for them, and until when, and revoke passkeys of their own.\\nentitled if {\\n\\tinput.actor.kind == \\"person\\"\\n\\tsome group in input.actor.groups\\n\\tgroup in config.tenant.operators\\n}\\n\\nentitled if {\\n\\tinput.act == \\"cancel\\"\\n\\tinput.actor.kind == \\"person\\"\\n\\tinput.actor.id == input.run.requested_by\\n}\\n\\nentitled if {\\n\\tinput.act == \\"cancel\\"\\n\\tinput.actor.kind == \\"agent\\"\\n\\tinput.actor.id == input.actor.submitted_by\\n}\\n\\nentitled if {\\n\\t_delegates\\n\\tinput.actor.kind == \\"person\\"\\n\\tinput.actor.id == input.delegation.delegator\\n}\\n\\nentitled if {\\n\\tinput.act == \\"revoke_passkey\\"\\n\\tinput.actor.kind == \\"person\\"\\n\\tinput.actor.id == input.passkey.person\\n}\\n\\n# METADATA\\n# title: Apart\\n# description: >-\\n#   Who asked for the run, or sent it, neither supplies nor skips what people have to sign or to answer, or what waits and\\n#   has not failed. To try it again, or to end the run, takes nothing away from anybody; nor does it to end a delegation, to revoke a passkey, or to\\n#   let somebody install the app. Nobody records that they vote for somebody else, or invites themselves to register a\\n#   passkey.\\napart if input.act in {\\"retry\\", \\"end\\", \\"cancel\\", \\"undelegate\\", \\"revoke_passkey\\", \\"install_link\\"}\\n\\napart if {\\n\\tinput.act == \\"invite_passkey\\"\\n\\tis_string(input.passkey.person)\\n\\tinput.actor.id != input.passkey.person\\n}\\n\\napart if {\\n\\tinput.act == \\"delegate\\"\\n\\tinput.actor.id != input.delegation.delegate\\n}\\n\\napart if {\\n\\tinput.step.people == \\"none\\"\\n\\tinput.step.status == \\"needs_attention\\"\\n}\\n\\napart if {\\n\\tevery person in {input.run.requested_by, input.run.submitted_by} {\\n\\t\\tis_string(person)\\n\\t\\tperson != input.actor.id\\n\\t}\\n}\\n\\n# METADATA\\n# title: Answerable\\n# description: What people are asked is answered by those who are asked, and by no operator in their place.\\nanswerable if input.act in {\\"retry\\", \\"skip\\", \\"end\\", \\"cancel\\", \\"delegate\\", \\"undelegate\\", \\"install_link\\"}\\n\\nanswerable if _about_passkey\\n\\nanswerable if input.step.people in {\\"none\\", \\"sign\\"}\\n\\n# METADATA\\n# title: Act unknown\\n# description: Denies what is no act of an operator.\\n# custom:\\n#   short_name: operator.unknown_act\\n#   failure_msg: Policy knows no such act\\ndeny contains reasons.of(rego.metadata.rule()) if not known\\n\\n# METADATA\\n# title: Not entitled\\n# description: Denies an actor who is not one of the tenant's operators.\\n# custom:\\n#   short_name: operator.not_entitled\\n#   failure_msg: Only the tenant's operators may do this\\ndeny contains reasons.of(rego.metadata.rule()) if not entitled\\n\\n# METADATA\\n# title: Own request\\n# description: Denies requesters what others have to sign or answer.\\n# custom:\\n#   short_name: operator.own_request\\n#   failure_msg: The requester may not supply or skip what others must sign or answer, or a step that waits\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tnot apart\\n\\tnot _delegates\\n\\tnot _about_passkey\\n}\\n\\n# METADATA\\n# title: Own delegation\\n# description: Denies people to record that they themselves vote for somebody else.\\n# custom:\\n#   short_name: operator.own_delegation\\n#   failure_msg: A delegate may not record their own delegation\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tnot apart\\n\\t_delegates\\n}\\n\\n# METADATA\\n# title: Own passkey\\n# description: Denies people to invite themselves to register a passkey.\\n# custom:\\n#   short_name: operator.own_passkey\\n#   failure_msg: Someone else must invite a person to register a passkey\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tnot apart\\n\\t_about_passkey\\n}\\n\\n# METADATA\\n# title: Answer of others\\n# description: Denies an answer given instead of the people who are asked.\\n# custom:\\n#   short_name: operator.answer_of_others\\n#   failure_msg: Only the people asked may answer; retry to ask them again\\ndeny contains reasons.of(rego.metadata.rule()) if not answerable\\n\\n_delegates if input.act in {\\"delegate\\", \\"undelegate\\"}\\n\\n_about_passkey if input.act in {\\"invite_passkey\\", \\"revoke_passkey\\"}\\n", "countersign/duties.rego": "# METADATA\\n# title: Separation of duties\\n# description: Who asks never signs, and who edits what was asked for does not unless the requirement lets them.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.duties\\n\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Excluded\\n# description: The requester and the submitter, sorted, each once.\\nexcluded := sort({input.actor.id, input.actor.submitted_by})\\n\\n# METADATA\\n# title: Editors\\n# description: Who changed the effect since it was asked for; nobody where it is as it was.\\neditors := [person | some person in input.edited.by]\\n\\n# METADATA\\n# title: Permitted\\n# description: Requester, submitter and whoever edited are known; nobody can be kept apart from an unknown one.\\npermitted if {\\n\\tevery person in array.concat(excluded, _edited_by) {\\n\\t\\tis_string(person)\\n\\t\\tperson != \\"\\"\\n\\t}\\n}\\n\\n_edited_by := [] if not \\"edited\\" in object.keys(input)\\n\\n_edited_by := input.edited.by if count(input.edited.by) > 0\\n\\n# METADATA\\n# title: Requester unknown\\n# description: Denies effects that nobody is known to have asked for.\\n# custom:\\n#   short_name: duties.requester_unknown\\n#   failure_msg: The requester of the effect is unknown\\ndeny contains reasons.of(rego.metadata.rule()) if not permitted\\n", "countersign/config.rego": "# METADATA\\n# title: Tenant configuration\\n# description: What data says about the tenant. A tenant without a complete configuration may do nothing.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.config\\n\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Tenant\\n# description: The configuration of the tenant that asks.\\ntenant := data.countersign_config[input.tenant]\\n\\n# METADATA\\n# title: Valid\\n# description: >-\\n#   What every question reads of the configuration is of the demanded kind, and so is what this one reads. The whole of\\n#   it is looked at once for each policy, as `flaws`: to do so with every question would take half of its time.\\nvalid if {\\n\\tis_number(tenant.writes_per_run)\\n\\tis_object(tenant.connectors)\\n\\tis_object(tenant.requirements.high)\\n\\tnot _misfit\\n}\\n\\n# METADATA\\n# title: Requirement that can be read\\n# description: A requirement without which nobody could say whether enough have signed is none.\\nis_requirement(entry) if {\\n\\tis_number(entry.quorum)\\n\\tentry.quorum >= 1\\n\\tis_array(entry.groups)\\n\\tcount(entry.groups) > 0\\n\\tis_boolean(entry.all_groups)\\n\\tis_string(entry.expires_in)\\n\\tis_array(entry.escalate_to)\\n\\tevery later in entry.escalate_to {\\n\\t\\tis_string(later.after)\\n\\t\\tis_array(later.to)\\n\\t}\\n\\t_break_glass_can_be_read(entry)\\n\\tis_string(object.get(entry, \\"pause_on_question\\", \\"\\"))\\n}\\n\\n# METADATA\\n# title: Flaws\\n# description: >-\\n#   What is wrong with the configuration of the tenant that asks. Asked for by itself, once for each policy: no answer\\n#   counts for a tenant whose configuration has flaws.\\nflaws contains problem.error if some problem in json.match_schema(tenant, _shape)[1]\\n\\nflaws contains late if some late in _late(tenant)\\n\\nflaws contains shut if some shut in _shut(tenant)\\n\\nflaws contains unread if some unread in _unread(tenant)\\n\\n# METADATA\\n# title: Problems\\n# description: What is wrong with the configuration of any tenant; asked for when policies are loaded.\\nproblems contains sprintf(\\"%s: %s\\", [name, problem.error]) if {\\n\\tsome name, candidate in data.countersign_config\\n\\tsome problem in json.match_schema(candidate, _shape)[1]\\n}\\n\\nproblems contains sprintf(\\"%s: %s\\", [name, late]) if {\\n\\tsome name, candidate in data.countersign_config\\n\\tsome late in _late(candidate)\\n}\\n\\nproblems contains sprintf(\\"%s: %s\\", [name, shut]) if {\\n\\tsome name, candidate in data.countersign_config\\n\\tsome shut in _shut(candidate)\\n}\\n\\nproblems contains sprintf(\\"%s: %s\\", [name, unread]) if {\\n\\tsome name, candidate in data.countersign_config\\n\\tsome unread in _unread(candidate)\\n}\\n\\n# METADATA\\n# title: Tenant unknown\\n# description: Denies whatever a tenant without configuration asks.\\n# custom:\\n#   short_name: config.tenant_unknown\\n#   failure_msg: The policy data has no configuration for this tenant\\ndeny contains reasons.of(rego.metadata.rule()) if not tenant\\n\\n# METADATA\\n# title: Configuration invalid\\n# description: Denies whatever a tenant asks whose configuration is incomplete or wrong.\\n# custom:\\n#   short_name: config.invalid\\n#   failure_msg: The tenant's configuration in the policy data is incomplete or wrong\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\ttenant\\n\\tnot valid\\n}\\n\\n_break_glass_can_be_read(entry) if not \\"break_glass\\" in object.keys(entry)\\n\\n_break_glass_can_be_read(entry) if {\\n\\tis_array(entry.break_glass.groups)\\n\\tis_number(entry.break_glass.at_most)\\n\\tis_string(entry.break_glass.within)\\n\\tis_array(entry.break_glass.tell)\\n\\tis_array(entry.break_glass.review_by)\\n\\tis_string(entry.break_glass.review_within)\\n}\\n\\n_misfit if {\\n\\tentry := tenant.connectors[input.effect.connector]\\n\\tnot _is_connector(entry)\\n}\\n\\n_misfit if {\\n\\tentry := tenant.connectors[input.effect.connector].operations[input.effect.operation]\\n\\tnot _is_operation(entry)\\n}\\n\\n_is_connector(entry) if {\\n\\tis_boolean(entry.chat)\\n\\tis_object(entry.operations)\\n}\\n\\n_is_operation(entry) if {\\n\\tentry.tier in {\\"low\\", \\"medium\\", \\"high\\"}\\n\\tis_array(entry.targets)\\n\\tevery target in entry.targets {\\n\\t\\tis_string(target)\\n\\t}\\n\\t_window_can_be_read(entry)\\n}\\n\\n_window_can_be_read(entry) if not \\"execute\\" in object.keys(entry)\\n\\n_window_can_be_read(entry) if is_object(entry.execute)\\n\\n# Targets that are no patterns, and would match nothing.\\n_unread(configuration) := {sprintf(\\"connectors.%s.operations.%s.targets.%d: %s is no pattern\\", path) |\\n\\tsome connector, entry in configuration.connectors\\n\\tsome operation, listed in entry.operations\\n\\tsome place, target in listed.targets\\n\\tis_string(target)\\n\\tnot _is_pattern(target)\\n\\tpath := [connector, operation, place, json.marshal(target)]\\n}\\n\\n_is_pattern(text) if is_boolean(glob.match(text, [\\"/\\"], \\"\\"))\\n\\n# Windows that never open, and of the chat, whose word has no time of its own.\\n_shut(configuration) := {sprintf(\\"connectors.%s.operations.%s.execute%s\\", [connector, operation, why]) |\\n\\tsome connector, entry in configuration.connectors\\n\\tsome operation, listed in entry.operations\\n\\tsome why in array.concat(\\n\\t\\t[flaw | entry.chat; listed.execute; flaw := \\": word in the chat has no window\\"],\\n\\t\\t[flaw |\\n\\t\\t\\tsome place, window in listed.execute.between\\n\\t\\t\\twindow.from == window.until\\n\\t\\t\\tflaw := sprintf(\\".between.%d: it is empty\\", [place])\\n\\t\\t],\\n\\t)\\n}\\n\\n# Who is next in line, but would be asked no later than the one before, or when there is no time any more.\\n_late(configuration) := {sprintf(\\"requirements.%s.escalate_to.%d.after: %s\\", [name, place, why]) |\\n\\tsome name, entry in configuration.requirements\\n\\tsome place, later in entry.escalate_to\\n\\tafter := _seconds(later.after)\\n\\tsome why in array.concat(\\n\\t\\t[flaw | after >= _seconds(entry.expires_in); flaw := \\"it is not before expires_in\\"],\\n\\t\\t[flaw | after <= _seconds(entry.escalate_to[place - 1].after); flaw := \\"it is not later than the entry before\\"],\\n\\t)\\n}\\n\\n_seconds(text) := to_number(trim(text, \\"PTDHMS\\")) * {\\"D\\": 86400, \\"H\\": 3600, \\"M\\": 60, \\"S\\": 1}[substring(\\n\\ttext, count(text) - 1,\\n\\t1,\\n)]\\n\\n_duration := {\\"type\\": \\"string\\", \\"pattern\\": `^P([1-9][0-9]*D|T[1-9][0-9]*[HMS])$`}\\n\\n_next_in_line := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"after\\", \\"to\\"],\\n\\t\\"properties\\": {\\"after\\": _duration, \\"to\\": object.union(_texts, {\\"minItems\\": 1})},\\n}\\n\\n_break_glass := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"groups\\", \\"at_most\\", \\"within\\", \\"tell\\", \\"review_by\\", \\"review_within\\"],\\n\\t\\"properties\\": {\\n\\t\\t\\"groups\\": object.union(_texts, {\\"minItems\\": 1}),\\n\\t\\t\\"at_most\\": {\\"type\\": \\"integer\\", \\"minimum\\": 1, \\"maximum\\": 100},\\n\\t\\t\\"within\\": _duration,\\n\\t\\t\\"tell\\": _texts,\\n\\t\\t\\"review_by\\": object.union(_texts, {\\"minItems\\": 1}),\\n\\t\\t\\"review_within\\": _duration,\\n\\t},\\n}\\n\\n_text := {\\"type\\": \\"string\\", \\"minLength\\": 1, \\"maxLength\\": 2000, \\"pattern\\": `^[^\\\\x00-\\\\x1f\\\\x7f-\\\\x9f]*$`}\\n\\n_texts := {\\"type\\": \\"array\\", \\"items\\": _text, \\"uniqueItems\\": true, \\"maxItems\\": 100}\\n\\n_operation := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"tier\\", \\"targets\\"],\\n\\t\\"properties\\": {\\n\\t\\t\\"tier\\": {\\"enum\\": [\\"low\\", \\"medium\\", \\"high\\"]},\\n\\t\\t\\"targets\\": _texts,\\n\\t\\t\\"execute\\": _execute,\\n\\t},\\n}\\n\\n_execute := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"minProperties\\": 1,\\n\\t\\"properties\\": {\\n\\t\\t\\"not_before\\": {\\"type\\": \\"string\\", \\"pattern\\": `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$`},\\n\\t\\t\\"between\\": {\\"type\\": \\"array\\", \\"items\\": _window, \\"minItems\\": 1, \\"maxItems\\": 20},\\n\\t\\t\\"time_zone\\": _text,\\n\\t\\t\\"within\\": _duration,\\n\\t},\\n\\t\\"dependencies\\": {\\"between\\": [\\"time_zone\\"], \\"time_zone\\": [\\"between\\"]},\\n}\\n\\n_window := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"days\\", \\"from\\", \\"until\\"],\\n\\t\\"properties\\": {\\n\\t\\t\\"days\\": {\\n\\t\\t\\t\\"type\\": \\"array\\",\\n\\t\\t\\t\\"items\\": {\\"enum\\": [\\"mon\\", \\"tue\\", \\"wed\\", \\"thu\\", \\"fri\\", \\"sat\\", \\"sun\\"]},\\n\\t\\t\\t\\"uniqueItems\\": true,\\n\\t\\t\\t\\"minItems\\": 1,\\n\\t\\t},\\n\\t\\t\\"from\\": {\\"type\\": \\"string\\", \\"pattern\\": `^([01][0-9]|2[0-3]):[0-5][0-9]$`},\\n\\t\\t\\"until\\": {\\"type\\": \\"string\\", \\"pattern\\": `^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`},\\n\\t},\\n}\\n\\n_connector := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"chat\\", \\"operations\\"],\\n\\t\\"properties\\": {\\n\\t\\t\\"chat\\": {\\"type\\": \\"boolean\\"},\\n\\t\\t\\"operations\\": {\\"type\\": \\"object\\", \\"additionalProperties\\": _operation},\\n\\t},\\n}\\n\\n_requirement := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"quorum\\", \\"groups\\", \\"all_groups\\", \\"expires_in\\", \\"escalate_to\\"],\\n\\t\\"properties\\": {\\n\\t\\t\\"quorum\\": {\\"type\\": \\"integer\\", \\"minimum\\": 1, \\"maximum\\": 1000},\\n\\t\\t\\"groups\\": object.union(_texts, {\\"minItems\\": 1}),\\n\\t\\t\\"all_groups\\": {\\"type\\": \\"boolean\\"},\\n\\t\\t\\"expires_in\\": _duration,\\n\\t\\t\\"escalate_to\\": {\\"type\\": \\"array\\", \\"items\\": _next_in_line, \\"maxItems\\": 20},\\n\\t\\t\\"editors_may_sign\\": {\\"type\\": \\"boolean\\"},\\n\\t\\t\\"break_glass\\": _break_glass,\\n\\t\\t\\"sign_with\\": {\\"enum\\": [\\"passkey\\"]},\\n\\t\\t\\"pause_on_question\\": _duration,\\n\\t},\\n\\t\\"if\\": {\\"properties\\": {\\"all_groups\\": {\\"const\\": true}}},\\n\\t\\"then\\": {\\"properties\\": {\\"groups\\": {\\"maxItems\\": 8}}},\\n}\\n\\n_shape := {\\n\\t\\"type\\": \\"object\\",\\n\\t\\"additionalProperties\\": false,\\n\\t\\"required\\": [\\"writes_per_run\\", \\"connectors\\", \\"requirements\\"],\\n\\t\\"properties\\": {\\n\\t\\t\\"writes_per_run\\": {\\"type\\": \\"integer\\", \\"minimum\\": 0},\\n\\t\\t\\"connectors\\": {\\"type\\": \\"object\\", \\"additionalProperties\\": _connector},\\n\\t\\t\\"requirements\\": {\\"type\\": \\"object\\", \\"additionalProperties\\": _requirement, \\"required\\": [\\"high\\"]},\\n\\t\\t\\"operators\\": _texts,\\n\\t},\\n}\\n", "countersign/connectors.rego": "# METADATA\\n# title: Connectors\\n# description: Which connectors, operations and targets the tenant may use, by the list in its configuration.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.connectors\\n\\nimport data.countersign.effect.config\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Connector\\n# description: The tenant's entry for the connector.\\nconnector := config.tenant.connectors[input.effect.connector]\\n\\n# METADATA\\n# title: Operation\\n# description: The tenant's entry for the operation.\\noperation := connector.operations[input.effect.operation]\\n\\n# METADATA\\n# title: Permitted\\n# description: The target matches a pattern of the operation; \\"*\\" stays within one \\"/\\" segment, \\"**\\" does not.\\npermitted if {\\n\\tsome pattern in operation.targets\\n\\tglob.match(pattern, [\\"/\\"], input.effect.target)\\n}\\n\\n# METADATA\\n# title: Connector not allowed\\n# description: Denies connectors that the tenant's configuration does not list.\\n# custom:\\n#   short_name: connectors.connector\\n#   failure_msg: The tenant may not use this connector\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tconfig.valid\\n\\tnot connector\\n}\\n\\n# METADATA\\n# title: Operation not allowed\\n# description: Denies operations that the tenant's configuration does not list.\\n# custom:\\n#   short_name: connectors.operation\\n#   failure_msg: The tenant may not use this operation of the connector\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tconfig.valid\\n\\tconnector\\n\\tnot operation\\n}\\n\\n# METADATA\\n# title: Target not allowed\\n# description: Denies targets that match no pattern of the operation.\\n# custom:\\n#   short_name: connectors.target\\n#   failure_msg: The tenant may not use this operation on this target\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tconfig.valid\\n\\toperation\\n\\tnot permitted\\n}\\n", "countersign/reasons.rego": "# METADATA\\n# title: Reasons\\n# description: Makes the reasons that people read and auditors search for.\\npackage countersign.effect.reasons\\n\\n# METADATA\\n# title: Reason of a rule\\n# description: The code and the sentence that a rule's own METADATA states.\\nof(rule) := {\\"code\\": rule.custom.short_name, \\"msg\\": rule.custom.failure_msg}\\n", "countersign_pack/access_request/access.rego": "# METADATA\\n# title: Access to systems\\n# description: >-\\n#   Who gives access: the system's owner and security, by the tenant's requirement \\"access_SYSTEM\\". Taking access back\\n#   needs nobody. People ask for themselves alone, so that who asks, and never signs, is who is given access.\\n# schemas:\\n#   - input: schema.input\\npackage countersign_pack.access_request.access\\n\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Demand for the end of access\\n# description: Nobody signs it, since access would continue while a signature is awaited.\\ndemand := {\\"requirement\\": \\"none\\"} if input.effect.operation == \\"revoke\\"\\n\\n# METADATA\\n# title: Access\\n# description: The owner of the system and a person of security sign, two people.\\n# custom:\\n#   short_name: access.granted_by_owner\\n#   failure_msg: Access needs the system's owner and security\\ndemand := {\\"requirement\\": concat(\\"\\", [\\"access_\\", system]), \\"reason\\": reasons.of(rego.metadata.rule())} if {\\n\\tinput.effect.operation == \\"grant\\"\\n\\tsystem\\n}\\n\\n# METADATA\\n# title: System\\n# description: The system that the effect is about, by its target.\\nsystem := trim_prefix(input.effect.target, \\"system:\\") if startswith(input.effect.target, \\"system:\\")\\n\\n# METADATA\\n# title: Asked for oneself\\n# description: The requester is the person who gets access.\\nown if {\\n\\tis_string(input.effect.fields.account)\\n\\tinput.effect.fields.account == input.actor.id\\n}\\n\\n# METADATA\\n# title: For a time\\n# description: Access ends, after thirty days at the latest.\\nbounded if {\\n\\tis_number(input.effect.fields.minutes)\\n\\tinput.effect.fields.minutes <= 43200\\n}\\n\\n# METADATA\\n# title: Access for others\\n# description: Denies access that somebody asks for in another's name.\\n# custom:\\n#   short_name: access.for_another\\n#   failure_msg: People may request access for themselves only\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tinput.effect.operation == \\"grant\\"\\n\\tnot own\\n}\\n\\n# METADATA\\n# title: Access without an end\\n# description: Denies access that lasts longer than thirty days, or for nobody knows how long.\\n# custom:\\n#   short_name: access.too_long\\n#   failure_msg: Access lasts at most thirty days\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tinput.effect.operation == \\"grant\\"\\n\\tnot bounded\\n}\\n", "countersign_pack/kyc/bloomberg.rego": "# METADATA\\n# title: Questions to Bloomberg\\n# description: >-\\n#   What leaves the tenant for Bloomberg is an LEI, which names a company. Any other identifier may name a person, or\\n#   tell whose client somebody is.\\n# schemas:\\n#   - input: schema.input\\npackage countersign_pack.kyc.bloomberg\\n\\nimport data.countersign.effect.reasons\\n\\n# METADATA\\n# title: Demand\\n# description: Nobody signs a question about a company.\\ndemand := {\\"requirement\\": \\"none\\"}\\n\\n# METADATA\\n# title: By LEI\\n# description: The question names its company by an LEI, and is about the company that it says it is about.\\nby_lei if {\\n\\tinput.effect.fields.identifier_type == \\"LEGAL_ENTITY_IDENTIFIER\\"\\n\\tregex.match(`^[0-9A-Z]{18}[0-9]{2}$`, input.effect.fields.entity_identifier)\\n\\tinput.effect.target == concat(\\"\\", [\\"company:\\", input.effect.fields.entity_identifier])\\n}\\n\\n# METADATA\\n# title: Another identifier\\n# description: Denies questions that name anything but a company by its LEI.\\n# custom:\\n#   short_name: bloomberg.identifier\\n#   failure_msg: Bloomberg may be asked by LEI only\\ndeny contains reasons.of(rego.metadata.rule()) if not by_lei\\n", "countersign/approvals.rego": "# METADATA\\n# title: Approvals\\n# description: When people must sign, who may, and whether the votes in the input fulfil that.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect.approvals\\n\\nimport data.countersign.effect.config\\nimport data.countersign.effect.duties\\nimport data.countersign.effect.packs\\nimport data.countersign.effect.reasons\\nimport data.countersign.effect.tiers\\nimport data.countersign.effect.windows\\n\\n# METADATA\\n# title: Demand below the high tier\\n# description: What the rules of packs ask for; nobody's signature where they ask for none.\\ndemand := packs.demand if tiers.effective in {\\"low\\", \\"medium\\"}\\n\\n# METADATA\\n# title: High tier\\n# description: High-tier writes are signed by people, whatever packs say.\\n# custom:\\n#   short_name: writes.high_tier\\n#   failure_msg: High-tier writes need signatures\\ndemand := {\\"requirement\\": \\"high\\", \\"reason\\": reasons.of(rego.metadata.rule())} if {\\n\\ttiers.effective == \\"high\\"\\n\\tnot input.effect.reads == true\\n}\\n\\n# METADATA\\n# title: High tier, of a read\\n# description: What leaves the tenant with a high-tier read is signed by people, whatever packs say.\\n# custom:\\n#   short_name: reads.high_tier\\n#   failure_msg: High-tier reads need signatures\\ndemand := {\\"requirement\\": \\"high\\", \\"reason\\": reasons.of(rego.metadata.rule())} if {\\n\\ttiers.effective == \\"high\\"\\n\\tinput.effect.reads == true\\n}\\n\\n# METADATA\\n# title: Requirement\\n# description: >-\\n#   The tenant's requirement by the demand's name, with who is excluded, whether a reason is needed, and when the effect\\n#   may be carried out.\\nrequirement := object.union_n([_stated, {\\"exclude\\": excluded, \\"reason_required\\": reason_required}, windows.said]) if {\\n\\tconfig.is_requirement(_stated)\\n}\\n\\n# METADATA\\n# title: Excluded\\n# description: >-\\n#   Who wanted the effect and, unless the requirement says that they may sign, who edited what was asked for: they want it\\n#   as it is now.\\nexcluded := duties.excluded if _stated.editors_may_sign == true\\n\\nexcluded := sort({person | some person in array.concat(duties.excluded, duties.editors)}) if {\\n\\tnot _stated.editors_may_sign == true\\n}\\n\\n# METADATA\\n# title: Reason required\\n# description: What cannot be undone is signed with a reason.\\ndefault reason_required := true\\n\\nreason_required := false if input.effect.reversible == true\\n\\n# METADATA\\n# title: Current\\n# description: >-\\n#   The approval's time has not run out. What is not used before it expires is void, whoever has signed it; where it is\\n#   said when it may be carried out, before the end of that time.\\ncurrent if time.parse_rfc3339_ns(input.time) < time.parse_rfc3339_ns(_end)\\n\\n# METADATA\\n# title: Entitled votes\\n# description: >-\\n#   Votes of people in one of the groups asked, without those who are excluded, on an approval that is current and given\\n#   before its time ran out. Each of those next in line is asked when its time has come; until then the runtime counts no\\n#   vote of theirs. Of a vote for somebody else, neither of the two may be excluded, nor who recorded that it may be given.\\nentitled contains place if {\\n\\tcurrent\\n\\tsome place, vote in input.votes\\n\\ttime.parse_rfc3339_ns(vote.at) < _expiry\\n\\tis_string(vote.person)\\n\\tnot vote.person in excluded\\n\\t_delegated_well(vote)\\n\\tsome group in vote.groups\\n\\tgroup in array.concat(requirement.groups, [lead | some entry in requirement.escalate_to; some lead in entry.to])\\n}\\n\\n# METADATA\\n# title: Counted votes\\n# description: >-\\n#   Entitled votes; of those for somebody else, the ones whose two people stand in no other vote. Nobody counts twice by\\n#   another's name. Where the requirement says with what it is signed (`sign_with`), only what is signed so.\\ncounted contains input.votes[place] if {\\n\\tsome place in entitled\\n\\tnot _used_up(place)\\n\\t_signed_as_asked(input.votes[place])\\n}\\n\\n# METADATA\\n# title: Approvers\\n# description: The distinct people whose counted vote approves.\\napprovers contains vote.person if {\\n\\tsome vote in counted\\n\\tvote.verdict == \\"approve\\"\\n}\\n\\n# METADATA\\n# title: Groups met\\n# description: >-\\n#   One of the groups has approved or, where the requirement says so, each of them by a person of its own: whichever of\\n#   the groups one takes, as many people as these are approved for them (Hall's theorem).\\ngroups_met if requirement.all_groups == false\\n\\ngroups_met if {\\n\\trequirement.all_groups == true\\n\\tcount(requirement.groups) <= 8\\n\\tevery subset in numbers.range(1, bits.lsh(1, count(requirement.groups)) - 1) {\\n\\t\\tgroups := [group | some place, group in requirement.groups; bits.and(subset, bits.lsh(1, place)) > 0]\\n\\t\\tcount(_approvers_of(groups)) >= count(groups)\\n\\t}\\n}\\n\\n# METADATA\\n# title: Unopposed\\n# description: No entitled vote says anything but approve.\\nunopposed if {\\n\\tevery place in entitled {\\n\\t\\tinput.votes[place].verdict == \\"approve\\"\\n\\t}\\n}\\n\\n# METADATA\\n# title: Fulfilled\\n# description: The quorum of distinct people has approved, and the groups are met.\\nfulfilled if {\\n\\tcount(approvers) >= requirement.quorum\\n\\tgroups_met\\n}\\n\\nfulfilled if break_glass_used\\n\\n# METADATA\\n# title: Break-glass\\n# description: >-\\n#   Somebody whom the requirement lets do without the others has, by a ticket, no more often than they may, and on an\\n#   approval that is current. Who is excluded cannot.\\nbreak_glass_used if {\\n\\tcurrent\\n\\tsome vote in input.votes\\n\\t_uses_break_glass(vote, requirement.break_glass)\\n}\\n\\n# METADATA\\n# title: Pending\\n# description: Signatures are needed, and some are missing.\\npending if {\\n\\trequirement\\n\\tunopposed\\n\\tnot fulfilled\\n}\\n\\n# METADATA\\n# title: Granted\\n# description: Nobody needs to sign, or everybody who must has signed.\\ngranted if demand.requirement == \\"none\\"\\n\\ngranted if {\\n\\tunopposed\\n\\tfulfilled\\n}\\n\\n# METADATA\\n# title: Grounds\\n# description: Why the effect is granted.\\ndefault grounds := []\\n\\ngrounds := [signed] if fulfilled\\n\\n# METADATA\\n# title: Signed\\n# description: Says that the signatures are there.\\n# custom:\\n#   short_name: approvals.fulfilled\\n#   failure_msg: All required signatures are given\\nsigned := reasons.of(rego.metadata.rule())\\n\\n# METADATA\\n# title: Rejected\\n# description: Denies what someone entitled to sign has rejected.\\n# custom:\\n#   short_name: approvals.rejected\\n#   failure_msg: Someone who may sign has rejected the effect\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\trequirement\\n\\tnot unopposed\\n}\\n\\n# METADATA\\n# title: Requirement missing\\n# description: Denies what the tenant's configuration says nothing about who signs.\\n# custom:\\n#   short_name: approvals.requirement_missing\\n#   failure_msg: The tenant's configuration does not say who signs this\\ndeny contains reasons.of(rego.metadata.rule()) if {\\n\\tconfig.valid\\n\\tdemand.requirement != \\"none\\"\\n\\tnot requirement\\n}\\n\\n_stated := config.tenant.requirements[demand.requirement]\\n\\n_end := object.get(input.approval, \\"usable_until\\", input.approval.expires_at)\\n\\n_expiry := time.parse_rfc3339_ns(input.approval.expires_at)\\n\\n_approvers_of(groups) := {vote.person |\\n\\tsome vote in counted\\n\\tvote.verdict == \\"approve\\"\\n\\tsome group in groups\\n\\tgroup in vote.groups\\n}\\n\\n_delegated_well(vote) if not \\"delegation\\" in object.keys(vote)\\n\\n_delegated_well(vote) if {\\n\\tevery person in [vote.delegation.delegator, vote.delegation.recorded_by] {\\n\\t\\tis_string(person)\\n\\t\\tnot person in excluded\\n\\t}\\n\\tnot vote.person in {vote.delegation.delegator, vote.delegation.recorded_by}\\n}\\n\\n_uses_break_glass(vote, allowed) if {\\n\\tvote.verdict == \\"approve\\"\\n\\tvote.break_glass.ticket != \\"\\"\\n\\tvote.break_glass.nth <= allowed.at_most\\n\\ttime.parse_rfc3339_ns(vote.at) < _expiry\\n\\tnot \\"delegation\\" in object.keys(vote)\\n\\tis_string(vote.person)\\n\\tnot vote.person in excluded\\n\\t_signed_as_asked(vote)\\n\\tsome group in vote.groups\\n\\tgroup in allowed.groups\\n}\\n\\n_signed_as_asked(_) if not \\"sign_with\\" in object.keys(requirement)\\n\\n_signed_as_asked(vote) if vote.signed_with == requirement.sign_with\\n\\n_used_up(place) if {\\n\\t\\"delegation\\" in object.keys(input.votes[place])\\n\\tsome other, vote in input.votes\\n\\tother != place\\n\\tcount(_people_of(vote) & _people_of(input.votes[place])) > 0\\n}\\n\\n_people_of(vote) := {vote.person, object.get(vote, [\\"delegation\\", \\"delegator\\"], vote.person)}\\n", "countersign/decision.rego": "# METADATA\\n# title: Decision on one effect\\n# description: >-\\n#   The entrypoints: for one effect, and for a list. An effect is allowed only when every module says so outright; whatever is undefined denies.\\n# schemas:\\n#   - input: schema.input\\npackage countersign.effect\\n\\nimport data.countersign.effect.approvals\\nimport data.countersign.effect.config\\nimport data.countersign.effect.connectors\\nimport data.countersign.effect.duties\\nimport data.countersign.effect.limits\\nimport data.countersign.effect.packs\\nimport data.countersign.effect.tiers\\nimport data.countersign.effect.windows\\n\\n# METADATA\\n# title: Decision\\n# description: The answer, with every member present; the default stands when anything in it is undefined.\\n# entrypoint: true\\ndefault decision := {\\n\\t\\"outcome\\": \\"deny\\",\\n\\t\\"tier\\": \\"high\\",\\n\\t\\"requirement\\": null,\\n\\t\\"reasons\\": [{\\"code\\": \\"policy.undefined\\", \\"msg\\": \\"The policy gives no answer for this effect\\"}],\\n\\t\\"obligations\\": [],\\n}\\n\\ndecision := {\\n\\t\\"outcome\\": \\"deny\\",\\n\\t\\"tier\\": tiers.effective,\\n\\t\\"requirement\\": null,\\n\\t\\"reasons\\": sort(denials),\\n\\t\\"obligations\\": [],\\n} if {\\n\\tcount(denials) > 0\\n}\\n\\ndecision := {\\n\\t\\"outcome\\": \\"needs_approval\\",\\n\\t\\"tier\\": tiers.effective,\\n\\t\\"requirement\\": approvals.requirement,\\n\\t\\"reasons\\": [approvals.demand.reason],\\n\\t\\"obligations\\": [],\\n} if {\\n\\tpermitted\\n\\tapprovals.pending\\n}\\n\\ndecision := object.union(windows.said, {\\n\\t\\"outcome\\": \\"allow\\",\\n\\t\\"tier\\": tiers.effective,\\n\\t\\"requirement\\": null,\\n\\t\\"reasons\\": approvals.grounds,\\n\\t\\"obligations\\": [],\\n}) if {\\n\\tpermitted\\n\\tapprovals.granted\\n}\\n\\n# METADATA\\n# title: Decisions\\n# description: The answers to a list of questions, each under its place in the list, so that none is taken for another's.\\n# entrypoint: true\\n# schemas:\\n#   - input: schema.questions\\ndecisions[place] := answer if {\\n\\tsome place, question in input\\n\\tanswer := decision with input as question\\n}\\n\\n# METADATA\\n# title: Denials\\n# description: The reasons of every module that denies.\\ndenials := union({\\n\\tapprovals.deny,\\n\\tconfig.deny,\\n\\tconnectors.deny,\\n\\tduties.deny,\\n\\tlimits.deny,\\n\\tpacks.denied,\\n\\tpacks.deny,\\n\\ttiers.deny,\\n})\\n\\n# METADATA\\n# title: Permitted\\n# description: >-\\n#   Every module vouches for the effect. Asked for beside the absence of denials, since a denial whose body fails is\\n#   undefined and would not be missed.\\npermitted if {\\n\\tcount(denials) == 0\\n\\tconfig.valid\\n\\tconnectors.permitted\\n\\tduties.permitted\\n\\tlimits.permitted\\n\\tpacks.permitted\\n\\ttiers.permitted\\n}\\n", "countersign_config/data.json": "{\\"acme\\":{\\"connectors\\":{\\"access\\":{\\"chat\\":false,\\"operations\\":{\\"grant\\":{\\"targets\\":[\\"system:*\\"],\\"tier\\":\\"medium\\"},\\"revoke\\":{\\"targets\\":[\\"system:*\\"],\\"tier\\":\\"low\\"}}},\\"bloomberg\\":{\\"chat\\":false,\\"operations\\":{\\"query_subsidiaries\\":{\\"targets\\":[\\"company:*\\"],\\"tier\\":\\"low\\"}}},\\"crud\\":{\\"chat\\":false,\\"operations\\":{\\"execute\\":{\\"targets\\":[\\"kyc_case:*\\"],\\"tier\\":\\"low\\"}}},\\"definition\\":{\\"chat\\":false,\\"operations\\":{\\"activate\\":{\\"targets\\":[\\"definition:*\\"],\\"tier\\":\\"high\\"},\\"retire\\":{\\"targets\\":[\\"definition:*\\"],\\"tier\\":\\"medium\\"}}},\\"portal\\":{\\"chat\\":false,\\"operations\\":{\\"request_documents\\":{\\"targets\\":[\\"portal:*\\"],\\"tier\\":\\"low\\"},\\"request_information\\":{\\"targets\\":[\\"portal:*\\"],\\"tier\\":\\"low\\"},\\"withdraw_request\\":{\\"targets\\":[\\"portal:*\\"],\\"tier\\":\\"low\\"},\\"withdraw_requests\\":{\\"targets\\":[\\"portal:*\\"],\\"tier\\":\\"low\\"}}},\\"register\\":{\\"chat\\":false,\\"operations\\":{\\"file_report\\":{\\"targets\\":[\\"register:*\\"],\\"tier\\":\\"high\\"}}},\\"run\\":{\\"chat\\":false,\\"operations\\":{\\"continue_with\\":{\\"targets\\":[\\"runbook:*\\"],\\"tier\\":\\"low\\"},\\"start\\":{\\"targets\\":[\\"runbook:*\\"],\\"tier\\":\\"low\\"}}},\\"servicenow\\":{\\"chat\\":false,\\"operations\\":{\\"add_labels\\":{\\"targets\\":[\\"incident:*\\"],\\"tier\\":\\"medium\\"},\\"add_work_note\\":{\\"targets\\":[\\"incident:*\\"],\\"tier\\":\\"low\\"},\\"assign\\":{\\"targets\\":[\\"incident:*\\"],\\"tier\\":\\"medium\\"},\\"remove_labels\\":{\\"targets\\":[\\"incident:*\\"],\\"tier\\":\\"medium\\"},\\"restore_assignment\\":{\\"targets\\":[\\"incident:*\\"],\\"tier\\":\\"medium\\"}}},\\"slack\\":{\\"chat\\":true,\\"operations\\":{\\"direct_message\\":{\\"targets\\":[\\"U*\\",\\"W*\\"],\\"tier\\":\\"low\\"},\\"post_card\\":{\\"targets\\":[\\"C*\\",\\"D*\\",\\"G*\\",\\"U*\\",\\"W*\\"],\\"tier\\":\\"low\\"},\\"post_message\\":{\\"targets\\":[\\"C*\\",\\"D*\\",\\"G*\\",\\"U*\\",\\"W*\\"],\\"tier\\":\\"low\\"},\\"post_task\\":{\\"targets\\":[\\"C*\\",\\"D*\\",\\"G*\\",\\"U*\\"],\\"tier\\":\\"low\\"},\\"update_card\\":{\\"targets\\":[\\"C*\\",\\"D*\\",\\"G*\\",\\"U*\\",\\"W*\\"],\\"tier\\":\\"low\\"},\\"update_message\\":{\\"targets\\":[\\"C*\\",\\"D*\\",\\"G*\\",\\"U*\\",\\"W*\\"],\\"tier\\":\\"low\\"}}},\\"webhook\\":{\\"chat\\":true,\\"operations\\":{\\"deliver\\":{\\"targets\\":[\\"https://*.hooks.example\\",\\"http://localhost:*\\",\\"https://localhost:*\\"],\\"tier\\":\\"low\\"}}}},\\"operators\\":[\\"operators\\"],\\"requirements\\":{\\"access_payments\\":{\\"all_groups\\":true,\\"escalate_to\\":[],\\"expires_in\\":\\"PT8H\\",\\"groups\\":[\\"payments-owners\\",\\"security\\"],\\"quorum\\":2},\\"access_vault\\":{\\"all_groups\\":false,\\"escalate_to\\":[],\\"expires_in\\":\\"PT8H\\",\\"groups\\":[\\"security\\",\\"operators\\"],\\"quorum\\":2,\\"sign_with\\":\\"passkey\\"},\\"high\\":{\\"all_groups\\":false,\\"escalate_to\\":[{\\"after\\":\\"PT6H\\",\\"to\\":[\\"senior-compliance\\"]}],\\"expires_in\\":\\"PT8H\\",\\"groups\\":[\\"compliance\\"],\\"quorum\\":2},\\"urgent_incident\\":{\\"all_groups\\":false,\\"break_glass\\":{\\"at_most\\":2,\\"groups\\":[\\"operators\\"],\\"review_by\\":[\\"senior-compliance\\",\\"security\\"],\\"review_within\\":\\"P3D\\",\\"tell\\":[\\"security\\"],\\"within\\":\\"P30D\\"},\\"escalate_to\\":[],\\"expires_in\\":\\"PT1H\\",\\"groups\\":[\\"incident-managers\\"],\\"quorum\\":1}},\\"writes_per_run\\":60}}"}	2026-01-05 09:00:00+00
\.


--
-- Data for Name: questions; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.questions (question_id, tenant, approval_id, person, person_name, question, asked_at, answer) FROM stdin;
\.


--
-- Data for Name: reads; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.reads (run_id, seq, step, attempt, outcome, document) FROM stdin;
\.


--
-- Data for Name: receipts; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.receipts (receipt_id, run_id, tenant, effect_id, seq, idempotency_key, fingerprint, outcome, document, response, at) FROM stdin;
rcp_088a826bbdfff96d403c4b86	run_088a82fadf9969b4f3dde22d	acme	eff_088a8215d02e41a09489d9ee	12	slack:card:apr_088a82c46bac0a61062b71f6	f20fb0c3aca76660ae2eb1ed0161107f6ecb650a0eebd98aac1a4c08d09463f0	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a8293c5f4ed6bf3490dd4","effect_id":"eff_088a8215d02e41a09489d9ee","error":null,"fingerprint":"f20fb0c3aca76660ae2eb1ed0161107f6ecb650a0eebd98aac1a4c08d09463f0","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:card:apr_088a82c46bac0a61062b71f6","operation":"post_card","outcome":"success","receipt_id":"rcp_088a826bbdfff96d403c4b86","redacted":[],"request":{"approval_id":"apr_088a82c46bac0a61062b71f6","channel":"C0COMPLIANCE","is_copy":false},"response":{"channel":"C0COMPLIANCE","ts":"1.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"C0COMPLIANCE","ts":"1.0"}	2026-01-05 09:00:00+00
rcp_088a829fd8f71c03b9ff5600	run_088a82fadf9969b4f3dde22d	acme	eff_088a820da57a4aa3fc863141	27	slack:say:run_088a82fadf9969b4f3dde22d:vote:ntf_088a821db4943bbabef7cd20	c8e549c7f305a25be4b841647c850c04a8bd1a1d32a7ace0306f0f6f7fec3ae3	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a8280bda60a7ecc88651d","effect_id":"eff_088a820da57a4aa3fc863141","error":null,"fingerprint":"c8e549c7f305a25be4b841647c850c04a8bd1a1d32a7ace0306f0f6f7fec3ae3","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:say:run_088a82fadf9969b4f3dde22d:vote:ntf_088a821db4943bbabef7cd20","operation":"post_message","outcome":"success","receipt_id":"rcp_088a829fd8f71c03b9ff5600","redacted":[],"request":{"card_of":null,"channel":"C0COMPLIANCE","said":{"ask":"effect","count":1,"kind":"vote_counted","missing":[],"person":"Ann","quorum":2,"reason":"seen and checked","verdict":"approve"},"thread_of":"apr_088a82c46bac0a61062b71f6"},"response":{"channel":"C0COMPLIANCE","ts":"2.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"C0COMPLIANCE","ts":"2.0"}	2026-01-05 09:00:00+00
rcp_088a82cf0d1c972772e180a2	run_088a82fadf9969b4f3dde22d	acme	eff_088a82f2383254d8a7ca6c3a	28	file:run_088a82fadf9969b4f3dde22d	70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78	success	{"approval_id":"apr_088a82c46bac0a61062b71f6","attempt":2,"connector":"register","decision_id":"dec_088a82e780599c4e2539643e","effect_id":"eff_088a82f2383254d8a7ca6c3a","error":null,"fingerprint":"70b4985169620878eedac78105063a69b45f7c002082d1a558a1117ea6faac78","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"file:run_088a82fadf9969b4f3dde22d","operation":"file_report","outcome":"success","receipt_id":"rcp_088a82cf0d1c972772e180a2","redacted":[],"request":{"company":"ACME","text":"report"},"response":{"ok":true},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"file","target":"register:ACME","tenant":"acme"}	{"ok":true}	2026-01-05 09:00:00+00
rcp_088a82b6999fffc01199942b	run_088a82fadf9969b4f3dde22d	acme	eff_088a824816ee4ff50c414cce	34	slack:say:run_088a82fadf9969b4f3dde22d:vote:ntf_088a82ef40a08a97a72ef6a1	000a860a167e8ea5d8ed96300ace9eb6b0e2d2d2c8e1b5bc48374f8ad89b9186	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a82a9c96a3c66c3c8c2cc","effect_id":"eff_088a824816ee4ff50c414cce","error":null,"fingerprint":"000a860a167e8ea5d8ed96300ace9eb6b0e2d2d2c8e1b5bc48374f8ad89b9186","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:say:run_088a82fadf9969b4f3dde22d:vote:ntf_088a82ef40a08a97a72ef6a1","operation":"post_message","outcome":"success","receipt_id":"rcp_088a82b6999fffc01199942b","redacted":[],"request":{"card_of":null,"channel":"C0COMPLIANCE","said":{"ask":"effect","count":2,"kind":"vote_counted","missing":[],"person":"Ben","quorum":2,"reason":"seen and checked","verdict":"approve"},"thread_of":"apr_088a82c46bac0a61062b71f6"},"response":{"channel":"C0COMPLIANCE","ts":"4.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"C0COMPLIANCE","ts":"4.0"}	2026-01-05 09:00:00+00
rcp_088a82b75985307dfe2ca32c	run_088a82fadf9969b4f3dde22d	acme	eff_088a822896ebf921e9022ea2	35	slack:card:apr_088a82c46bac0a61062b71f6:2	e3445215641b8a999c1f7baa43cf7019c81c09ea60ea86e44c3a87a4d664618c	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a82a7ad0f14596b33115d","effect_id":"eff_088a822896ebf921e9022ea2","error":null,"fingerprint":"e3445215641b8a999c1f7baa43cf7019c81c09ea60ea86e44c3a87a4d664618c","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:card:apr_088a82c46bac0a61062b71f6:2","operation":"update_card","outcome":"success","receipt_id":"rcp_088a82b75985307dfe2ca32c","redacted":[],"request":{"approval_id":"apr_088a82c46bac0a61062b71f6","copy_at":null,"revision":2},"response":{"channel":"D1","ts":"5.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"D1","ts":"5.0"}	2026-01-05 09:00:00+00
rcp_088a8287f3b8f95fbf98943f	run_088a82fadf9969b4f3dde22d	acme	eff_088a826903904bd2e74ce943	36	slack:card:apr_088a82c46bac0a61062b71f6:3	987242dd372223f76ab0047c99d7790749ef497ce2ee4f4b3ce660728f973e8c	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a82dab805c33452a9de40","effect_id":"eff_088a826903904bd2e74ce943","error":null,"fingerprint":"987242dd372223f76ab0047c99d7790749ef497ce2ee4f4b3ce660728f973e8c","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:card:apr_088a82c46bac0a61062b71f6:3","operation":"update_card","outcome":"success","receipt_id":"rcp_088a8287f3b8f95fbf98943f","redacted":[],"request":{"approval_id":"apr_088a82c46bac0a61062b71f6","copy_at":null,"revision":3},"response":{"channel":"D1","ts":"3.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"D1","ts":"3.0"}	2026-01-05 09:00:00+00
rcp_088a8273f2526419e3d4e755	run_088a82fadf9969b4f3dde22d	acme	eff_088a8212414aba0f8a07b09f	41	slack:dm:run_088a82fadf9969b4f3dde22d:run:URITA	22d8ba41090ba0b845809da0b7651a8fed1f6f8c4ed49e507a3556b900f67d89	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a82ff18e12a0ab8d14565","effect_id":"eff_088a8212414aba0f8a07b09f","error":null,"fingerprint":"22d8ba41090ba0b845809da0b7651a8fed1f6f8c4ed49e507a3556b900f67d89","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:dm:run_088a82fadf9969b4f3dde22d:run:URITA","operation":"direct_message","outcome":"success","receipt_id":"rcp_088a8273f2526419e3d4e755","redacted":[],"request":{"card_of":null,"said":{"failed":[],"handled":[],"kind":"run_ended","outcome":"","rejected":[],"response":"","run":{"reference":"ended","title":"One filing"},"skipped":[],"status":"succeeded"},"user":"URITA"},"response":{"channel":"D1","ts":"6.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"URITA","tenant":"acme"}	{"channel":"D1","ts":"6.0"}	2026-01-05 09:00:00+00
rcp_088a82f0baa8a047c6dee8d5	run_088a82fadf9969b4f3dde22d	acme	eff_088a82f4d98561440d9c2d83	42	slack:dm:run_088a82fadf9969b4f3dde22d:approval:apr_088a82c46bac0a61062b71f6:URITA	979af4d4ca7a4d01a16dea16a3e79f806256d2bd6ce7c5c693daac44b3f434d6	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a822bb093d14e405458ee","effect_id":"eff_088a82f4d98561440d9c2d83","error":null,"fingerprint":"979af4d4ca7a4d01a16dea16a3e79f806256d2bd6ce7c5c693daac44b3f434d6","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:dm:run_088a82fadf9969b4f3dde22d:approval:apr_088a82c46bac0a61062b71f6:URITA","operation":"direct_message","outcome":"success","receipt_id":"rcp_088a82f0baa8a047c6dee8d5","redacted":[],"request":{"card_of":"apr_088a82c46bac0a61062b71f6","said":{"changes":false,"kind":"approval_ended","run":{"reference":"ended","title":"One filing"},"status":"approved","step":"file","votes":[{"name":"Ann","why":"seen and checked"},{"name":"Ben","why":"seen and checked"}]},"user":"URITA"},"response":{"channel":"D1","ts":"7.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"URITA","tenant":"acme"}	{"channel":"D1","ts":"7.0"}	2026-01-05 09:00:00+00
rcp_088a82c075b551ed2a7ee075	run_088a82fadf9969b4f3dde22d	acme	eff_088a82d8a6a41c6b7ecf10fd	43	slack:say:run_088a82fadf9969b4f3dde22d:result:apr_088a82c46bac0a61062b71f6	beb65c4861aaf96f78991ba7bf9cc2e9860d984c7099a73e086bb8f143dd0bb5	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a8229223d3ffab1506980","effect_id":"eff_088a82d8a6a41c6b7ecf10fd","error":null,"fingerprint":"beb65c4861aaf96f78991ba7bf9cc2e9860d984c7099a73e086bb8f143dd0bb5","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:say:run_088a82fadf9969b4f3dde22d:result:apr_088a82c46bac0a61062b71f6","operation":"post_message","outcome":"success","receipt_id":"rcp_088a82c075b551ed2a7ee075","redacted":[],"request":{"card_of":null,"channel":"C0COMPLIANCE","said":{"about":[],"code":"performed","kind":"effect_ended"},"thread_of":"apr_088a82c46bac0a61062b71f6"},"response":{"channel":"C0COMPLIANCE","ts":"8.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"C0COMPLIANCE","ts":"8.0"}	2026-01-05 09:00:00+00
rcp_088a826f09d0a102c56a8336	run_088a82fadf9969b4f3dde22d	acme	eff_088a82f49a4d94fa66acbcaa	44	slack:card:apr_088a82c46bac0a61062b71f6:4	437dc6fcc81a68f3f1a54ca944309dbcd5afcb640246c8a1ac19b45cfc0e4e2e	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a82b1d7965a95261f77c5","effect_id":"eff_088a82f49a4d94fa66acbcaa","error":null,"fingerprint":"437dc6fcc81a68f3f1a54ca944309dbcd5afcb640246c8a1ac19b45cfc0e4e2e","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:card:apr_088a82c46bac0a61062b71f6:4","operation":"update_card","outcome":"success","receipt_id":"rcp_088a826f09d0a102c56a8336","redacted":[],"request":{"approval_id":"apr_088a82c46bac0a61062b71f6","copy_at":null,"revision":4},"response":{"channel":"D1","ts":"9.0"},"reversible_by":null,"run_id":"run_088a82fadf9969b4f3dde22d","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"D1","ts":"9.0"}	2026-01-05 09:00:00+00
rcp_088a8355a33a7f5fb567f474	run_088a83d07e268da9f5102ce5	acme	eff_088a839f73f6d1ab6567af63	12	slack:card:apr_088a83a15fc3f85750643feb	64d4e3c760f70152658f370f4ddbe3de6483c179ffcf43c488878de4e9b4b85a	success	{"approval_id":null,"attempt":1,"connector":"slack","decision_id":"dec_088a831abc34ade11c53e565","effect_id":"eff_088a839f73f6d1ab6567af63","error":null,"fingerprint":"64d4e3c760f70152658f370f4ddbe3de6483c179ffcf43c488878de4e9b4b85a","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"slack:card:apr_088a83a15fc3f85750643feb","operation":"post_card","outcome":"success","receipt_id":"rcp_088a8355a33a7f5fb567f474","redacted":[],"request":{"approval_id":"apr_088a83a15fc3f85750643feb","channel":"C0COMPLIANCE","is_copy":false},"response":{"channel":"C0COMPLIANCE","ts":"10.0"},"reversible_by":null,"run_id":"run_088a83d07e268da9f5102ce5","started_at":"2026-01-05T09:00:00.000000Z","step":"","target":"C0COMPLIANCE","tenant":"acme"}	{"channel":"C0COMPLIANCE","ts":"10.0"}	2026-01-05 09:00:00+00
rcp_088a833324df22f844f64877	run_088a835a184a171c047c51c3	acme	eff_088a83a553b852a6f637b798	7	ask:run_088a835a184a171c047c51c3:ask	df20b969fe66a5f00f0865ec7070e8755f9dde8e5ab476bf4a4436bb021cf320	success	{"approval_id":null,"attempt":1,"connector":"portal","decision_id":"dec_088a83dd4ec1446dab53730a","effect_id":"eff_088a83a553b852a6f637b798","error":null,"fingerprint":"df20b969fe66a5f00f0865ec7070e8755f9dde8e5ab476bf4a4436bb021cf320","finished_at":"2026-01-05T09:00:00.000000Z","idempotency_key":"ask:run_088a835a184a171c047c51c3:ask","operation":"request_documents","outcome":"success","receipt_id":"rcp_088a833324df22f844f64877","redacted":[],"request":{"case":"C1"},"response":{"ok":true},"reversible_by":"Withdraw the request.","run_id":"run_088a835a184a171c047c51c3","started_at":"2026-01-05T09:00:00.000000Z","step":"ask","target":"portal:C1","tenant":"acme"}	{"ok":true}	2026-01-05 09:00:00+00
\.


--
-- Data for Name: refusals; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.refusals (approval_id, who, code, times) FROM stdin;
\.


--
-- Data for Name: runbook_versions; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.runbook_versions (tenant, name, version, trigger_type, trigger_when, status, changed_by, run_id, arrived_at, changed_at) FROM stdin;
acme	bench-branches	1	bench.branches	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-chain	1	bench.chain	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-fan	1	bench.fan	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-file	1	bench.file	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-file-for-good	1	bench.file_for_good	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-file-to-group	1	bench.file_to_group	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-kept	1	bench.kept	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-note	1	bench.note	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-review	1	bench.review	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-signal	1	bench.signal	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-timer	1	bench.timer	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-wait	1	bench.wait	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
acme	bench-word	1	bench.word	\N	active	countersign	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00
\.


--
-- Data for Name: runs; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.runs (run_id, tenant, trigger_type, trigger_ref, trigger, definition_name, definition_version, status, version, requested_by, requester_kind, submitted_by, requester_accounts, request_id, salt, writes, audit_seq, audit_hash, error, sealed, created_at, updated_at, finished_at, trigger_digest, forgotten, hides, state, reference, outcome, output, parent, about) FROM stdin;
run_088a835a184a171c047c51c3	acme	bench.wait	parked	{"case": "C1"}	bench-wait	1	waiting	4	rita	person	portal-bot	[["T0ACME", "URITA"]]	req-1	f611f8d8290fc9d5cf2dc2b863c053a6	1	9	30506c908ca3dee1fb8b7ae41848af30a026d2d36ff83f1301c77b4606b0c56a		f	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	\N	7ff8df97f6a6199c0fd33f5544d7fae7	f	t	\N			\N	\N	
run_088a83d07e268da9f5102ce5	acme	bench.file	signed once	{"company": "ACME", "text": "report"}	bench-file	1	waiting_approval	6	rita	person	portal-bot	[["T0ACME", "URITA"]]	req-1	f611f8d8290fc9d5cf2dc2b863c053a6	0	15	305760e6ca985e2579115ee9a32ce22fe6ea5ad904ce588004ea5dd8bdd6de83		f	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	\N	c56940f5f4f217f0db9160c18ff7dc35	f	f	\N			\N	\N	
run_088a82fadf9969b4f3dde22d	acme	bench.file	ended	{"company": "ACME", "text": "report"}	bench-file	1	succeeded	18	rita	person	portal-bot	[["T0ACME", "URITA"]]	req-1	f611f8d8290fc9d5cf2dc2b863c053a6	1	46	ef5e9ade38719915c38b21102c16f6d028070548afba7223141292f2942a74e6		t	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	c56940f5f4f217f0db9160c18ff7dc35	f	f	\N			\N	\N	
\.


--
-- Data for Name: signing_keys; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.signing_keys (tenant, number, key_id, entry) FROM stdin;
acme	1	1aa28cc468c6794b4a481fc415c478006281a0ce56ad59883dd01bf69cc19a63	{"id": "1aa28cc468c6794b4a481fc415c478006281a0ce56ad59883dd01bf69cc19a63", "public_key": "MCowBQYDK2VwAyEAZP94HC2KeNMo8Ll/+ydpgqhedULCDbyi3q4AUwuUIGs=", "from": "2026-01-05T09:00:00.000000Z", "until": null, "revoked": null, "signed_by": null, "signature": null}
\.


--
-- Data for Name: slack_absentees; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.slack_absentees (tenant, team, account, since) FROM stdin;
\.


--
-- Data for Name: slack_accounts; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.slack_accounts (tenant, team, account, actor_id, linked) FROM stdin;
acme	T0ACME	URITA	rita	f
acme	T0ACME	UANN	ann	f
acme	T0ACME	UBEN	ben	f
acme	T0ACME	UCAT	cat	f
acme	T0ACME	USUE	sue	f
acme	T0ACME	UOMAR	omar	f
acme	T0ACME	UIVY	ivy	f
acme	T0ACME	UOLGA	olga	f
acme	T0ACME	USAM	sam	f
acme	T0ACME	UPAM	pam	f
\.


--
-- Data for Name: slack_installations; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.slack_installations (installation_id, tenant, team, enterprise, name, app_id, bot_user, bot_id, scopes, link_id, installed_by, installed_at, removed_at, removed_why) FROM stdin;
\.


--
-- Data for Name: slack_links; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.slack_links (link_id, tenant, secret_sha256, made_by, reason, policy, made_at, expires_at, used_at) FROM stdin;
\.


--
-- Data for Name: slack_states; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.slack_states (state_sha256, link_id, expires_at) FROM stdin;
\.


--
-- Data for Name: slack_tokens; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.slack_tokens (installation_id, key_id, token, expires_at, refreshing_until) FROM stdin;
\.


--
-- Data for Name: steps; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.steps (run_id, path, "position", verb, status, params, result, error, is_read, attempt, lease_owner, lease_expires_at, next_try_at, started_at, finished_at, handler, was_blocked, waited, kept, error_code, version) FROM stdin;
run_088a82fadf9969b4f3dde22d	file	0	file	succeeded	\N	{"ok":true}		f	0	\N	\N	\N	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	register::file_report	f	0	\N		0
run_088a835a184a171c047c51c3	note	1	note	pending	\N	\N		f	0	\N	\N	\N	\N	\N	servicenow::add_work_note	f	0	\N		0
run_088a83d07e268da9f5102ce5	file	0	file	waiting_approval	\N	\N		f	0	\N	\N	\N	2026-01-05 09:00:00+00	\N	register::file_report	f	0	\N		0
run_088a835a184a171c047c51c3	ask	0	await_answer	parked	\N	\N		f	0	\N	\N	\N	2026-01-05 09:00:00+00	\N	portal::request_documents	f	0	\N		0
\.


--
-- Data for Name: tenant_leaves; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.tenant_leaves (tenant, seq, hash, leaf, once) FROM stdin;
acme	1	\\xc1e7fe98cc9dfde37f5c7d010a4df009313e93ff36670d1f48395999e74edf96	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"bd4ba365187ae9fb7972a9e317af263403d51b133b43ceacc7ee35e213f028fc","name":"countersign-activate","version":1},"event":"definition.stored"}	definition countersign-activate version 1
acme	2	\\x7970afefb0c5ac07b029adc0a19a636a1791b2f8954552a53d67799b36eac69b	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"9095156227ae07b79aef209fa911938fd9a9b21a2f95e259f8d7048072466463","name":"countersign-retire","version":1},"event":"definition.stored"}	definition countersign-retire version 1
acme	3	\\xe1c7567077df37dddaa163a7a44a353bb4f84b38bcfbe0d339f88c9b1a065bbe	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"a9a219208d1e90c8dbde751fcb636852d37c826539da62e7feae67092494b999","name":"bench-branches","version":1},"event":"definition.stored"}	definition bench-branches version 1
acme	4	\\xdf928b5228742f0a5f29c93ef99134cc062a3f00905fca1ad18bf819c6fe9e43	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"a6aca30c3c9f74dedcffe01a5c54830897001ec3da873a7709f20e758708abd0","name":"bench-chain","version":1},"event":"definition.stored"}	definition bench-chain version 1
acme	5	\\x8848d36405d40cfc5873e9a85fdc270a8d824f61bbb7ad25a198d5d6ffb110ae	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"0afca2dc4ed92fb9020a397a27ab6748a5b00d1b04b115055a85caa95225ff69","name":"bench-fan","version":1},"event":"definition.stored"}	definition bench-fan version 1
acme	6	\\x6e30d544cccdd48b4d14b81353b73004a9f9e3858cbdb2431c3568b3d4172cea	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"386918408af06be8e9246bd28c06ebd18e38f7130d4bba7d2ed20a02db56d42b","name":"bench-file","version":1},"event":"definition.stored"}	definition bench-file version 1
acme	7	\\xfbf1a6517352767414fe5c4a8bfecb74ee93a5a6d15f2de852afe6c241b9b78b	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"e263147af9e8f41e7007bb15ccf16ed08cfbac25a34817554c54709a48f24875","name":"bench-file-for-good","version":1},"event":"definition.stored"}	definition bench-file-for-good version 1
acme	8	\\xd17294977d8657458d682a89df37eec761555775d138fc6a10b999124942fd6f	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"1ee1d8a02bb6b098397f6f9777b7b6d1a9deb44b01b77133e2ee8e2d3e327e13","name":"bench-file-to-group","version":1},"event":"definition.stored"}	definition bench-file-to-group version 1
acme	9	\\x2da1b6923c2427085f4cb11876af910282284caeb6d39ff552f7564adec329ba	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"5dd8ba6c3787cd74509825edf31fed1df07420f04fb5fd732d70a69987037c24","name":"bench-kept","version":1},"event":"definition.stored"}	definition bench-kept version 1
acme	10	\\x02366e8bf6d058f3878fc35b7545be740596b920235622ad9603bb0107874303	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"9c480314411f309ef5a584c01bec1bc9f57d3639c912950a1aaf1f3633c23b2a","name":"bench-note","version":1},"event":"definition.stored"}	definition bench-note version 1
acme	11	\\x430d04ec5025a8464ede54bb6891c90673c0431d66a5babe7fd36bee548de9a6	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"5d0a9f54efe6131b32d3899520592ab7eeff02a8dad6a517d791cb902bc2ac07","name":"bench-review","version":1},"event":"definition.stored"}	definition bench-review version 1
acme	12	\\x9a581fa6d16372fe12601e5f8b8b2fbca2a6df9c68aeffc7bbca36b420b42c6c	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"7d5bc0e6b746c194d239c28b6753a87f7c6ee6c469b7529913efb97e2c4c8fd2","name":"bench-signal","version":1},"event":"definition.stored"}	definition bench-signal version 1
acme	13	\\xcd1373a6662ce27ca5aad23fd26cf24e9d72aa663f7761c9e59e4a81ed3f8416	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"05853c28cc23878882032217a1e926ceee543938eb2c54eea15805e08ca3d217","name":"bench-timer","version":1},"event":"definition.stored"}	definition bench-timer version 1
acme	14	\\xe9c1d5e2550bf24a1a76cbd1c816be6f698d177725b2b60b756a5421521a5247	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"666ce51be56c642aa20dc1a301f4cc43f82b66691a38a134ee1d4524ce713d36","name":"bench-wait","version":1},"event":"definition.stored"}	definition bench-wait version 1
acme	15	\\x2043f351068a107c0eb2a5196d65f7649e0d39d0b090520174fec94de7ea69c3	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"6ce2a2c765332b96f4d87713f98ea9dba921c0ade77f2cd6d24d516c772b89f6","name":"bench-word","version":1},"event":"definition.stored"}	definition bench-word version 1
acme	16	\\x4978fd4e6e77084df825d7c4eef3c777197e6f2b030275575869ca44a9bf41bb	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"a9a219208d1e90c8dbde751fcb636852d37c826539da62e7feae67092494b999","name":"bench-branches","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	17	\\x0142e6598a0a5b468d019a2ebf2f73157d05295b4363b7e5c33d1edee9d2aaff	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"a6aca30c3c9f74dedcffe01a5c54830897001ec3da873a7709f20e758708abd0","name":"bench-chain","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	18	\\xf073d87cfa719d6f3f51d19947a0ecaffa954a9cb616109a6d4e34bed2b2d3e1	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"0afca2dc4ed92fb9020a397a27ab6748a5b00d1b04b115055a85caa95225ff69","name":"bench-fan","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	19	\\xf73f0b77572c160df01f8e65973657a3b35055eeda3e726cf6bb695008a258cd	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"386918408af06be8e9246bd28c06ebd18e38f7130d4bba7d2ed20a02db56d42b","name":"bench-file","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	20	\\x7c528f7a39ac80ae370f3f4e9aaf815db0c08d1244f12a9debb5e800243b465f	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"e263147af9e8f41e7007bb15ccf16ed08cfbac25a34817554c54709a48f24875","name":"bench-file-for-good","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	21	\\x88c030ba814a55cd8024ae788dfe4f03f881e641ce78599500565e0eea0a59c3	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"1ee1d8a02bb6b098397f6f9777b7b6d1a9deb44b01b77133e2ee8e2d3e327e13","name":"bench-file-to-group","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	22	\\x98a499b9b21e34491ed64b75e4819255dd3f4514994d15dceba772ca8b518ba5	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"5dd8ba6c3787cd74509825edf31fed1df07420f04fb5fd732d70a69987037c24","name":"bench-kept","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	23	\\x7f48c161d89cd6074cbaf066d87ddd406231a6f2b68ba5a20b2cf5c1c6e31077	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"9c480314411f309ef5a584c01bec1bc9f57d3639c912950a1aaf1f3633c23b2a","name":"bench-note","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	24	\\xec0c8bc4c013e411b82e3f0906c2d90ecc073c706f711f3d3c05c3f697dd4026	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"5d0a9f54efe6131b32d3899520592ab7eeff02a8dad6a517d791cb902bc2ac07","name":"bench-review","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	25	\\x6f3b5146e56308f463ff70eec9e60f09b6fc36690b08a44c7d0d3443dc09dd94	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"7d5bc0e6b746c194d239c28b6753a87f7c6ee6c469b7529913efb97e2c4c8fd2","name":"bench-signal","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	26	\\x5a990368a53778e23a4c0d2762f12d685870068be0e42d4b1636379149bb6028	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"05853c28cc23878882032217a1e926ceee543938eb2c54eea15805e08ca3d217","name":"bench-timer","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	27	\\x42bde72193226160282a95aa6cd36df4e3ef7083d7e5586bd7c06a59195d49e1	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"666ce51be56c642aa20dc1a301f4cc43f82b66691a38a134ee1d4524ce713d36","name":"bench-wait","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	28	\\xf2b50c19906fbd0553070ee7adf919aa4ab4264423fc2e890e69482093f61122	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"6ce2a2c765332b96f4d87713f98ea9dba921c0ade77f2cd6d24d516c772b89f6","name":"bench-word","run_id":null,"version":1},"event":"definition.activated"}	\N
acme	29	\\x118eda6eb79b055b6b4dbbd2383dfd491788cea7dc139c0da1ecd7b5fc60d7f5	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"bebebebebebebebebebebebebebebebebebebebebebebebebebebebebebebebe","rows":"d2f8c2996f3c4293ea5f4d659406be2a9c6c2c86e2f7a31b46a23b828186fade","version":0},"event":"directory.loaded"}	\N
acme	30	\\x48a6b02b7fafa7977b9bae6a74263a794b5b97b86dd67dccc79fc8ce8b1676a8	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab"},"event":"policy.seen"}	policy 0ba5010d532b1cabb0363766964cdff6506ae83309d8fd9b44a80a3a4adfc5ab
acme	31	\\x82bbcf7605b7c9c54d32c3014ccee389edad9f63d17b5df89db6cbcbd5bd01c6	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"digest":"e06fa1f14582f294a0e35da8444390011c4f62787c382c56420ed0c36ba2d8ad","key_id":"1aa28cc468c6794b4a481fc415c478006281a0ce56ad59883dd01bf69cc19a63"},"event":"key.registered"}	key 1aa28cc468c6794b4a481fc415c478006281a0ce56ad59883dd01bf69cc19a63
acme	32	\\x5f036808fef58366dea5d931517208b014a79128a67cfe60fac3a67d866877f9	{"actor":{"id":"countersign","kind":"system"},"at":"2026-01-05T09:00:00.000000Z","correlation":{"approval_id":null,"effect_id":null,"request_id":null,"run_id":null,"step":null},"data":{"key":"countersign/acme+9e0fa655+AYQKlvv4tG6Iadjl4rGVSR1ZNlf5WrUKrAbFEz+P8veS"},"event":"log_key.seen"}	log key countersign/acme+9e0fa655+AYQKlvv4tG6Iadjl4rGVSR1ZNlf5WrUKrAbFEz+P8veS
\.


--
-- Data for Name: tenants; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.tenants (tenant, salt, audit_seq, mocked, audit_hash) FROM stdin;
acme	f611f8d8290fc9d5cf2dc2b863c053a6	32	f	5f036808fef58366dea5d931517208b014a79128a67cfe60fac3a67d866877f9
\.


--
-- Data for Name: votes; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.votes (approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at, via, brought_by, delegator, delegation, passkey, withdrawn_at, together, break_glass) FROM stdin;
apr_088a82c46bac0a61062b71f6	ann	Ann	["compliance"]	approve	seen and checked	T0ACME	UANN	ntf_088a821db4943bbabef7cd20	2026-01-05 09:00:00+00	slack		\N	\N	\N	\N	\N	\N
apr_088a82c46bac0a61062b71f6	ben	Ben	["compliance"]	approve	seen and checked	T0ACME	UBEN	ntf_088a82ef40a08a97a72ef6a1	2026-01-05 09:00:00+00	slack		\N	\N	\N	\N	\N	\N
apr_088a83a15fc3f85750643feb	ann	Ann	["compliance"]	approve	seen and checked	T0ACME	UANN	ntf_088a8358708b349e558dad5f	2026-01-05 09:00:00+00	slack		\N	\N	\N	\N	\N	\N
\.


--
-- Data for Name: waits; Type: TABLE DATA; Schema: public; Owner: countersign_owner
--

COPY public.waits (wait_id, run_id, step, type, correlation_key, token, deadline, escalate_at, status, approval_id, created_at, resolved_at, correlate, progress, moments, turn) FROM stdin;
wait_088a82d043dcc04450ed48cf	run_088a82fadf9969b4f3dde22d	file	approval	approval:apr_088a82c46bac0a61062b71f6	wait_088a82d043dcc04450ed48cf.tok_088a82ee587852130e5b4223	2026-01-05 17:00:00+00	2026-01-05 15:00:00+00	completed	apr_088a82c46bac0a61062b71f6	2026-01-05 09:00:00+00	2026-01-05 09:00:00+00	by_token	\N	[{"at": "2026-01-05T15:00:00.000000Z", "entry": 0, "to": ["senior-compliance"], "extend": null, "start": null}]	0
wait_088a8391c6caca5c3d226dd6	run_088a835a184a171c047c51c3	ask	external	acme:await_answer:C1	wait_088a8391c6caca5c3d226dd6.tok_088a83cac3baecb852165de8	2026-01-19 09:00:00+00	2026-01-15 09:00:00+00	active	\N	2026-01-05 09:00:00+00	\N	by_token	\N	[{"at": "2026-01-15T09:00:00.000000Z", "entry": 0, "to": ["compliance"], "extend": null, "start": null}]	0
wait_088a8396074fa2ef62ea9085	run_088a83d07e268da9f5102ce5	file	approval	approval:apr_088a83a15fc3f85750643feb	wait_088a8396074fa2ef62ea9085.tok_088a830ce4503f72f7f7c192	2026-01-05 17:00:00+00	2026-01-05 15:00:00+00	active	apr_088a83a15fc3f85750643feb	2026-01-05 09:00:00+00	\N	by_token	\N	[{"at": "2026-01-05T15:00:00.000000Z", "entry": 0, "to": ["senior-compliance"], "extend": null, "start": null}]	0
\.


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: actors pk_actors; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.actors
    ADD CONSTRAINT pk_actors PRIMARY KEY (tenant, actor_id);


--
-- Name: approvals pk_approvals; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT pk_approvals PRIMARY KEY (approval_id);


--
-- Name: audit_leaves pk_audit_leaves; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.audit_leaves
    ADD CONSTRAINT pk_audit_leaves PRIMARY KEY (run_id, seq);


--
-- Name: card_copies pk_card_copies; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.card_copies
    ADD CONSTRAINT pk_card_copies PRIMARY KEY (approval_id, place);


--
-- Name: circuit_breakers pk_circuit_breakers; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.circuit_breakers
    ADD CONSTRAINT pk_circuit_breakers PRIMARY KEY (tenant, connector, target);


--
-- Name: definitions pk_definitions; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.definitions
    ADD CONSTRAINT pk_definitions PRIMARY KEY (name, version);


--
-- Name: delegations pk_delegations; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.delegations
    ADD CONSTRAINT pk_delegations PRIMARY KEY (delegation_id);


--
-- Name: direct_messages pk_direct_messages; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.direct_messages
    ADD CONSTRAINT pk_direct_messages PRIMARY KEY (tenant, message);


--
-- Name: directories pk_directories; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.directories
    ADD CONSTRAINT pk_directories PRIMARY KEY (tenant);


--
-- Name: edits pk_edits; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.edits
    ADD CONSTRAINT pk_edits PRIMARY KEY (approval_id);


--
-- Name: effects pk_effects; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.effects
    ADD CONSTRAINT pk_effects PRIMARY KEY (effect_id);


--
-- Name: entities pk_entities; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.entities
    ADD CONSTRAINT pk_entities PRIMARY KEY (tenant, entity, entity_id);


--
-- Name: entity_changes pk_entity_changes; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.entity_changes
    ADD CONSTRAINT pk_entity_changes PRIMARY KEY (tenant, idempotency_key);


--
-- Name: evidence_bundles pk_evidence_bundles; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.evidence_bundles
    ADD CONSTRAINT pk_evidence_bundles PRIMARY KEY (run_id);


--
-- Name: evidence_held pk_evidence_held; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.evidence_held
    ADD CONSTRAINT pk_evidence_held PRIMARY KEY (run_id);


--
-- Name: evidence_holds pk_evidence_holds; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.evidence_holds
    ADD CONSTRAINT pk_evidence_holds PRIMARY KEY (hold_id);


--
-- Name: gatherings pk_gatherings; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.gatherings
    ADD CONSTRAINT pk_gatherings PRIMARY KEY (gathering_id);


--
-- Name: log_checkpoints pk_log_checkpoints; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_checkpoints
    ADD CONSTRAINT pk_log_checkpoints PRIMARY KEY (tenant, size);


--
-- Name: log_entries pk_log_entries; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_entries
    ADD CONSTRAINT pk_log_entries PRIMARY KEY (tenant, first_index);


--
-- Name: log_heads pk_log_heads; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_heads
    ADD CONSTRAINT pk_log_heads PRIMARY KEY (tenant);


--
-- Name: log_leases pk_log_leases; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_leases
    ADD CONSTRAINT pk_log_leases PRIMARY KEY (tenant);


--
-- Name: log_stamps pk_log_stamps; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_stamps
    ADD CONSTRAINT pk_log_stamps PRIMARY KEY (tenant, size);


--
-- Name: log_tiles pk_log_tiles; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_tiles
    ADD CONSTRAINT pk_log_tiles PRIMARY KEY (tenant, level, number);


--
-- Name: marks pk_marks; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.marks
    ADD CONSTRAINT pk_marks PRIMARY KEY (approval_id, mark, who);


--
-- Name: notifications pk_notifications; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT pk_notifications PRIMARY KEY (notification_id);


--
-- Name: passkey_links pk_passkey_links; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.passkey_links
    ADD CONSTRAINT pk_passkey_links PRIMARY KEY (link_id);


--
-- Name: passkeys pk_passkeys; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT pk_passkeys PRIMARY KEY (tenant, credential_id);


--
-- Name: policy_decisions pk_policy_decisions; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.policy_decisions
    ADD CONSTRAINT pk_policy_decisions PRIMARY KEY (run_id, seq);


--
-- Name: policy_texts pk_policy_texts; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.policy_texts
    ADD CONSTRAINT pk_policy_texts PRIMARY KEY (digest);


--
-- Name: questions pk_questions; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.questions
    ADD CONSTRAINT pk_questions PRIMARY KEY (question_id);


--
-- Name: reads pk_reads; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.reads
    ADD CONSTRAINT pk_reads PRIMARY KEY (run_id, seq);


--
-- Name: receipts pk_receipts; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT pk_receipts PRIMARY KEY (run_id, seq);


--
-- Name: refusals pk_refusals; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.refusals
    ADD CONSTRAINT pk_refusals PRIMARY KEY (approval_id, who, code);


--
-- Name: runbook_versions pk_runbook_versions; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runbook_versions
    ADD CONSTRAINT pk_runbook_versions PRIMARY KEY (tenant, name, version);


--
-- Name: runs pk_runs; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (run_id);


--
-- Name: signing_keys pk_signing_keys; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT pk_signing_keys PRIMARY KEY (tenant, number);


--
-- Name: slack_absentees pk_slack_absentees; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_absentees
    ADD CONSTRAINT pk_slack_absentees PRIMARY KEY (tenant, team, account);


--
-- Name: slack_accounts pk_slack_accounts; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_accounts
    ADD CONSTRAINT pk_slack_accounts PRIMARY KEY (team, account, tenant, actor_id);


--
-- Name: slack_installations pk_slack_installations; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_installations
    ADD CONSTRAINT pk_slack_installations PRIMARY KEY (installation_id);


--
-- Name: slack_links pk_slack_links; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_links
    ADD CONSTRAINT pk_slack_links PRIMARY KEY (link_id);


--
-- Name: slack_states pk_slack_states; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_states
    ADD CONSTRAINT pk_slack_states PRIMARY KEY (state_sha256);


--
-- Name: slack_tokens pk_slack_tokens; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_tokens
    ADD CONSTRAINT pk_slack_tokens PRIMARY KEY (installation_id);


--
-- Name: steps pk_steps; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.steps
    ADD CONSTRAINT pk_steps PRIMARY KEY (run_id, path);


--
-- Name: tenant_leaves pk_tenant_leaves; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.tenant_leaves
    ADD CONSTRAINT pk_tenant_leaves PRIMARY KEY (tenant, seq);


--
-- Name: tenants pk_tenants; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.tenants
    ADD CONSTRAINT pk_tenants PRIMARY KEY (tenant);


--
-- Name: votes pk_votes; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.votes
    ADD CONSTRAINT pk_votes PRIMARY KEY (notification_id);


--
-- Name: waits pk_waits; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.waits
    ADD CONSTRAINT pk_waits PRIMARY KEY (wait_id);


--
-- Name: effects uq_effects_run_id_dedupe_key; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.effects
    ADD CONSTRAINT uq_effects_run_id_dedupe_key UNIQUE (run_id, dedupe_key);


--
-- Name: entity_changes uq_entity_changes_tenant_entity_entity_id_version; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.entity_changes
    ADD CONSTRAINT uq_entity_changes_tenant_entity_entity_id_version UNIQUE (tenant, entity, entity_id, version);


--
-- Name: log_entries uq_log_entries_chain_first_seq; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_entries
    ADD CONSTRAINT uq_log_entries_chain_first_seq UNIQUE (chain, first_seq);


--
-- Name: notifications uq_notifications_dedupe_key; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT uq_notifications_dedupe_key UNIQUE (dedupe_key);


--
-- Name: reads uq_reads_run_id_step_attempt; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.reads
    ADD CONSTRAINT uq_reads_run_id_step_attempt UNIQUE (run_id, step, attempt);


--
-- Name: runs uq_runs_tenant_trigger_type_trigger_ref; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT uq_runs_tenant_trigger_type_trigger_ref UNIQUE (tenant, trigger_type, trigger_ref);


--
-- Name: signing_keys uq_signing_keys_tenant_key_id; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT uq_signing_keys_tenant_key_id UNIQUE (tenant, key_id);


--
-- Name: slack_links uq_slack_links_secret_sha256; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_links
    ADD CONSTRAINT uq_slack_links_secret_sha256 UNIQUE (secret_sha256);


--
-- Name: tenant_leaves uq_tenant_leaves_tenant_once; Type: CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.tenant_leaves
    ADD CONSTRAINT uq_tenant_leaves_tenant_once UNIQUE (tenant, once);


--
-- Name: ix_approvals_card; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_approvals_card ON public.approvals USING hash (card_ts);


--
-- Name: ix_approvals_effect; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_approvals_effect ON public.approvals USING btree (effect_id);


--
-- Name: ix_approvals_open; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_approvals_open ON public.approvals USING btree (tenant, expires_at) WHERE (status = 'requested'::text);


--
-- Name: ix_approvals_run; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_approvals_run ON public.approvals USING btree (run_id);


--
-- Name: ix_approvals_tenant_requested_at; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_approvals_tenant_requested_at ON public.approvals USING btree (tenant, requested_at);


--
-- Name: ix_approvals_waiting; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_approvals_waiting ON public.approvals USING btree (tenant, COALESCE(prolonged_until, expires_at), approval_id) WHERE (status = 'requested'::text);


--
-- Name: ix_card_copies_card; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_card_copies_card ON public.card_copies USING btree (card_ts, channel);


--
-- Name: ix_delegations_delegate; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_delegations_delegate ON public.delegations USING btree (tenant, delegate) WHERE (ended_at IS NULL);


--
-- Name: ix_direct_messages_at; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_direct_messages_at ON public.direct_messages USING btree (tenant, account, at);


--
-- Name: ix_direct_messages_gathering; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_direct_messages_gathering ON public.direct_messages USING btree (gathering_id);


--
-- Name: ix_edits_effect_id; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_edits_effect_id ON public.edits USING btree (effect_id);


--
-- Name: ix_effects_begun; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_effects_begun ON public.effects USING btree (run_id) WHERE ((purpose = 'step'::text) AND (started_at IS NOT NULL));


--
-- Name: ix_effects_due; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_effects_due ON public.effects USING btree (tenant, purpose, (((tries + postponed) > 0)), next_try_at) WHERE ((status = ANY (ARRAY['pending'::text, 'blocked'::text])) OR ((status = 'in_doubt'::text) AND (NOT asked)));


--
-- Name: ix_effects_hiding; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_effects_hiding ON public.effects USING btree (run_id) WHERE (hides AND (forgotten IS NULL));


--
-- Name: ix_effects_leased; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_effects_leased ON public.effects USING btree (lease_expires_at) WHERE (status = 'leased'::text);


--
-- Name: ix_evidence_bundles_open; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_evidence_bundles_open ON public.evidence_bundles USING btree (next_try_at) WHERE (status = 'sealing'::text);


--
-- Name: ix_evidence_held_due; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_evidence_held_due ON public.evidence_held USING btree (next_try_at) WHERE (told < acts);


--
-- Name: ix_gatherings_begun; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_gatherings_begun ON public.gatherings USING btree (tenant, account, begun_at);


--
-- Name: ix_notifications_correlation; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_notifications_correlation ON public.notifications USING btree (correlation_key);


--
-- Name: ix_notifications_dead; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_notifications_dead ON public.notifications USING btree (tenant, received_at) WHERE (status = 'dead_letter'::text);


--
-- Name: ix_notifications_early; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_notifications_early ON public.notifications USING btree (tenant, correlation_key) WHERE (status = 'early'::text);


--
-- Name: ix_notifications_early_since; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_notifications_early_since ON public.notifications USING btree (tenant, received_at) WHERE (status = 'early'::text);


--
-- Name: ix_notifications_received; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_notifications_received ON public.notifications USING btree (tenant, next_try_at) WHERE (status = 'received'::text);


--
-- Name: ix_passkeys_person; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_passkeys_person ON public.passkeys USING btree (tenant, person);


--
-- Name: ix_questions_approval; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_questions_approval ON public.questions USING btree (approval_id);


--
-- Name: ix_runbook_versions_trigger; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runbook_versions_trigger ON public.runbook_versions USING btree (tenant, trigger_type);


--
-- Name: ix_runs_children; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runs_children ON public.runs USING btree (((parent ->> 'run_id'::text))) WHERE ((parent IS NOT NULL) AND (finished_at IS NULL));


--
-- Name: ix_runs_listed; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runs_listed ON public.runs USING btree (tenant, created_at, run_id);


--
-- Name: ix_runs_of_people; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runs_of_people ON public.runs USING btree (tenant, requested_by, created_at, run_id) WHERE (requester_kind = 'person'::text);


--
-- Name: ix_runs_queued; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runs_queued ON public.runs USING btree (tenant, created_at) WHERE (status = 'queued'::text);


--
-- Name: ix_runs_referred; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runs_referred ON public.runs USING btree (tenant, reference, run_id) WHERE (reference <> ''::text);


--
-- Name: ix_runs_unsealed; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_runs_unsealed ON public.runs USING btree (finished_at) WHERE ((finished_at IS NOT NULL) AND (NOT sealed));


--
-- Name: ix_slack_accounts_actor; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_slack_accounts_actor ON public.slack_accounts USING btree (tenant, actor_id);


--
-- Name: ix_steps_attention; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_steps_attention ON public.steps USING btree (run_id, path) WHERE (status = 'needs_attention'::text);


--
-- Name: ix_steps_open; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_steps_open ON public.steps USING btree (run_id, status) WHERE (status = ANY (ARRAY['pending'::text, 'ready'::text, 'running'::text, 'waiting_approval'::text, 'parked'::text, 'failed_retryable'::text, 'needs_attention'::text]));


--
-- Name: ix_steps_params; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_steps_params ON public.steps USING btree (run_id) WHERE (params IS NOT NULL);


--
-- Name: ix_steps_reads; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_steps_reads ON public.steps USING btree (attempt) WHERE (is_read AND (status = ANY (ARRAY['ready'::text, 'running'::text, 'failed_retryable'::text])));


--
-- Name: ix_votes_approval; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_votes_approval ON public.votes USING btree (approval_id);


--
-- Name: ix_votes_break_glass; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_votes_break_glass ON public.votes USING btree (person, at) WHERE (break_glass IS NOT NULL);


--
-- Name: ix_votes_person; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_votes_person ON public.votes USING btree (person, at, approval_id);


--
-- Name: ix_waits_correlation; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_waits_correlation ON public.waits USING btree (correlation_key);


--
-- Name: ix_waits_deadline; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_waits_deadline ON public.waits USING btree (deadline) WHERE ((status = 'active'::text) AND (deadline < 'infinity'::timestamp with time zone));


--
-- Name: ix_waits_escalate; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_waits_escalate ON public.waits USING btree (escalate_at) WHERE ((status = 'active'::text) AND (escalate_at < 'infinity'::timestamp with time zone));


--
-- Name: ix_waits_run; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE INDEX ix_waits_run ON public.waits USING btree (run_id);


--
-- Name: uq_approvals_open; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_approvals_open ON public.approvals USING btree (effect_id, kind) WHERE (status = 'requested'::text);


--
-- Name: uq_effects_claimed_key; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_effects_claimed_key ON public.effects USING btree (tenant, idempotency_key) WHERE claimed;


--
-- Name: uq_evidence_holds_open; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_evidence_holds_open ON public.evidence_holds USING btree (tenant, subject, kind) WHERE (lifted_at IS NULL);


--
-- Name: uq_questions_open; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_questions_open ON public.questions USING btree (approval_id, person) WHERE (answer IS NULL);


--
-- Name: uq_receipts_success; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_receipts_success ON public.receipts USING btree (tenant, idempotency_key) WHERE (outcome = 'success'::text);


--
-- Name: uq_runs_about; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_runs_about ON public.runs USING btree (tenant, definition_name, about) WHERE ((about <> ''::text) AND (finished_at IS NULL));


--
-- Name: uq_slack_installations_enterprise; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_slack_installations_enterprise ON public.slack_installations USING btree (enterprise) WHERE ((removed_at IS NULL) AND (team = ''::text));


--
-- Name: uq_slack_installations_team; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_slack_installations_team ON public.slack_installations USING btree (team) WHERE ((removed_at IS NULL) AND (team <> ''::text));


--
-- Name: uq_votes_account; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_votes_account ON public.votes USING btree (approval_id, team, account) WHERE (withdrawn_at IS NULL);


--
-- Name: uq_votes_delegator; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_votes_delegator ON public.votes USING btree (approval_id, delegator) WHERE (withdrawn_at IS NULL);


--
-- Name: uq_votes_person; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_votes_person ON public.votes USING btree (approval_id, person) WHERE (withdrawn_at IS NULL);


--
-- Name: uq_waits_approval; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_waits_approval ON public.waits USING btree (run_id, step) WHERE ((status = 'active'::text) AND (type = 'approval'::text));


--
-- Name: uq_waits_step; Type: INDEX; Schema: public; Owner: countersign_owner
--

CREATE UNIQUE INDEX uq_waits_step ON public.waits USING btree (run_id, step) WHERE ((status = 'active'::text) AND (type <> 'approval'::text));


--
-- Name: effects forget_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER forget_once BEFORE UPDATE OF fields, forgotten ON public.effects FOR EACH ROW WHEN ((((old.status <> ALL (ARRAY['dispatched'::text, 'rejected'::text, 'failed'::text])) OR (old.forgotten IS NOT NULL) OR (new.forgotten IS NULL)) AND (NOT ((old.status = 'deferred'::text) AND (new.status = 'pending'::text) AND (old.forgotten IS NULL) AND (new.forgotten IS NULL))))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: notifications forget_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER forget_once BEFORE UPDATE OF payload, forgotten ON public.notifications FOR EACH ROW WHEN (((old.applied_at IS NULL) OR old.forgotten OR (NOT new.forgotten))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: runs forget_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER forget_once BEFORE UPDATE OF trigger, forgotten ON public.runs FOR EACH ROW WHEN (((old.finished_at IS NULL) OR old.forgotten OR (NOT new.forgotten))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: audit_leaves insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.audit_leaves FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: definitions insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.definitions FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: edits insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.edits FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: entity_changes insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.entity_changes FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: log_entries insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.log_entries FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: policy_decisions insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.policy_decisions FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: policy_texts insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.policy_texts FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: reads insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.reads FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: receipts insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.receipts FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: tenant_leaves insert_only; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER insert_only BEFORE DELETE OR UPDATE ON public.tenant_leaves FOR EACH ROW EXECUTE FUNCTION public.refuse_change();


--
-- Name: approvals no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.approvals FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: delegations no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.delegations FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: directories no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.directories FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: effects no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.effects FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: entities no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.entities FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: evidence_bundles no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.evidence_bundles FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: evidence_held no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.evidence_held FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: evidence_holds no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.evidence_holds FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: log_checkpoints no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.log_checkpoints FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: log_heads no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.log_heads FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: log_stamps no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.log_stamps FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: log_tiles no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.log_tiles FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: notifications no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.notifications FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: passkey_links no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.passkey_links FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: passkeys no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.passkeys FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: questions no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.questions FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: runbook_versions no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.runbook_versions FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: runs no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.runs FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: signing_keys no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.signing_keys FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: slack_installations no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.slack_installations FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: slack_links no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.slack_links FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: steps no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.steps FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: tenants no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.tenants FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: votes no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.votes FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: waits no_delete; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_delete BEFORE DELETE ON public.waits FOR EACH ROW EXECUTE FUNCTION public.refuse_delete();


--
-- Name: approvals no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.approvals FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: audit_leaves no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.audit_leaves FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: definitions no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.definitions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: delegations no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.delegations FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: directories no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.directories FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: edits no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.edits FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: effects no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.effects FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: entities no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.entities FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: entity_changes no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.entity_changes FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: evidence_bundles no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.evidence_bundles FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: evidence_held no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.evidence_held FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: evidence_holds no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.evidence_holds FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: log_checkpoints no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.log_checkpoints FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: log_entries no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.log_entries FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: log_heads no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.log_heads FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: log_stamps no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.log_stamps FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: log_tiles no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.log_tiles FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: notifications no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.notifications FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: passkey_links no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.passkey_links FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: passkeys no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.passkeys FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: policy_decisions no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.policy_decisions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: policy_texts no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.policy_texts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: questions no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.questions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: reads no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.reads FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: receipts no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.receipts FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: runbook_versions no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.runbook_versions FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: runs no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.runs FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: signing_keys no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.signing_keys FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: slack_installations no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.slack_installations FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: slack_links no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.slack_links FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: steps no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.steps FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: tenant_leaves no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.tenant_leaves FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: tenants no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.tenants FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: votes no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.votes FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: waits no_truncate; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.waits FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_truncate();


--
-- Name: effects only_edited; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER only_edited BEFORE UPDATE OF fields ON public.effects FOR EACH ROW WHEN (((old.status = 'deferred'::text) AND (new.status = 'pending'::text))) EXECUTE FUNCTION public.refuse_unedited();


--
-- Name: approvals only_later; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER only_later BEFORE UPDATE OF prolonged_until ON public.approvals FOR EACH ROW WHEN (((new.prolonged_until IS DISTINCT FROM old.prolonged_until) AND (NOT COALESCE(((old.status = 'requested'::text) AND
        CASE old.kind
            WHEN 'task'::text THEN (new.prolonged_until >= COALESCE(old.prolonged_until, old.expires_at))
            WHEN 'effect'::text THEN ((new.prolonged_until >= old.expires_at) AND (new.prolonged_until <= (old.expires_at + ((old.requirement ->> 'pause_on_question'::text))::interval)))
            ELSE NULL::boolean
        END), false)))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: approvals set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF decided_at ON public.approvals FOR EACH ROW WHEN (((old.decided_at IS NOT NULL) AND (new.decided_at IS DISTINCT FROM old.decided_at))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: delegations set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF ended_at, ended_by, ended_reason ON public.delegations FOR EACH ROW WHEN ((old.ended_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: evidence_bundles set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF status, file_number, sha256, size, location, version_id, retention_until, stored_at ON public.evidence_bundles FOR EACH ROW WHEN ((old.stored_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: evidence_holds set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF lifted_reason, lifted_by, lifted_at ON public.evidence_holds FOR EACH ROW WHEN ((old.lifted_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: notifications set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF outcome, applied_at ON public.notifications FOR EACH ROW WHEN (((old.applied_at IS NOT NULL) AND ((new.applied_at IS DISTINCT FROM old.applied_at) OR ((new.outcome)::text IS DISTINCT FROM (old.outcome)::text)))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: passkey_links set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF opened_at ON public.passkey_links FOR EACH ROW WHEN ((old.opened_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: passkeys set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF revoked_at, revoked_by, revoked_reason ON public.passkeys FOR EACH ROW WHEN ((old.revoked_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: questions set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF answer ON public.questions FOR EACH ROW WHEN ((old.answer IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: runs set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF finished_at ON public.runs FOR EACH ROW WHEN (((old.finished_at IS NOT NULL) AND (new.finished_at IS DISTINCT FROM old.finished_at))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: slack_installations set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF removed_at, removed_why ON public.slack_installations FOR EACH ROW WHEN ((old.removed_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: slack_links set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF used_at ON public.slack_links FOR EACH ROW WHEN ((old.used_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: votes set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF withdrawn_at ON public.votes FOR EACH ROW WHEN ((old.withdrawn_at IS NOT NULL)) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: waits set_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once BEFORE UPDATE OF resolved_at ON public.waits FOR EACH ROW WHEN (((old.resolved_at IS NOT NULL) AND (new.resolved_at IS DISTINCT FROM old.resolved_at))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: evidence_bundles set_once_of_log; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER set_once_of_log BEFORE UPDATE OF log_size, log_stamped ON public.evidence_bundles FOR EACH ROW WHEN (((old.log_size IS NOT NULL) AND ((new.log_size IS DISTINCT FROM old.log_size) OR (new.log_stamped IS DISTINCT FROM old.log_stamped)))) EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: approvals used_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER used_once BEFORE UPDATE OF consumed_at ON public.approvals FOR EACH ROW WHEN (((old.consumed_at IS NOT NULL) AND (new.consumed_at IS DISTINCT FROM old.consumed_at))) EXECUTE FUNCTION public.refuse_second_use();


--
-- Name: approvals write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF approval_id, tenant, run_id, effect_id, step, kind, digest, tier, requirement, reasons, before, purpose, requested_at, expires_at, shown, route ON public.approvals FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: delegations write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF delegation_id, tenant, delegator, delegate, groups, starts_at, ends_at, recorded_by, reason, recorded_at ON public.delegations FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: effects write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF effect_id, run_id, tenant, purpose, step, connector, operation, target, tier, reversible_by, redact, hides, idempotency_key, dedupe_key, correlation_key, created_at ON public.effects FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: entities write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, entity, entity_id ON public.entities FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: evidence_bundles write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, sealed_seq, sealed_cards, key_id, retain_days, created_at ON public.evidence_bundles FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: evidence_held write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF run_id ON public.evidence_held FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: evidence_holds write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF hold_id, tenant, kind, subject, reason, set_by, set_at ON public.evidence_holds FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: log_checkpoints write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, size, root, note, signed_at ON public.log_checkpoints FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: log_stamps write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, size, stamp, asked_at ON public.log_stamps FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: notifications write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF notification_id, tenant, kind, dedupe_key, correlation_key, actor, request_id, received_at ON public.notifications FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: passkey_links write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF link_id, tenant, person, purpose, nonce, made_at, expires_at, approval_id, stamp, reason, ticket, team, account, invited_by, policy ON public.passkey_links FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: passkeys write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, credential_id, person, public_key, cose_key, algorithm, origin, invited_by, reason, registered_at ON public.passkeys FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: questions write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF question_id, tenant, approval_id, person, person_name, question, asked_at ON public.questions FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: runbook_versions write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, name, version, trigger_type, arrived_at ON public.runbook_versions FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: runs write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, tenant, trigger_type, trigger_ref, definition_name, definition_version, requested_by, requester_kind, submitted_by, requester_accounts, request_id, salt, trigger_digest, created_at, parent ON public.runs FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: signing_keys write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, number, key_id ON public.signing_keys FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: slack_installations write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF installation_id, tenant, team, enterprise, name, app_id, bot_user, bot_id, scopes, link_id, installed_by, installed_at ON public.slack_installations FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: slack_links write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF link_id, tenant, secret_sha256, made_by, reason, policy, made_at, expires_at ON public.slack_links FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: steps write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, path, "position", verb, handler, is_read ON public.steps FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: tenants write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, salt, mocked ON public.tenants FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: votes write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at, via, brought_by, delegator, delegation, passkey, together, break_glass ON public.votes FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: waits write_once; Type: TRIGGER; Schema: public; Owner: countersign_owner
--

CREATE TRIGGER write_once BEFORE UPDATE OF wait_id, run_id, step, type, correlation_key, correlate, token, approval_id, created_at ON public.waits FOR EACH ROW EXECUTE FUNCTION public.refuse_rewrite();


--
-- Name: approvals fk_approvals_effect_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT fk_approvals_effect_id FOREIGN KEY (effect_id) REFERENCES public.effects(effect_id);


--
-- Name: approvals fk_approvals_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT fk_approvals_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: approvals fk_approvals_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.approvals
    ADD CONSTRAINT fk_approvals_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: audit_leaves fk_audit_leaves_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.audit_leaves
    ADD CONSTRAINT fk_audit_leaves_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: card_copies fk_card_copies_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.card_copies
    ADD CONSTRAINT fk_card_copies_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: delegations fk_delegations_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.delegations
    ADD CONSTRAINT fk_delegations_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: direct_messages fk_direct_messages_gathering_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.direct_messages
    ADD CONSTRAINT fk_direct_messages_gathering_id FOREIGN KEY (gathering_id) REFERENCES public.gatherings(gathering_id) ON DELETE CASCADE;


--
-- Name: edits fk_edits_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.edits
    ADD CONSTRAINT fk_edits_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: edits fk_edits_effect_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.edits
    ADD CONSTRAINT fk_edits_effect_id FOREIGN KEY (effect_id) REFERENCES public.effects(effect_id);


--
-- Name: edits fk_edits_notification_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.edits
    ADD CONSTRAINT fk_edits_notification_id FOREIGN KEY (notification_id) REFERENCES public.notifications(notification_id);


--
-- Name: edits fk_edits_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.edits
    ADD CONSTRAINT fk_edits_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: effects fk_effects_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.effects
    ADD CONSTRAINT fk_effects_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: entities fk_entities_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.entities
    ADD CONSTRAINT fk_entities_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: entity_changes fk_entity_changes_tenant_entity_entity_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.entity_changes
    ADD CONSTRAINT fk_entity_changes_tenant_entity_entity_id FOREIGN KEY (tenant, entity, entity_id) REFERENCES public.entities(tenant, entity, entity_id);


--
-- Name: evidence_bundles fk_evidence_bundles_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.evidence_bundles
    ADD CONSTRAINT fk_evidence_bundles_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: evidence_held fk_evidence_held_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.evidence_held
    ADD CONSTRAINT fk_evidence_held_run_id FOREIGN KEY (run_id) REFERENCES public.evidence_bundles(run_id);


--
-- Name: evidence_holds fk_evidence_holds_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.evidence_holds
    ADD CONSTRAINT fk_evidence_holds_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: log_checkpoints fk_log_checkpoints_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_checkpoints
    ADD CONSTRAINT fk_log_checkpoints_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: log_heads fk_log_heads_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_heads
    ADD CONSTRAINT fk_log_heads_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: log_leases fk_log_leases_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_leases
    ADD CONSTRAINT fk_log_leases_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: log_stamps fk_log_stamps_tenant_size; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.log_stamps
    ADD CONSTRAINT fk_log_stamps_tenant_size FOREIGN KEY (tenant, size) REFERENCES public.log_checkpoints(tenant, size);


--
-- Name: marks fk_marks_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.marks
    ADD CONSTRAINT fk_marks_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: passkey_links fk_passkey_links_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.passkey_links
    ADD CONSTRAINT fk_passkey_links_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: passkey_links fk_passkey_links_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.passkey_links
    ADD CONSTRAINT fk_passkey_links_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: passkeys fk_passkeys_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.passkeys
    ADD CONSTRAINT fk_passkeys_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: policy_decisions fk_policy_decisions_effect_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.policy_decisions
    ADD CONSTRAINT fk_policy_decisions_effect_id FOREIGN KEY (effect_id) REFERENCES public.effects(effect_id);


--
-- Name: policy_decisions fk_policy_decisions_policy_digest; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.policy_decisions
    ADD CONSTRAINT fk_policy_decisions_policy_digest FOREIGN KEY (policy_digest) REFERENCES public.policy_texts(digest);


--
-- Name: policy_decisions fk_policy_decisions_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.policy_decisions
    ADD CONSTRAINT fk_policy_decisions_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: questions fk_questions_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.questions
    ADD CONSTRAINT fk_questions_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: questions fk_questions_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.questions
    ADD CONSTRAINT fk_questions_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: reads fk_reads_run_id_step; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.reads
    ADD CONSTRAINT fk_reads_run_id_step FOREIGN KEY (run_id, step) REFERENCES public.steps(run_id, path);


--
-- Name: receipts fk_receipts_effect_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT fk_receipts_effect_id FOREIGN KEY (effect_id) REFERENCES public.effects(effect_id);


--
-- Name: receipts fk_receipts_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.receipts
    ADD CONSTRAINT fk_receipts_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: refusals fk_refusals_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.refusals
    ADD CONSTRAINT fk_refusals_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: runbook_versions fk_runbook_versions_name_version; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runbook_versions
    ADD CONSTRAINT fk_runbook_versions_name_version FOREIGN KEY (name, version) REFERENCES public.definitions(name, version);


--
-- Name: runbook_versions fk_runbook_versions_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runbook_versions
    ADD CONSTRAINT fk_runbook_versions_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: runbook_versions fk_runbook_versions_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runbook_versions
    ADD CONSTRAINT fk_runbook_versions_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: runs fk_runs_definition_name_definition_version; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT fk_runs_definition_name_definition_version FOREIGN KEY (definition_name, definition_version) REFERENCES public.definitions(name, version);


--
-- Name: runs fk_runs_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT fk_runs_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: signing_keys fk_signing_keys_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT fk_signing_keys_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: slack_absentees fk_slack_absentees_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_absentees
    ADD CONSTRAINT fk_slack_absentees_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: slack_accounts fk_slack_accounts_tenant_actor_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_accounts
    ADD CONSTRAINT fk_slack_accounts_tenant_actor_id FOREIGN KEY (tenant, actor_id) REFERENCES public.actors(tenant, actor_id) ON DELETE CASCADE;


--
-- Name: slack_installations fk_slack_installations_link_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_installations
    ADD CONSTRAINT fk_slack_installations_link_id FOREIGN KEY (link_id) REFERENCES public.slack_links(link_id);


--
-- Name: slack_installations fk_slack_installations_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_installations
    ADD CONSTRAINT fk_slack_installations_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: slack_links fk_slack_links_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_links
    ADD CONSTRAINT fk_slack_links_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: slack_states fk_slack_states_link_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_states
    ADD CONSTRAINT fk_slack_states_link_id FOREIGN KEY (link_id) REFERENCES public.slack_links(link_id);


--
-- Name: slack_tokens fk_slack_tokens_installation_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.slack_tokens
    ADD CONSTRAINT fk_slack_tokens_installation_id FOREIGN KEY (installation_id) REFERENCES public.slack_installations(installation_id);


--
-- Name: steps fk_steps_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.steps
    ADD CONSTRAINT fk_steps_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: tenant_leaves fk_tenant_leaves_tenant; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.tenant_leaves
    ADD CONSTRAINT fk_tenant_leaves_tenant FOREIGN KEY (tenant) REFERENCES public.tenants(tenant);


--
-- Name: votes fk_votes_approval_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.votes
    ADD CONSTRAINT fk_votes_approval_id FOREIGN KEY (approval_id) REFERENCES public.approvals(approval_id);


--
-- Name: votes fk_votes_notification_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.votes
    ADD CONSTRAINT fk_votes_notification_id FOREIGN KEY (notification_id) REFERENCES public.notifications(notification_id);


--
-- Name: waits fk_waits_run_id; Type: FK CONSTRAINT; Schema: public; Owner: countersign_owner
--

ALTER TABLE ONLY public.waits
    ADD CONSTRAINT fk_waits_run_id FOREIGN KEY (run_id) REFERENCES public.runs(run_id);


--
-- Name: SCHEMA public; Type: ACL; Schema: -; Owner: pg_database_owner
--

GRANT ALL ON SCHEMA public TO countersign_owner;


--
-- Name: FUNCTION refresh_usergroups(of_tenant text, heard json, told json, heard_at timestamp with time zone); Type: ACL; Schema: public; Owner: countersign_owner
--

REVOKE ALL ON FUNCTION public.refresh_usergroups(of_tenant text, heard json, told json, heard_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION public.refresh_usergroups(of_tenant text, heard json, told json, heard_at timestamp with time zone) TO countersign_program;
GRANT ALL ON FUNCTION public.refresh_usergroups(of_tenant text, heard json, told json, heard_at timestamp with time zone) TO countersign_directory;


--
-- Name: TABLE actors; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT ON TABLE public.actors TO countersign_program;
GRANT SELECT,INSERT,DELETE ON TABLE public.actors TO countersign_directory;
GRANT SELECT ON TABLE public.actors TO countersign_reader;


--
-- Name: COLUMN actors.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.actors TO countersign_directory;


--
-- Name: COLUMN actors.actor_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(actor_id) ON TABLE public.actors TO countersign_directory;


--
-- Name: COLUMN actors.kind; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(kind) ON TABLE public.actors TO countersign_directory;


--
-- Name: COLUMN actors.name; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(name) ON TABLE public.actors TO countersign_directory;


--
-- Name: COLUMN actors.groups; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(groups) ON TABLE public.actors TO countersign_directory;


--
-- Name: COLUMN actors.grants; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(grants) ON TABLE public.actors TO countersign_directory;


--
-- Name: COLUMN actors.notices; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(notices) ON TABLE public.actors TO countersign_directory;


--
-- Name: TABLE alembic_version; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT ON TABLE public.alembic_version TO countersign_program;
GRANT SELECT ON TABLE public.alembic_version TO countersign_directory;
GRANT SELECT ON TABLE public.alembic_version TO countersign_reader;


--
-- Name: TABLE approvals; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.approvals TO countersign_program;
GRANT SELECT ON TABLE public.approvals TO countersign_directory;
GRANT SELECT ON TABLE public.approvals TO countersign_reader;


--
-- Name: COLUMN approvals.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.revision; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(revision) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.result; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(result) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.channel; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(channel) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.card_ts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(card_ts) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.cards; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(cards) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.decided_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(decided_at) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.consumed_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(consumed_at) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.shortfall; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(shortfall) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.joined; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(joined) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.prolonged_until; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(prolonged_until) ON TABLE public.approvals TO countersign_program;


--
-- Name: COLUMN approvals.assignee; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(assignee) ON TABLE public.approvals TO countersign_program;


--
-- Name: TABLE audit_leaves; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.audit_leaves TO countersign_program;
GRANT SELECT ON TABLE public.audit_leaves TO countersign_directory;
GRANT SELECT ON TABLE public.audit_leaves TO countersign_reader;


--
-- Name: TABLE card_copies; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.card_copies TO countersign_program;
GRANT SELECT ON TABLE public.card_copies TO countersign_directory;
GRANT SELECT ON TABLE public.card_copies TO countersign_reader;


--
-- Name: COLUMN card_copies.approval_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(approval_id) ON TABLE public.card_copies TO countersign_program;


--
-- Name: COLUMN card_copies.place; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(place) ON TABLE public.card_copies TO countersign_program;


--
-- Name: COLUMN card_copies.channel; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(channel) ON TABLE public.card_copies TO countersign_program;


--
-- Name: COLUMN card_copies.card_ts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(card_ts) ON TABLE public.card_copies TO countersign_program;


--
-- Name: TABLE circuit_breakers; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.circuit_breakers TO countersign_program;
GRANT SELECT ON TABLE public.circuit_breakers TO countersign_directory;
GRANT SELECT ON TABLE public.circuit_breakers TO countersign_reader;


--
-- Name: COLUMN circuit_breakers.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.circuit_breakers TO countersign_program;


--
-- Name: COLUMN circuit_breakers.connector; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(connector) ON TABLE public.circuit_breakers TO countersign_program;


--
-- Name: COLUMN circuit_breakers.target; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(target) ON TABLE public.circuit_breakers TO countersign_program;


--
-- Name: COLUMN circuit_breakers.failures; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(failures) ON TABLE public.circuit_breakers TO countersign_program;


--
-- Name: COLUMN circuit_breakers.failed_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(failed_at) ON TABLE public.circuit_breakers TO countersign_program;


--
-- Name: COLUMN circuit_breakers.open_until; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(open_until) ON TABLE public.circuit_breakers TO countersign_program;


--
-- Name: TABLE definitions; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.definitions TO countersign_program;
GRANT SELECT ON TABLE public.definitions TO countersign_directory;
GRANT SELECT ON TABLE public.definitions TO countersign_reader;


--
-- Name: TABLE delegations; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.delegations TO countersign_program;
GRANT SELECT ON TABLE public.delegations TO countersign_directory;
GRANT SELECT ON TABLE public.delegations TO countersign_reader;


--
-- Name: COLUMN delegations.ended_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(ended_at) ON TABLE public.delegations TO countersign_program;


--
-- Name: COLUMN delegations.ended_by; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(ended_by) ON TABLE public.delegations TO countersign_program;


--
-- Name: COLUMN delegations.ended_reason; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(ended_reason) ON TABLE public.delegations TO countersign_program;


--
-- Name: TABLE direct_messages; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.direct_messages TO countersign_program;
GRANT SELECT ON TABLE public.direct_messages TO countersign_directory;
GRANT SELECT ON TABLE public.direct_messages TO countersign_reader;


--
-- Name: COLUMN direct_messages.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.message; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(message) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.account; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(account) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(at) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.gathering_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(gathering_id) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.said; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(said) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.card_of; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(card_of) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: COLUMN direct_messages.asks; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(asks) ON TABLE public.direct_messages TO countersign_program;


--
-- Name: TABLE directories; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT ON TABLE public.directories TO countersign_program;
GRANT SELECT,INSERT ON TABLE public.directories TO countersign_directory;
GRANT SELECT ON TABLE public.directories TO countersign_reader;


--
-- Name: COLUMN directories.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.directories TO countersign_directory;


--
-- Name: COLUMN directories.version; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(version) ON TABLE public.directories TO countersign_directory;


--
-- Name: COLUMN directories.digest; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(digest) ON TABLE public.directories TO countersign_directory;


--
-- Name: COLUMN directories.loaded_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(loaded_at) ON TABLE public.directories TO countersign_directory;


--
-- Name: COLUMN directories.remind; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(remind) ON TABLE public.directories TO countersign_directory;


--
-- Name: COLUMN directories.usergroups; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(usergroups) ON TABLE public.directories TO countersign_directory;


--
-- Name: COLUMN directories.refreshed_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(refreshed_at) ON TABLE public.directories TO countersign_directory;


--
-- Name: TABLE edits; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.edits TO countersign_program;
GRANT SELECT ON TABLE public.edits TO countersign_directory;
GRANT SELECT ON TABLE public.edits TO countersign_reader;


--
-- Name: TABLE effects; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.effects TO countersign_program;
GRANT SELECT ON TABLE public.effects TO countersign_directory;
GRANT SELECT ON TABLE public.effects TO countersign_reader;


--
-- Name: COLUMN effects.fields; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(fields) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.digest; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(digest) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.timeout_s; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(timeout_s) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.retry; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(retry) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.attempt; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(attempt) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.tries; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tries) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.postponed; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(postponed) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.lease_owner; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lease_owner) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.lease_expires_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lease_expires_at) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.next_try_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(next_try_at) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.give_up_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(give_up_at) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.started_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(started_at) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.claimed; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(claimed) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.approval_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(approval_id) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.decision_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(decision_id) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.error; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.on_doubt; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(on_doubt) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.forgotten; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(forgotten) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.settles_s; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(settles_s) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.before; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(before) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.asked; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(asked) ON TABLE public.effects TO countersign_program;


--
-- Name: COLUMN effects.was_blocked; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(was_blocked) ON TABLE public.effects TO countersign_program;


--
-- Name: TABLE entities; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.entities TO countersign_program;
GRANT SELECT ON TABLE public.entities TO countersign_directory;
GRANT SELECT ON TABLE public.entities TO countersign_reader;


--
-- Name: COLUMN entities.version; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(version) ON TABLE public.entities TO countersign_program;


--
-- Name: COLUMN entities.deleted; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(deleted) ON TABLE public.entities TO countersign_program;


--
-- Name: COLUMN entities.fields; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(fields) ON TABLE public.entities TO countersign_program;


--
-- Name: TABLE entity_changes; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.entity_changes TO countersign_program;
GRANT SELECT ON TABLE public.entity_changes TO countersign_directory;
GRANT SELECT ON TABLE public.entity_changes TO countersign_reader;


--
-- Name: TABLE evidence_bundles; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.evidence_bundles TO countersign_program;
GRANT SELECT ON TABLE public.evidence_bundles TO countersign_directory;
GRANT SELECT ON TABLE public.evidence_bundles TO countersign_reader;


--
-- Name: COLUMN evidence_bundles.sha256; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(sha256) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.size; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(size) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.location; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(location) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.version_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(version_id) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.retention_until; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(retention_until) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.next_try_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(next_try_at) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.stored_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(stored_at) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.tries; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tries) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.error; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.faults; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(faults) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.in_the_way; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(in_the_way) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.file_number; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(file_number) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.log_size; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(log_size) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: COLUMN evidence_bundles.log_stamped; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(log_stamped) ON TABLE public.evidence_bundles TO countersign_program;


--
-- Name: TABLE evidence_held; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.evidence_held TO countersign_program;
GRANT SELECT ON TABLE public.evidence_held TO countersign_directory;
GRANT SELECT ON TABLE public.evidence_held TO countersign_reader;


--
-- Name: COLUMN evidence_held.acts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(acts) ON TABLE public.evidence_held TO countersign_program;


--
-- Name: COLUMN evidence_held.told; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(told) ON TABLE public.evidence_held TO countersign_program;


--
-- Name: COLUMN evidence_held.is_held; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(is_held) ON TABLE public.evidence_held TO countersign_program;


--
-- Name: COLUMN evidence_held.tries; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tries) ON TABLE public.evidence_held TO countersign_program;


--
-- Name: COLUMN evidence_held.error; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error) ON TABLE public.evidence_held TO countersign_program;


--
-- Name: COLUMN evidence_held.next_try_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(next_try_at) ON TABLE public.evidence_held TO countersign_program;


--
-- Name: TABLE evidence_holds; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.evidence_holds TO countersign_program;
GRANT SELECT ON TABLE public.evidence_holds TO countersign_directory;
GRANT SELECT ON TABLE public.evidence_holds TO countersign_reader;


--
-- Name: COLUMN evidence_holds.lifted_reason; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lifted_reason) ON TABLE public.evidence_holds TO countersign_program;


--
-- Name: COLUMN evidence_holds.lifted_by; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lifted_by) ON TABLE public.evidence_holds TO countersign_program;


--
-- Name: COLUMN evidence_holds.lifted_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lifted_at) ON TABLE public.evidence_holds TO countersign_program;


--
-- Name: TABLE gatherings; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.gatherings TO countersign_program;
GRANT SELECT ON TABLE public.gatherings TO countersign_directory;
GRANT SELECT ON TABLE public.gatherings TO countersign_reader;


--
-- Name: COLUMN gatherings.gathering_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(gathering_id) ON TABLE public.gatherings TO countersign_program;


--
-- Name: COLUMN gatherings.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.gatherings TO countersign_program;


--
-- Name: COLUMN gatherings.account; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(account) ON TABLE public.gatherings TO countersign_program;


--
-- Name: COLUMN gatherings.poster; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(poster) ON TABLE public.gatherings TO countersign_program;


--
-- Name: COLUMN gatherings.begun_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(begun_at) ON TABLE public.gatherings TO countersign_program;


--
-- Name: COLUMN gatherings.channel; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(channel) ON TABLE public.gatherings TO countersign_program;


--
-- Name: COLUMN gatherings.ts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(ts) ON TABLE public.gatherings TO countersign_program;


--
-- Name: TABLE log_checkpoints; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.log_checkpoints TO countersign_program;
GRANT SELECT ON TABLE public.log_checkpoints TO countersign_directory;
GRANT SELECT ON TABLE public.log_checkpoints TO countersign_reader;


--
-- Name: COLUMN log_checkpoints.published_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(published_at) ON TABLE public.log_checkpoints TO countersign_program;


--
-- Name: TABLE log_entries; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.log_entries TO countersign_program;
GRANT SELECT ON TABLE public.log_entries TO countersign_directory;
GRANT SELECT ON TABLE public.log_entries TO countersign_reader;


--
-- Name: TABLE log_heads; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.log_heads TO countersign_program;
GRANT SELECT ON TABLE public.log_heads TO countersign_directory;
GRANT SELECT ON TABLE public.log_heads TO countersign_reader;


--
-- Name: COLUMN log_heads.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.log_heads TO countersign_program;


--
-- Name: COLUMN log_heads.size; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(size) ON TABLE public.log_heads TO countersign_program;


--
-- Name: COLUMN log_heads.hashes; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(hashes) ON TABLE public.log_heads TO countersign_program;


--
-- Name: TABLE log_leases; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.log_leases TO countersign_program;
GRANT SELECT ON TABLE public.log_leases TO countersign_directory;
GRANT SELECT ON TABLE public.log_leases TO countersign_reader;


--
-- Name: COLUMN log_leases.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.log_leases TO countersign_program;


--
-- Name: COLUMN log_leases.until; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(until) ON TABLE public.log_leases TO countersign_program;


--
-- Name: COLUMN log_leases.fault; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(fault) ON TABLE public.log_leases TO countersign_program;


--
-- Name: TABLE log_pending; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.log_pending TO countersign_program;
GRANT SELECT,INSERT ON TABLE public.log_pending TO countersign_directory;
GRANT SELECT ON TABLE public.log_pending TO countersign_reader;


--
-- Name: COLUMN log_pending.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.log_pending TO countersign_program;


--
-- Name: COLUMN log_pending.chain; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(chain) ON TABLE public.log_pending TO countersign_program;


--
-- Name: COLUMN log_pending.first_seq; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(first_seq) ON TABLE public.log_pending TO countersign_program;


--
-- Name: COLUMN log_pending.hashes; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(hashes) ON TABLE public.log_pending TO countersign_program;


--
-- Name: TABLE log_stamps; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.log_stamps TO countersign_program;
GRANT SELECT ON TABLE public.log_stamps TO countersign_directory;
GRANT SELECT ON TABLE public.log_stamps TO countersign_reader;


--
-- Name: COLUMN log_stamps.published_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(published_at) ON TABLE public.log_stamps TO countersign_program;


--
-- Name: TABLE log_tiles; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.log_tiles TO countersign_program;
GRANT SELECT ON TABLE public.log_tiles TO countersign_directory;
GRANT SELECT ON TABLE public.log_tiles TO countersign_reader;


--
-- Name: COLUMN log_tiles.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.log_tiles TO countersign_program;


--
-- Name: COLUMN log_tiles.level; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(level) ON TABLE public.log_tiles TO countersign_program;


--
-- Name: COLUMN log_tiles.number; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(number) ON TABLE public.log_tiles TO countersign_program;


--
-- Name: COLUMN log_tiles.hashes; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(hashes) ON TABLE public.log_tiles TO countersign_program;


--
-- Name: TABLE marks; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.marks TO countersign_program;
GRANT SELECT ON TABLE public.marks TO countersign_directory;
GRANT SELECT ON TABLE public.marks TO countersign_reader;


--
-- Name: COLUMN marks.approval_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(approval_id) ON TABLE public.marks TO countersign_program;


--
-- Name: COLUMN marks.mark; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(mark) ON TABLE public.marks TO countersign_program;


--
-- Name: COLUMN marks.who; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(who) ON TABLE public.marks TO countersign_program;


--
-- Name: COLUMN marks.at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(at) ON TABLE public.marks TO countersign_program;


--
-- Name: TABLE notifications; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.notifications TO countersign_program;
GRANT SELECT ON TABLE public.notifications TO countersign_directory;
GRANT SELECT ON TABLE public.notifications TO countersign_reader;


--
-- Name: COLUMN notifications.payload; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(payload) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.outcome; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(outcome) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.deliveries; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(deliveries) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.applied_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(applied_at) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.forgotten; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(forgotten) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.failures; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(failures) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.error; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error) ON TABLE public.notifications TO countersign_program;


--
-- Name: COLUMN notifications.next_try_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(next_try_at) ON TABLE public.notifications TO countersign_program;


--
-- Name: TABLE passkey_links; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.passkey_links TO countersign_program;
GRANT SELECT ON TABLE public.passkey_links TO countersign_directory;
GRANT SELECT ON TABLE public.passkey_links TO countersign_reader;


--
-- Name: COLUMN passkey_links.opened_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(opened_at) ON TABLE public.passkey_links TO countersign_program;


--
-- Name: TABLE passkeys; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.passkeys TO countersign_program;
GRANT SELECT ON TABLE public.passkeys TO countersign_directory;
GRANT SELECT ON TABLE public.passkeys TO countersign_reader;


--
-- Name: COLUMN passkeys.sign_count; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(sign_count) ON TABLE public.passkeys TO countersign_program;


--
-- Name: COLUMN passkeys.revoked_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(revoked_at) ON TABLE public.passkeys TO countersign_program;


--
-- Name: COLUMN passkeys.revoked_by; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(revoked_by) ON TABLE public.passkeys TO countersign_program;


--
-- Name: COLUMN passkeys.revoked_reason; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(revoked_reason) ON TABLE public.passkeys TO countersign_program;


--
-- Name: TABLE policy_decisions; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.policy_decisions TO countersign_program;
GRANT SELECT ON TABLE public.policy_decisions TO countersign_directory;
GRANT SELECT ON TABLE public.policy_decisions TO countersign_reader;


--
-- Name: TABLE policy_texts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.policy_texts TO countersign_program;
GRANT SELECT ON TABLE public.policy_texts TO countersign_directory;
GRANT SELECT ON TABLE public.policy_texts TO countersign_reader;


--
-- Name: TABLE questions; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.questions TO countersign_program;
GRANT SELECT ON TABLE public.questions TO countersign_directory;
GRANT SELECT ON TABLE public.questions TO countersign_reader;


--
-- Name: COLUMN questions.answer; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(answer) ON TABLE public.questions TO countersign_program;


--
-- Name: TABLE reads; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.reads TO countersign_program;
GRANT SELECT ON TABLE public.reads TO countersign_directory;
GRANT SELECT ON TABLE public.reads TO countersign_reader;


--
-- Name: TABLE receipts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.receipts TO countersign_program;
GRANT SELECT ON TABLE public.receipts TO countersign_directory;
GRANT SELECT ON TABLE public.receipts TO countersign_reader;


--
-- Name: TABLE refusals; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.refusals TO countersign_program;
GRANT SELECT ON TABLE public.refusals TO countersign_directory;
GRANT SELECT ON TABLE public.refusals TO countersign_reader;


--
-- Name: COLUMN refusals.approval_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(approval_id) ON TABLE public.refusals TO countersign_program;


--
-- Name: COLUMN refusals.who; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(who) ON TABLE public.refusals TO countersign_program;


--
-- Name: COLUMN refusals.code; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(code) ON TABLE public.refusals TO countersign_program;


--
-- Name: COLUMN refusals.times; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(times) ON TABLE public.refusals TO countersign_program;


--
-- Name: TABLE runbook_versions; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.runbook_versions TO countersign_program;
GRANT SELECT ON TABLE public.runbook_versions TO countersign_directory;
GRANT SELECT ON TABLE public.runbook_versions TO countersign_reader;


--
-- Name: COLUMN runbook_versions.trigger_when; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(trigger_when) ON TABLE public.runbook_versions TO countersign_program;


--
-- Name: COLUMN runbook_versions.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.runbook_versions TO countersign_program;


--
-- Name: COLUMN runbook_versions.changed_by; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(changed_by) ON TABLE public.runbook_versions TO countersign_program;


--
-- Name: COLUMN runbook_versions.run_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(run_id) ON TABLE public.runbook_versions TO countersign_program;


--
-- Name: COLUMN runbook_versions.changed_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(changed_at) ON TABLE public.runbook_versions TO countersign_program;


--
-- Name: TABLE runs; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.runs TO countersign_program;


--
-- Name: COLUMN runs.run_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(run_id) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(run_id) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(tenant) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(tenant) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.trigger_type; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(trigger_type) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(trigger_type) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.trigger_ref; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(trigger_ref) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(trigger_ref) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.trigger; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(trigger) ON TABLE public.runs TO countersign_program;
GRANT SELECT(trigger) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(trigger) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.definition_name; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(definition_name) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(definition_name) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.definition_version; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(definition_version) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(definition_version) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.runs TO countersign_program;
GRANT SELECT(status) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(status) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.version; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(version) ON TABLE public.runs TO countersign_program;
GRANT SELECT(version) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(version) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.requested_by; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(requested_by) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(requested_by) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.requester_kind; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(requester_kind) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(requester_kind) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.submitted_by; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(submitted_by) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(submitted_by) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.requester_accounts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(requester_accounts) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(requester_accounts) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.request_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(request_id) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(request_id) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.writes; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(writes) ON TABLE public.runs TO countersign_program;
GRANT SELECT(writes) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(writes) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.audit_seq; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(audit_seq) ON TABLE public.runs TO countersign_program;
GRANT SELECT(audit_seq) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(audit_seq) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.audit_hash; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(audit_hash) ON TABLE public.runs TO countersign_program;
GRANT SELECT(audit_hash) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(audit_hash) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.error; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error) ON TABLE public.runs TO countersign_program;
GRANT SELECT(error) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(error) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.sealed; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(sealed) ON TABLE public.runs TO countersign_program;
GRANT SELECT(sealed) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(sealed) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.created_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(created_at) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(created_at) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.updated_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(updated_at) ON TABLE public.runs TO countersign_program;
GRANT SELECT(updated_at) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(updated_at) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.finished_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(finished_at) ON TABLE public.runs TO countersign_program;
GRANT SELECT(finished_at) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(finished_at) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.trigger_digest; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(trigger_digest) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(trigger_digest) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.forgotten; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(forgotten) ON TABLE public.runs TO countersign_program;
GRANT SELECT(forgotten) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(forgotten) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.hides; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(hides) ON TABLE public.runs TO countersign_program;
GRANT SELECT(hides) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(hides) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.state; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(state) ON TABLE public.runs TO countersign_program;
GRANT SELECT(state) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(state) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.reference; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(reference) ON TABLE public.runs TO countersign_program;
GRANT SELECT(reference) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(reference) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.outcome; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(outcome) ON TABLE public.runs TO countersign_program;
GRANT SELECT(outcome) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(outcome) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.output; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(output) ON TABLE public.runs TO countersign_program;
GRANT SELECT(output) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(output) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.parent; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(parent) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(parent) ON TABLE public.runs TO countersign_reader;


--
-- Name: COLUMN runs.about; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(about) ON TABLE public.runs TO countersign_program;
GRANT SELECT(about) ON TABLE public.runs TO countersign_directory;
GRANT SELECT(about) ON TABLE public.runs TO countersign_reader;


--
-- Name: TABLE signing_keys; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.signing_keys TO countersign_program;
GRANT SELECT ON TABLE public.signing_keys TO countersign_directory;
GRANT SELECT ON TABLE public.signing_keys TO countersign_reader;


--
-- Name: COLUMN signing_keys.entry; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(entry) ON TABLE public.signing_keys TO countersign_program;


--
-- Name: TABLE slack_absentees; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.slack_absentees TO countersign_program;
GRANT SELECT ON TABLE public.slack_absentees TO countersign_directory;
GRANT SELECT ON TABLE public.slack_absentees TO countersign_reader;


--
-- Name: COLUMN slack_absentees.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.slack_absentees TO countersign_program;


--
-- Name: COLUMN slack_absentees.team; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(team) ON TABLE public.slack_absentees TO countersign_program;


--
-- Name: COLUMN slack_absentees.account; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(account) ON TABLE public.slack_absentees TO countersign_program;


--
-- Name: COLUMN slack_absentees.since; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(since) ON TABLE public.slack_absentees TO countersign_program;


--
-- Name: TABLE slack_accounts; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT ON TABLE public.slack_accounts TO countersign_program;
GRANT SELECT,INSERT,DELETE ON TABLE public.slack_accounts TO countersign_directory;
GRANT SELECT ON TABLE public.slack_accounts TO countersign_reader;


--
-- Name: COLUMN slack_accounts.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(tenant) ON TABLE public.slack_accounts TO countersign_directory;


--
-- Name: COLUMN slack_accounts.team; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(team) ON TABLE public.slack_accounts TO countersign_directory;


--
-- Name: COLUMN slack_accounts.account; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(account) ON TABLE public.slack_accounts TO countersign_directory;


--
-- Name: COLUMN slack_accounts.actor_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(actor_id) ON TABLE public.slack_accounts TO countersign_directory;


--
-- Name: COLUMN slack_accounts.linked; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(linked) ON TABLE public.slack_accounts TO countersign_directory;


--
-- Name: TABLE slack_installations; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.slack_installations TO countersign_program;
GRANT SELECT ON TABLE public.slack_installations TO countersign_directory;
GRANT SELECT ON TABLE public.slack_installations TO countersign_reader;


--
-- Name: COLUMN slack_installations.removed_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(removed_at) ON TABLE public.slack_installations TO countersign_program;


--
-- Name: COLUMN slack_installations.removed_why; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(removed_why) ON TABLE public.slack_installations TO countersign_program;


--
-- Name: TABLE slack_links; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.slack_links TO countersign_program;
GRANT SELECT ON TABLE public.slack_links TO countersign_directory;
GRANT SELECT ON TABLE public.slack_links TO countersign_reader;


--
-- Name: COLUMN slack_links.used_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(used_at) ON TABLE public.slack_links TO countersign_program;


--
-- Name: TABLE slack_states; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.slack_states TO countersign_program;
GRANT SELECT ON TABLE public.slack_states TO countersign_directory;
GRANT SELECT ON TABLE public.slack_states TO countersign_reader;


--
-- Name: COLUMN slack_states.state_sha256; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(state_sha256) ON TABLE public.slack_states TO countersign_program;


--
-- Name: COLUMN slack_states.link_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(link_id) ON TABLE public.slack_states TO countersign_program;


--
-- Name: COLUMN slack_states.expires_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(expires_at) ON TABLE public.slack_states TO countersign_program;


--
-- Name: TABLE slack_tokens; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT,DELETE ON TABLE public.slack_tokens TO countersign_program;


--
-- Name: COLUMN slack_tokens.installation_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(installation_id) ON TABLE public.slack_tokens TO countersign_program;
GRANT SELECT(installation_id) ON TABLE public.slack_tokens TO countersign_directory;
GRANT SELECT(installation_id) ON TABLE public.slack_tokens TO countersign_reader;


--
-- Name: COLUMN slack_tokens.key_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(key_id) ON TABLE public.slack_tokens TO countersign_program;
GRANT SELECT(key_id) ON TABLE public.slack_tokens TO countersign_directory;
GRANT SELECT(key_id) ON TABLE public.slack_tokens TO countersign_reader;


--
-- Name: COLUMN slack_tokens.token; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(token) ON TABLE public.slack_tokens TO countersign_program;


--
-- Name: COLUMN slack_tokens.expires_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(expires_at) ON TABLE public.slack_tokens TO countersign_program;
GRANT SELECT(expires_at) ON TABLE public.slack_tokens TO countersign_directory;
GRANT SELECT(expires_at) ON TABLE public.slack_tokens TO countersign_reader;


--
-- Name: COLUMN slack_tokens.refreshing_until; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(refreshing_until) ON TABLE public.slack_tokens TO countersign_program;
GRANT SELECT(refreshing_until) ON TABLE public.slack_tokens TO countersign_directory;
GRANT SELECT(refreshing_until) ON TABLE public.slack_tokens TO countersign_reader;


--
-- Name: TABLE steps; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.steps TO countersign_program;
GRANT SELECT ON TABLE public.steps TO countersign_directory;
GRANT SELECT ON TABLE public.steps TO countersign_reader;


--
-- Name: COLUMN steps.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.params; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(params) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.result; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(result) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.error; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.attempt; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(attempt) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.lease_owner; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lease_owner) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.lease_expires_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(lease_expires_at) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.next_try_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(next_try_at) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.started_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(started_at) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.finished_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(finished_at) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.was_blocked; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(was_blocked) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.waited; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(waited) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.kept; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(kept) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.error_code; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(error_code) ON TABLE public.steps TO countersign_program;


--
-- Name: COLUMN steps.version; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(version) ON TABLE public.steps TO countersign_program;


--
-- Name: TABLE tenant_leaves; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.tenant_leaves TO countersign_program;
GRANT SELECT,INSERT ON TABLE public.tenant_leaves TO countersign_directory;
GRANT SELECT ON TABLE public.tenant_leaves TO countersign_reader;


--
-- Name: TABLE tenants; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.tenants TO countersign_program;
GRANT INSERT ON TABLE public.tenants TO countersign_directory;


--
-- Name: COLUMN tenants.tenant; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(tenant) ON TABLE public.tenants TO countersign_directory;
GRANT SELECT(tenant) ON TABLE public.tenants TO countersign_reader;


--
-- Name: COLUMN tenants.audit_seq; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(audit_seq) ON TABLE public.tenants TO countersign_program;
GRANT SELECT(audit_seq),UPDATE(audit_seq) ON TABLE public.tenants TO countersign_directory;
GRANT SELECT(audit_seq) ON TABLE public.tenants TO countersign_reader;


--
-- Name: COLUMN tenants.mocked; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(mocked) ON TABLE public.tenants TO countersign_directory;
GRANT SELECT(mocked) ON TABLE public.tenants TO countersign_reader;


--
-- Name: COLUMN tenants.audit_hash; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(audit_hash) ON TABLE public.tenants TO countersign_program;
GRANT SELECT(audit_hash),UPDATE(audit_hash) ON TABLE public.tenants TO countersign_directory;
GRANT SELECT(audit_hash) ON TABLE public.tenants TO countersign_reader;


--
-- Name: TABLE votes; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.votes TO countersign_program;
GRANT SELECT ON TABLE public.votes TO countersign_directory;
GRANT SELECT ON TABLE public.votes TO countersign_reader;


--
-- Name: COLUMN votes.withdrawn_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(withdrawn_at) ON TABLE public.votes TO countersign_program;


--
-- Name: TABLE waits; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT,INSERT ON TABLE public.waits TO countersign_program;


--
-- Name: COLUMN waits.wait_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(wait_id) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(wait_id) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.run_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(run_id) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(run_id) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.step; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(step) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(step) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.type; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(type) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(type) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.correlation_key; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(correlation_key) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(correlation_key) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.deadline; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(deadline) ON TABLE public.waits TO countersign_program;
GRANT SELECT(deadline) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(deadline) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.escalate_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(escalate_at) ON TABLE public.waits TO countersign_program;
GRANT SELECT(escalate_at) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(escalate_at) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.status; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(status) ON TABLE public.waits TO countersign_program;
GRANT SELECT(status) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(status) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.approval_id; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(approval_id) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(approval_id) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.created_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(created_at) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(created_at) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.resolved_at; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(resolved_at) ON TABLE public.waits TO countersign_program;
GRANT SELECT(resolved_at) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(resolved_at) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.correlate; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT SELECT(correlate) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(correlate) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.progress; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(progress) ON TABLE public.waits TO countersign_program;
GRANT SELECT(progress) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(progress) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.moments; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(moments) ON TABLE public.waits TO countersign_program;
GRANT SELECT(moments) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(moments) ON TABLE public.waits TO countersign_reader;


--
-- Name: COLUMN waits.turn; Type: ACL; Schema: public; Owner: countersign_owner
--

GRANT UPDATE(turn) ON TABLE public.waits TO countersign_program;
GRANT SELECT(turn) ON TABLE public.waits TO countersign_directory;
GRANT SELECT(turn) ON TABLE public.waits TO countersign_reader;


--
-- PostgreSQL database dump complete
--

\unrestrict GMdOpNUqSmDLj3KtbF1Sd46cXLDhoq2egTyQfXDfgzXBfboTcmxWIY3hJDUWj9I

