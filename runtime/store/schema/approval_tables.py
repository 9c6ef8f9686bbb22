"""Tables of approvals: requests, copies of cards, votes, questions, refused clicks, edits and marks."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from runtime.model.approval import AskKind
from runtime.model.metrics import Mark
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Via, VoteVerdict
from runtime.store.schema.base import (
    document,
    insert_only,
    kept,
    metadata,
    moment,
    number,
    one_of,
    partial,
    run_id,
    words,
    working,
)

# A request to people: requirement, digest of the action, reasons, route of its cards, each card as it was shown. An
# effect has one open request of each kind.
approvals = Table(
    "approvals",
    metadata,
    words("approval_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),  # the run's
    run_id(),
    Column("effect_id", Text, ForeignKey("effects.effect_id"), nullable=False),
    words("step"),
    words("kind"),
    words("digest"),
    words("tier"),
    document("requirement"),
    document("reasons"),
    document("before"),
    words("purpose"),
    words("status"),
    number("revision", 1),
    document("joined", default="[]"),  # groups that may decide, too, since time has run short
    document("result", nullable=True),  # what became of it, once that is known
    words("channel", nullable=True),
    words("card_ts", nullable=True),
    document("cards"),  # every card as it was shown, oldest first
    moment("requested_at"),
    moment("expires_at"),  # as it was asked
    moment("prolonged_until", nullable=True),  # since it was given more time
    moment("decided_at", nullable=True),
    moment("consumed_at", nullable=True),  # single use: set by the transaction that starts the attempt
    words("shortfall", server_default=""),  # why too few can fulfil it, "" where enough can
    words("assignee", nullable=True),  # who has claimed a review
    document("shown", nullable=True),  # what its author declared for its card, as it was when people were asked
    document("route"),  # where its cards go, as it was decided when people were asked
    one_of("kind", AskKind),
    one_of("status", ApprovalStatus),
    CheckConstraint("assignee IS NULL OR kind = 'task'", name="assignee"),
    Index("ix_approvals_run", "run_id"),
    Index("ix_approvals_effect", "effect_id"),
    # whose card a message is; a hash serves equality alone, so no other statement is led to it
    Index("ix_approvals_card", "card_ts", postgresql_using="hash"),
    Index("ix_approvals_tenant_requested_at", "tenant", "requested_at"),
    # what waits for a tenant's people
    partial("ix_approvals_open", "tenant", "expires_at", where="status = 'requested'"),
    # the same, in the order in which it is looked through
    partial(
        "ix_approvals_waiting",
        "tenant",
        text("coalesce(prolonged_until, expires_at)"),
        "approval_id",
        where="status = 'requested'",
    ),
    # an effect asks one question of a kind at a time
    partial("uq_approvals_open", "effect_id", "kind", where="status = 'requested'", unique=True),
    info=kept(
        "status",
        "revision",
        "joined",
        "result",
        "channel",
        "card_ts",
        "cards",
        "prolonged_until",
        "shortfall",
        "decided_at",
        "consumed_at",
        "assignee",
    ),
)


# Where cards are, beside the card with the thread.
card_copies = Table(
    "card_copies",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    words("place"),  # of its route: a conversation, or a person
    words("channel"),  # the conversation in which it stands
    words("card_ts"),
    PrimaryKeyConstraint("approval_id", "place"),
    Index("ix_card_copies_card", "card_ts", "channel"),  # whose card a message is
    info=working(),
)


# A vote: person, Slack account, verdict, reason, and the signature of a passkey. Of the votes that count, a request
# has one per person, per account and per delegator.
votes = Table(
    "votes",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    words("person"),
    words("person_name"),
    document("groups"),
    words("verdict"),
    words("reason"),
    words("team"),
    words("account"),
    Column("notification_id", Text, ForeignKey("notifications.notification_id"), nullable=False),
    moment("at"),
    words("via", server_default="slack"),  # how it came in
    words("brought_by", server_default=""),  # the caller of the edge that brought it
    one_of("via", Via),
    words("delegator", nullable=True),  # for whom it was given
    document("delegation", nullable=True),  # by which it was, as it said then
    document("passkey", nullable=True),  # with which it was signed, as it stands in evidence
    moment("withdrawn_at", nullable=True),  # counts no more since; its person may vote again
    document("together", nullable=True),  # the act that decided several at once: its id, and how many
    document("break_glass", nullable=True),  # what was said where it does without the others
    document("console", nullable=True),  # by which account of which issuer it was given there, and what the page showed
    CheckConstraint("(via = 'console') = (console IS NOT NULL)", name="console"),
    CheckConstraint("(via = 'edge') = (brought_by <> '')", name="brought_by"),
    CheckConstraint("(delegator IS NULL) = (delegation IS NULL) AND delegator <> person", name="delegator"),
    CheckConstraint("break_glass IS NULL OR verdict = 'approve' AND delegation IS NULL", name="break_glass"),
    partial("ix_votes_break_glass", "person", "at", where="break_glass IS NOT NULL"),
    PrimaryKeyConstraint("notification_id"),  # one word, one vote
    one_of("verdict", VoteVerdict),
    Index("ix_votes_approval", "approval_id"),
    # of the votes that count: people count, not accounts
    partial("uq_votes_person", "approval_id", "person", where="withdrawn_at IS NULL", unique=True),
    # and nobody counts twice by another name
    partial("uq_votes_account", "approval_id", "team", "account", where="withdrawn_at IS NULL", unique=True),
    # nor by what others vote for them
    partial("uq_votes_delegator", "approval_id", "delegator", where="withdrawn_at IS NULL", unique=True),
    Index("ix_votes_person", "person", "at", "approval_id"),  # what somebody has decided
    info=kept("withdrawn_at"),
)


# What an approver asked about a request, and the answer. Each person has one open question.
questions = Table(
    "questions",
    metadata,
    words("question_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    words("person"),
    words("person_name"),
    words("question"),
    moment("asked_at"),
    document("answer", nullable=True),  # by whom, in which words, and when
    Index("ix_questions_approval", "approval_id"),
    # one question at a time of each person
    partial("uq_questions_open", "approval_id", "person", where="answer IS NULL", unique=True),
    info=kept("answer"),
)


# How often a person's click on a request did not count: the first ones are on record, then fewer and fewer.
refusals = Table(
    "refusals",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    words("who"),  # the person, or the account that is nobody's
    words("code"),
    Column("times", BigInteger, nullable=False),
    PrimaryKeyConstraint("approval_id", "who", "code"),
    info=working(),
)


# Who edited and resubmitted a request: the request that it voids, both digests, what changed. An effect's fields
# change only with an edit.
edits = Table(
    "edits",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), primary_key=True),  # that it voided
    run_id(),
    Column("effect_id", Text, ForeignKey("effects.effect_id"), nullable=False),
    Column("seq", Integer, nullable=False),  # of its leaf in the run's chain
    words("person"),
    words("person_name"),
    document("groups"),
    words("reason"),
    words("team"),
    words("account"),
    words("replaced"),  # digest of the action as it was
    words("digest"),  # and as it is since
    document("changes"),  # by param, before and after
    Column("notification_id", Text, ForeignKey("notifications.notification_id"), nullable=False),
    moment("at"),
    CheckConstraint("digest <> replaced", name="another"),
    Index("ix_edits_effect_id", "effect_id"),
    info=insert_only(),
)


# When a request was looked at, escalated or reminded of; for metrics.
marks = Table(
    "marks",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    words("mark"),
    words("who"),  # looked, each person once; else the moment of the wait that it was
    moment("at"),
    PrimaryKeyConstraint("approval_id", "mark", "who"),
    one_of("mark", Mark),
    info=working(),
)
