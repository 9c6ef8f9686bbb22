-- Guards, after every other part. What was asked, decided and done is written once, and no record goes away: a trigger
-- says so to everybody, and rights (roles.py) leave the program no way round the triggers.

CREATE FUNCTION refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is never emptied', TG_TABLE_NAME;
END
$$;

CREATE FUNCTION refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'no row of % is deleted', TG_TABLE_NAME;
END
$$;

CREATE FUNCTION refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this of % is written once', TG_TABLE_NAME;
END
$$;

DO $$
DECLARE
    kept TEXT;
BEGIN
    FOREACH kept IN ARRAY ARRAY['audit_leaves', 'policy_decisions', 'policy_texts', 'receipts', 'reads', 'votes',
        'definitions', 'runs', 'steps', 'waits', 'approvals', 'effects', 'notifications', 'evidence_bundles', 'tenants',
        'directories', 'signing_keys', 'tenant_leaves', 'log_checkpoints', 'log_stamps', 'log_entries', 'log_heads',
        'log_tiles']
    LOOP
        EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I
                        FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate()', kept);
    END LOOP;
    FOREACH kept IN ARRAY ARRAY['runs', 'steps', 'waits', 'approvals', 'votes', 'effects', 'notifications', 'evidence_bundles',
        'tenants', 'directories', 'signing_keys', 'log_checkpoints', 'log_stamps', 'log_heads', 'log_tiles']
    LOOP
        EXECUTE format('CREATE TRIGGER no_delete BEFORE DELETE ON %I
                        FOR EACH ROW EXECUTE FUNCTION refuse_delete()', kept);
    END LOOP;
END
$$;

-- `write_once`: what is told at the beginning; the program has no right to update these columns at all.
-- They fire only where a statement names such a column, so they cost the others nothing.
CREATE TRIGGER write_once BEFORE UPDATE OF
    run_id, tenant, trigger_type, trigger_ref, definition_name, definition_version,
    requested_by, requester_kind, submitted_by, requester_accounts, request_id, salt, evidence_format, created_at, parent
    ON runs FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, path, position, verb, handler, is_read
    ON steps FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF wait_id, run_id, step, type, correlation_key, correlate, token, approval_id, created_at
    ON waits FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF
    approval_id, tenant, run_id, effect_id, step, kind, digest, tier, requirement, reasons, before, purpose,
    requested_at, expires_at, shortfall, shown, route
    ON approvals FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

-- a vote stays as it was given; that it was withdrawn is said once
CREATE TRIGGER write_once BEFORE UPDATE OF
    approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at, via, brought_by,
    delegator, delegation, passkey, together, break_glass
    ON votes FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF withdrawn_at
    ON votes FOR EACH ROW WHEN (OLD.withdrawn_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();

-- a review may be given more time while it is open, and no less, ever; the deadline of an effect's request moves while
-- questions are open, within the time for which its requirement lets the clock stand still
CREATE TRIGGER only_later BEFORE UPDATE OF prolonged_until ON approvals FOR EACH ROW
    WHEN (NEW.prolonged_until IS DISTINCT FROM OLD.prolonged_until
          AND NOT coalesce(OLD.status = 'requested' AND CASE OLD.kind
              WHEN 'task' THEN NEW.prolonged_until >= coalesce(OLD.prolonged_until, OLD.expires_at)
              WHEN 'effect' THEN NEW.prolonged_until BETWEEN OLD.expires_at
                  AND OLD.expires_at + (OLD.requirement ->> 'pause_on_question')::interval END, false))
    EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF
    effect_id, run_id, tenant, purpose, step, connector, operation, target, tier, reversible_by, redact, hides,
    idempotency_key, dedupe_key, correlation_key, created_at
    ON effects FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF
    notification_id, tenant, kind, dedupe_key, correlation_key, actor, request_id, received_at
    ON notifications FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF run_id, sealed_seq, sealed_cards, key_id, retain_days, created_at
    ON evidence_bundles FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

-- a hold stays on record when it is lifted, and is lifted once
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON evidence_holds FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON evidence_holds FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF hold_id, tenant, kind, subject, reason, set_by, set_at
    ON evidence_holds FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF lifted_reason, lifted_by, lifted_at
    ON evidence_holds FOR EACH ROW WHEN (OLD.lifted_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON evidence_held FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON evidence_held FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF run_id ON evidence_held FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

-- a delegation stays on record when it is over, and is ended once
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON delegations FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON delegations FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF
    delegation_id, tenant, delegator, delegate, groups, starts_at, ends_at, recorded_by, reason, recorded_at
    ON delegations FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF ended_at, ended_by, ended_reason
    ON delegations FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();

-- a link, and an installation by it, stay on record; a link is used once, and an installation ends once
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON slack_links FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON slack_links FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF link_id, tenant, secret_sha256, made_by, reason, policy, made_at, expires_at
    ON slack_links FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF used_at
    ON slack_links FOR EACH ROW WHEN (OLD.used_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON slack_installations FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON slack_installations FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF
    installation_id, tenant, team, enterprise, name, app_id, bot_user, bot_id, scopes, link_id, installed_by, installed_at
    ON slack_installations FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF removed_at, removed_why
    ON slack_installations FOR EACH ROW WHEN (OLD.removed_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
-- a passkey stays on record when it is revoked, which is once; its authenticator counts
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON passkeys FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON passkeys FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF
    tenant, credential_id, person, public_key, cose_key, algorithm, origin, invited_by, reason, registered_at
    ON passkeys FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF revoked_at, revoked_by, revoked_reason
    ON passkeys FOR EACH ROW WHEN (OLD.revoked_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();

-- a link is opened once
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON passkey_links FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON passkey_links FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF
    link_id, tenant, person, purpose, nonce, made_at, expires_at, approval_id, stamp, reason, ticket, team, account,
    invited_by, policy
    ON passkey_links FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF opened_at
    ON passkey_links FOR EACH ROW WHEN (OLD.opened_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
-- a question stays as it was asked, and is answered once
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON questions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON questions FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF
    question_id, tenant, approval_id, person, person_name, question, asked_at
    ON questions FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF answer
    ON questions FOR EACH ROW WHEN (OLD.answer IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();

-- a version moves between draft, active and retired, and stays the version that it is
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON definition_lives FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON definition_lives FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF tenant, name, version, trigger_type, arrived_at
    ON definition_lives FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- an entity is marked as deleted, and its row stays; what was done under a key stands as it was done
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON entities FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_delete BEFORE DELETE ON entities FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER write_once BEFORE UPDATE OF tenant, entity, entity_id
    ON entities FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON entity_changes FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON edits FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, number, key_id
    ON signing_keys FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, size, root, note, signed_at
    ON log_checkpoints FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, size, stamp, asked_at
    ON log_stamps FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER write_once BEFORE UPDATE OF tenant, salt, mocked
    ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();

-- `forget_once`: what the work was done with. When that is over, what nobody may see is taken out of it.
CREATE TRIGGER forget_once BEFORE UPDATE OF trigger, forgotten ON runs FOR EACH ROW
    WHEN (OLD.finished_at IS NULL OR OLD.forgotten OR NOT NEW.forgotten) EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER forget_once BEFORE UPDATE OF fields, forgotten ON effects FOR EACH ROW
    WHEN ((OLD.status NOT IN ('dispatched', 'rejected', 'failed') OR OLD.forgotten IS NOT NULL OR NEW.forgotten IS NULL)
          AND NOT (OLD.status = 'deferred' AND NEW.status = 'pending'
                   AND OLD.forgotten IS NULL AND NEW.forgotten IS NULL))
    EXECUTE FUNCTION refuse_rewrite();

-- what people were asked about changes by an edit on record, which voids what they were asked, and by nothing else
CREATE FUNCTION refuse_unedited() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM edits WHERE approval_id = OLD.approval_id AND effect_id = OLD.effect_id
                      AND replaced = OLD.digest AND digest = NEW.digest)
    THEN
        RAISE EXCEPTION 'this of % changes by an edit on record alone', TG_TABLE_NAME;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER only_edited BEFORE UPDATE OF fields ON effects FOR EACH ROW
    WHEN (OLD.status = 'deferred' AND NEW.status = 'pending') EXECUTE FUNCTION refuse_unedited();

CREATE TRIGGER forget_once BEFORE UPDATE OF payload, forgotten ON notifications FOR EACH ROW
    WHEN (OLD.applied_at IS NULL OR OLD.forgotten OR NOT NEW.forgotten) EXECUTE FUNCTION refuse_rewrite();

-- `set_once`: what is told later, and then stays.
CREATE TRIGGER set_once BEFORE UPDATE OF finished_at, trigger_digest ON runs FOR EACH ROW
    WHEN (OLD.finished_at IS NOT NULL AND NEW.finished_at IS DISTINCT FROM OLD.finished_at
          OR OLD.trigger_digest IS NOT NULL AND NEW.trigger_digest IS DISTINCT FROM OLD.trigger_digest)
    EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER set_once BEFORE UPDATE OF resolved_at ON waits FOR EACH ROW
    WHEN (OLD.resolved_at IS NOT NULL AND NEW.resolved_at IS DISTINCT FROM OLD.resolved_at)
    EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER set_once BEFORE UPDATE OF decided_at ON approvals FOR EACH ROW
    WHEN (OLD.decided_at IS NOT NULL AND NEW.decided_at IS DISTINCT FROM OLD.decided_at)
    EXECUTE FUNCTION refuse_rewrite();

-- an attempt that is known to have done nothing gives its approval back; one that may have acted never does
CREATE FUNCTION refuse_second_use() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER used_once BEFORE UPDATE OF consumed_at ON approvals FOR EACH ROW
    WHEN (OLD.consumed_at IS NOT NULL AND NEW.consumed_at IS DISTINCT FROM OLD.consumed_at)
    EXECUTE FUNCTION refuse_second_use();

CREATE TRIGGER set_once BEFORE UPDATE OF outcome, applied_at ON notifications FOR EACH ROW
    WHEN (OLD.applied_at IS NOT NULL
          AND (NEW.applied_at IS DISTINCT FROM OLD.applied_at OR NEW.outcome::text IS DISTINCT FROM OLD.outcome::text))
    EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER set_once_of_log BEFORE UPDATE OF log_size, log_stamped ON evidence_bundles FOR EACH ROW
    WHEN (OLD.log_size IS NOT NULL AND (NEW.log_size, NEW.log_stamped) IS DISTINCT FROM (OLD.log_size, OLD.log_stamped))
    EXECUTE FUNCTION refuse_rewrite();

CREATE TRIGGER set_once BEFORE UPDATE OF status, file_number, sha256, size, location, version_id, retention_until, stored_at
    ON evidence_bundles FOR EACH ROW WHEN (OLD.stored_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
