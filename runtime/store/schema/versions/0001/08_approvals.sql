-- Approvals: what people are asked, what they vote, ask and edit.

-- An approval is bound to one effect by the digest of its action, and is used once (`consumed_at`).
CREATE TABLE approvals (
    approval_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    step TEXT NOT NULL,
    kind TEXT NOT NULL,
    digest TEXT NOT NULL,
    tier TEXT NOT NULL,
    requirement JSON NOT NULL,
    reasons JSON NOT NULL,
    before JSON NOT NULL,
    purpose TEXT NOT NULL,
    status TEXT NOT NULL,
    revision INTEGER DEFAULT 1 NOT NULL,
    result JSON,
    channel TEXT,
    card_ts TEXT,
    cards JSON NOT NULL,
    requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
    expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    decided_at TIMESTAMP WITH TIME ZONE,
    consumed_at TIMESTAMP WITH TIME ZONE,
    shortfall TEXT DEFAULT '' NOT NULL,
    shown JSON,
    route JSON NOT NULL,
    joined JSON DEFAULT '[]' NOT NULL,
    prolonged_until TIMESTAMP WITH TIME ZONE,
    tenant TEXT NOT NULL,
    assignee TEXT,
    CONSTRAINT pk_approvals PRIMARY KEY (approval_id),
    CONSTRAINT fk_approvals_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_approvals_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_approvals_effect_id FOREIGN KEY (effect_id) REFERENCES effects (effect_id),
    CONSTRAINT ck_approvals_kind CHECK (kind IN ('effect', 'task', 'in_doubt', 'afterwards')),
    CONSTRAINT ck_approvals_status CHECK (status IN ('requested', 'approved', 'rejected', 'expired', 'canceled')),
    CONSTRAINT ck_approvals_assignee CHECK (assignee IS NULL OR kind = 'task')
);

-- an effect has one open approval of a kind
CREATE UNIQUE INDEX uq_approvals_open ON approvals (effect_id, kind) WHERE status = 'requested';
CREATE INDEX ix_approvals_effect ON approvals (effect_id);
-- whose card a message is; a hash serves equality alone, so no other statement is led to it
CREATE INDEX ix_approvals_card ON approvals USING hash (card_ts);
-- open requests of a tenant, by their deadline as requested and as extended
CREATE INDEX ix_approvals_open ON approvals (tenant, expires_at) WHERE status = 'requested';
CREATE INDEX ix_approvals_run ON approvals (run_id);
CREATE INDEX ix_approvals_tenant_requested_at ON approvals (tenant, requested_at);
CREATE INDEX ix_approvals_waiting ON approvals (tenant, coalesce(prolonged_until, expires_at), approval_id)
    WHERE status = 'requested';

CREATE TRIGGER write_once BEFORE UPDATE OF
    approval_id, tenant, run_id, effect_id, step, kind, digest, tier, requirement, reasons, before, purpose,
    requested_at, expires_at, shown, route
    ON approvals FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER set_once BEFORE UPDATE OF decided_at
    ON approvals FOR EACH ROW
    WHEN (OLD.decided_at IS NOT NULL AND NEW.decided_at IS DISTINCT FROM OLD.decided_at)
    EXECUTE FUNCTION refuse_rewrite();
-- A review's deadline only moves later, while it is open. The deadline of an effect's approval moves while questions
-- are open, within the pause that its requirement allows.
CREATE TRIGGER only_later BEFORE UPDATE OF prolonged_until
    ON approvals FOR EACH ROW
    WHEN (NEW.prolonged_until IS DISTINCT FROM OLD.prolonged_until
          AND NOT coalesce(OLD.status = 'requested' AND CASE OLD.kind
              WHEN 'task' THEN NEW.prolonged_until >= coalesce(OLD.prolonged_until, OLD.expires_at)
              WHEN 'effect' THEN NEW.prolonged_until BETWEEN OLD.expires_at
                  AND OLD.expires_at + (OLD.requirement ->> 'pause_on_question')::interval END, false))
    EXECUTE FUNCTION refuse_rewrite();
-- an attempt that did nothing gives its approval back; an attempt that may have acted never does
CREATE TRIGGER used_once BEFORE UPDATE OF consumed_at
    ON approvals FOR EACH ROW
    WHEN (OLD.consumed_at IS NOT NULL AND NEW.consumed_at IS DISTINCT FROM OLD.consumed_at)
    EXECUTE FUNCTION refuse_second_use();
CREATE TRIGGER no_delete BEFORE DELETE ON approvals FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON approvals FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Cards of an approval beside the one that has the thread.
CREATE TABLE card_copies (
    approval_id TEXT NOT NULL,
    place TEXT NOT NULL,
    channel TEXT NOT NULL,
    card_ts TEXT NOT NULL,
    CONSTRAINT pk_card_copies PRIMARY KEY (approval_id, place),
    CONSTRAINT fk_card_copies_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id)
);
CREATE INDEX ix_card_copies_card ON card_copies (card_ts, channel);

-- One notification is one vote. A delegated vote names delegator and delegation; nobody delegates to themselves, and
-- nobody uses break-glass for somebody else.
CREATE TABLE votes (
    approval_id TEXT NOT NULL,
    person TEXT NOT NULL,
    person_name TEXT NOT NULL,
    groups JSON NOT NULL,
    verdict TEXT NOT NULL,
    reason TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    notification_id TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    via TEXT DEFAULT 'slack' NOT NULL,
    brought_by TEXT DEFAULT '' NOT NULL,
    delegator TEXT,
    delegation JSON,
    passkey JSON,
    withdrawn_at TIMESTAMP WITH TIME ZONE,
    together JSON,
    break_glass JSON,
    CONSTRAINT pk_votes PRIMARY KEY (notification_id),
    CONSTRAINT fk_votes_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT fk_votes_notification_id FOREIGN KEY (notification_id) REFERENCES notifications (notification_id),
    CONSTRAINT ck_votes_via CHECK (via IN ('slack', 'command', 'edge')),
    CONSTRAINT ck_votes_brought_by CHECK ((via = 'edge') = (brought_by <> '')),
    CONSTRAINT ck_votes_delegator CHECK ((delegator IS NULL) = (delegation IS NULL) AND delegator <> person),
    CONSTRAINT ck_votes_break_glass CHECK (break_glass IS NULL OR verdict = 'approve' AND delegation IS NULL),
    CONSTRAINT ck_votes_verdict CHECK (verdict IN ('approve', 'reject', 'changes'))
);

-- of the votes that count: one for each person, Slack account and delegator
CREATE UNIQUE INDEX uq_votes_account ON votes (approval_id, team, account) WHERE withdrawn_at IS NULL;
CREATE UNIQUE INDEX uq_votes_delegator ON votes (approval_id, delegator) WHERE withdrawn_at IS NULL;
CREATE UNIQUE INDEX uq_votes_person ON votes (approval_id, person) WHERE withdrawn_at IS NULL;
CREATE INDEX ix_votes_approval ON votes (approval_id);
-- how often a person used break-glass
CREATE INDEX ix_votes_break_glass ON votes (person, at) WHERE break_glass IS NOT NULL;
-- what a person has decided
CREATE INDEX ix_votes_person ON votes (person, at, approval_id);

CREATE TRIGGER write_once BEFORE UPDATE OF
    approval_id, person, person_name, groups, verdict, reason, team, account, notification_id, at, via, brought_by,
    delegator, delegation, passkey, together, break_glass
    ON votes FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a vote is withdrawn once
CREATE TRIGGER set_once BEFORE UPDATE OF withdrawn_at
    ON votes FOR EACH ROW WHEN (OLD.withdrawn_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON votes FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON votes FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Questions of approvers to the requester, and the answers.
CREATE TABLE questions (
    question_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    person TEXT NOT NULL,
    person_name TEXT NOT NULL,
    question TEXT NOT NULL,
    asked_at TIMESTAMP WITH TIME ZONE NOT NULL,
    answer JSON,
    CONSTRAINT pk_questions PRIMARY KEY (question_id),
    CONSTRAINT fk_questions_tenant FOREIGN KEY (tenant) REFERENCES tenants (tenant),
    CONSTRAINT fk_questions_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id)
);

-- one open question of each person
CREATE UNIQUE INDEX uq_questions_open ON questions (approval_id, person) WHERE answer IS NULL;
CREATE INDEX ix_questions_approval ON questions (approval_id);

CREATE TRIGGER write_once BEFORE UPDATE OF question_id, tenant, approval_id, person, person_name, question, asked_at
    ON questions FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- a question is answered once
CREATE TRIGGER set_once BEFORE UPDATE OF answer
    ON questions FOR EACH ROW WHEN (OLD.answer IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON questions FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON questions FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- How often a person's clicks on a request were refused; the first ones are also in the run's chain.
CREATE TABLE refusals (
    approval_id TEXT NOT NULL,
    who TEXT NOT NULL,
    code TEXT NOT NULL,
    times BIGINT NOT NULL,
    CONSTRAINT pk_refusals PRIMARY KEY (approval_id, who, code),
    CONSTRAINT fk_refusals_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id)
);

-- Who edited a request. The edit voids the approval and gives the effect another digest.
CREATE TABLE edits (
    approval_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    effect_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    person TEXT NOT NULL,
    person_name TEXT NOT NULL,
    groups JSON NOT NULL,
    reason TEXT NOT NULL,
    team TEXT NOT NULL,
    account TEXT NOT NULL,
    replaced TEXT NOT NULL,
    digest TEXT NOT NULL,
    changes JSON NOT NULL,
    notification_id TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_edits PRIMARY KEY (approval_id),
    CONSTRAINT fk_edits_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT fk_edits_run_id FOREIGN KEY (run_id) REFERENCES runs (run_id),
    CONSTRAINT fk_edits_effect_id FOREIGN KEY (effect_id) REFERENCES effects (effect_id),
    CONSTRAINT fk_edits_notification_id FOREIGN KEY (notification_id) REFERENCES notifications (notification_id),
    CONSTRAINT ck_edits_another CHECK (digest <> replaced)
);

CREATE INDEX ix_edits_effect_id ON edits (effect_id);

CREATE TRIGGER insert_only BEFORE UPDATE OR DELETE ON edits FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON edits FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();

-- Moments of a request that only metrics use: first looks, reminders, escalations.
CREATE TABLE marks (
    approval_id TEXT NOT NULL,
    mark TEXT NOT NULL,
    who TEXT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_marks PRIMARY KEY (approval_id, mark, who),
    CONSTRAINT fk_marks_approval_id FOREIGN KEY (approval_id) REFERENCES approvals (approval_id),
    CONSTRAINT ck_marks_mark CHECK (mark IN ('looked', 'reminded', 'escalated'))
);

-- The link to the page where a person signs or registers. `link_id` is the SHA-256 of its token, which is not stored.
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

CREATE TRIGGER write_once BEFORE UPDATE OF
    link_id, tenant, person, purpose, nonce, made_at, expires_at, approval_id, stamp, reason, ticket, team, account,
    invited_by, policy
    ON passkey_links FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
-- it is noted once when a link was first opened
CREATE TRIGGER set_once BEFORE UPDATE OF opened_at
    ON passkey_links FOR EACH ROW WHEN (OLD.opened_at IS NOT NULL) EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_delete BEFORE DELETE ON passkey_links FOR EACH ROW EXECUTE FUNCTION refuse_delete();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON passkey_links FOR EACH STATEMENT EXECUTE FUNCTION refuse_truncate();
