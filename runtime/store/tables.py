"""The declared tables (design, section 7). Every invariant that the database can hold, it holds here.

Documents whose digest matters are `json`, not `jsonb`: the text is kept as it was written.
"""

from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from runtime.model.approval import ApprovalStatus, AskKind, VoteVerdict
from runtime.model.states import EffectStatus, NotificationStatus, RunStatus, StepStatus, WaitStatus, WaitType

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _text(name: str, **kw: Any) -> Column[str]:
    return Column(name, Text, nullable=kw.pop("nullable", False), **kw)


def _time(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def _json(name: str, *, nullable: bool = False) -> Column[Any]:
    return Column(name, JSON, nullable=nullable)


def _int(name: str, default: int | None = None) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=None if default is None else text(str(default)))


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, server_default=text("false"))


def _one_of(column: str, states: type[StrEnum]) -> CheckConstraint:
    values = ", ".join(f"'{state}'" for state in states)
    return CheckConstraint(f"{column} IN ({values})", name=column)


def _partial(name: str, *columns: str, where: str, unique: bool = False) -> Index:
    return Index(name, *columns, unique=unique, postgresql_where=text(where))


def _run_id(**kw: Any) -> Column[str]:
    return Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False, **kw)


definitions = Table(
    "definitions",
    metadata,
    _text("name"),
    _int("version"),
    _text("digest"),
    Column("canonical", LargeBinary, nullable=False),
    _time("created_at"),
    PrimaryKeyConstraint("name", "version"),
    CheckConstraint("version >= 1", name="version"),
)

tenants = Table(
    "tenants",
    metadata,
    _text("tenant", primary_key=True),
    _text("salt"),  # of the commitments that stand in for redacted values; never in evidence
)

runs = Table(
    "runs",
    metadata,
    _text("run_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    _text("trigger_type"),
    _text("trigger_ref"),
    _json("trigger"),
    _text("definition_name"),
    _int("definition_version"),
    _text("definition_digest"),
    _text("status"),
    _int("version", 0),  # of the snapshot: rises with every commit
    _text("requested_by"),
    _text("requester_kind"),
    _text("submitted_by"),
    _json("requester_accounts"),  # the Slack accounts behind both, as they were
    _text("request_id"),
    _text("salt"),  # the tenant's
    _int("writes", 0),
    _int("audit_seq", 0),
    _text("audit_hash"),
    _text("error", server_default=""),
    _flag("sealed"),  # its evidence bundle has been begun
    _time("created_at"),
    _time("updated_at"),
    _time("finished_at", nullable=True),
    # a trigger is claimed once
    UniqueConstraint("tenant", "trigger_type", "trigger_ref"),
    ForeignKeyConstraint(["definition_name", "definition_version"], ["definitions.name", "definitions.version"]),
    _one_of("status", RunStatus),
    CheckConstraint(
        "(status IN ('succeeded', 'failed_terminal', 'canceled')) = (finished_at IS NOT NULL)", name="finished"
    ),
    _partial("ix_runs_queued", "created_at", where="status = 'queued'"),
    _partial("ix_runs_unsealed", "finished_at", where="finished_at IS NOT NULL AND NOT sealed"),
)

steps = Table(
    "steps",
    metadata,
    _run_id(),
    _text("path"),
    _int("position"),
    _text("verb"),
    _text("status"),
    _json("params", nullable=True),
    _json("result", nullable=True),
    _text("error", server_default=""),
    _flag("is_read"),
    _int("attempt", 0),  # the fencing token of the lease
    _text("lease_owner", nullable=True),
    _time("lease_expires_at", nullable=True),
    _time("next_try_at", nullable=True),
    _time("started_at", nullable=True),
    _time("finished_at", nullable=True),
    PrimaryKeyConstraint("run_id", "path"),
    _one_of("status", StepStatus),
    # what a worker may lease: reads that are free, or whose lease or back-off has run out
    _partial("ix_steps_reads", "next_try_at", where="is_read AND status IN ('ready', 'running', 'failed_retryable')"),
)

effects = Table(
    "effects",
    metadata,
    _text("effect_id", primary_key=True),
    _run_id(),
    _text("tenant"),
    _text("step"),  # "" for what the system itself sends, such as a card
    _text("connector"),
    _text("operation"),
    _text("target"),
    _json("fields"),
    _text("tier"),
    _text("reversible_by", nullable=True),
    _json("redact"),
    _text("idempotency_key"),
    _text("in_doubt"),
    _text("digest"),
    _text("dedupe_key"),  # SHA-256 of (definition, run, step, command): the same plan twice is one row
    _text("correlation_key", server_default=""),
    Column("timeout_s", Float, nullable=False),
    _json("retry"),
    _text("status"),
    _int("attempt", 0),  # the fencing token of the lease
    _int("tries", 0),  # attempts that reached the connector
    _int("postponed", 0),  # times in a row that policy could not be asked
    _text("lease_owner", nullable=True),
    _time("lease_expires_at", nullable=True),
    _time("next_try_at"),
    _time("give_up_at"),
    _time("started_at", nullable=True),  # an attempt began and its outcome is not yet known
    _flag("claimed"),  # holds the idempotency key
    _text("approval_id", nullable=True),
    _text("decision_id", nullable=True),
    _text("error", server_default=""),
    _time("created_at"),
    UniqueConstraint("dedupe_key"),
    _one_of("status", EffectStatus),
    # one effect at a time acts under a key
    _partial("uq_effects_claimed_key", "tenant", "idempotency_key", where="claimed", unique=True),
    _partial("ix_effects_due", "next_try_at", where="status = 'pending' OR status = 'in_doubt' AND in_doubt <> 'ask'"),
    _partial("ix_effects_leased", "lease_expires_at", where="status = 'leased'"),
    Index("ix_effects_run", "run_id"),
    CheckConstraint("(status = 'leased') = (lease_owner IS NOT NULL)", name="lease"),
    CheckConstraint("tier IN ('low', 'medium', 'high')", name="tier"),
    CheckConstraint("in_doubt IN ('retry', 'reconcile', 'ask')", name="in_doubt"),
)

waits = Table(
    "waits",
    metadata,
    _text("wait_id", primary_key=True),
    _run_id(),
    _text("step"),
    _text("type"),
    _text("correlation_key"),
    _text("token"),
    _int("expected_version"),  # of the run, when the wait was opened
    _time("deadline"),
    _time("escalate_at", nullable=True),
    _json("escalate_to"),
    _json("captured"),
    _text("status"),
    _text("approval_id", nullable=True),
    _time("created_at"),
    _time("resolved_at", nullable=True),
    _one_of("type", WaitType),
    _one_of("status", WaitStatus),
    Index("ix_waits_correlation", "correlation_key"),
    Index("ix_waits_run", "run_id"),
    _partial("uq_waits_correlation", "correlation_key", where="status = 'active'", unique=True),
    _partial("uq_waits_step", "run_id", "step", where="status = 'active'", unique=True),
    _partial("ix_waits_deadline", "deadline", where="status = 'active'"),
    _partial("ix_waits_escalate", "escalate_at", where="status = 'active'"),
)

notifications = Table(
    "notifications",
    metadata,
    _text("notification_id", primary_key=True),
    _text("tenant"),
    _text("kind"),
    _text("dedupe_key"),
    _text("correlation_key"),
    _json("payload"),
    _json("actor"),
    _text("request_id"),
    _text("status"),
    _json("outcome", nullable=True),
    _int("deliveries", 1),
    _time("received_at"),
    _time("applied_at", nullable=True),
    UniqueConstraint("dedupe_key"),
    _one_of("status", NotificationStatus),
    _partial("ix_notifications_received", "received_at", where="status = 'received'"),
)

approvals = Table(
    "approvals",
    metadata,
    _text("approval_id", primary_key=True),
    _run_id(),
    Column("effect_id", Text, ForeignKey("effects.effect_id"), nullable=False),
    _text("step"),
    _text("kind"),
    _text("digest"),
    _text("tier"),
    _json("requirement"),
    _json("reasons"),
    _json("before"),
    _text("purpose"),
    _text("status"),
    _int("revision", 1),
    _flag("escalated"),
    _text("result", server_default=""),
    _text("channel", nullable=True),
    _text("card_ts", nullable=True),
    _json("cards"),  # every card as it was shown, oldest first
    _time("requested_at"),
    _time("expires_at"),
    _time("decided_at", nullable=True),
    _time("consumed_at", nullable=True),  # single use: set by the transaction that starts the attempt
    _one_of("kind", AskKind),
    _one_of("status", ApprovalStatus),
    Index("ix_approvals_run", "run_id"),
    Index("ix_approvals_effect", "effect_id"),
    # an effect asks one question of a kind at a time
    _partial("uq_approvals_open", "effect_id", "kind", where="status = 'requested'", unique=True),
)

votes = Table(
    "votes",
    metadata,
    Column("approval_id", Text, ForeignKey("approvals.approval_id"), nullable=False),
    _text("person"),
    _text("person_name"),
    _json("groups"),
    _text("verdict"),
    _text("reason"),
    _text("team"),
    _text("account"),
    Column("notification_id", Text, ForeignKey("notifications.notification_id"), nullable=False),
    _time("at"),
    PrimaryKeyConstraint("approval_id", "person"),  # people count, not accounts
    UniqueConstraint("approval_id", "team", "account"),  # and nobody counts twice by another name
    _one_of("verdict", VoteVerdict),
)

policy_texts = Table("policy_texts", metadata, _text("digest", primary_key=True), _json("files"), _time("first_seen"))

policy_decisions = Table(
    "policy_decisions",
    metadata,
    _text("decision_id", primary_key=True),
    _run_id(),
    Column("effect_id", Text, ForeignKey("effects.effect_id"), nullable=False),
    _int("seq"),  # of the audit leaf that names it
    _text("outcome"),
    _json("document"),
    _text("digest"),
    Column("policy_digest", Text, ForeignKey("policy_texts.digest"), nullable=False),
    _time("at"),
    UniqueConstraint("run_id", "seq"),
    CheckConstraint("outcome IN ('allow', 'deny', 'needs_approval')", name="outcome"),
)

receipts = Table(
    "receipts",
    metadata,
    _text("receipt_id", primary_key=True),
    _run_id(),
    _text("tenant"),
    Column("effect_id", Text, ForeignKey("effects.effect_id"), nullable=False),
    _int("seq"),  # of the audit leaf that names it
    _text("idempotency_key"),
    _text("fingerprint"),
    _text("outcome"),
    _json("document"),
    _json("response", nullable=True),  # what a repeat is answered with; not part of the evidence
    _text("digest"),
    _time("at"),
    CheckConstraint("outcome IN ('success', 'failure', 'refusal', 'in_doubt')", name="outcome"),
    UniqueConstraint("run_id", "seq"),
    _partial("uq_receipts_success", "tenant", "idempotency_key", where="outcome = 'success'", unique=True),
)

audit_leaves = Table(
    "audit_leaves",
    metadata,
    _run_id(),
    _int("seq"),
    _text("prev_hash"),
    _text("hash"),
    _json("leaf"),
    PrimaryKeyConstraint("run_id", "seq"),
    CheckConstraint("seq >= 1", name="seq"),
    CheckConstraint("length(hash) = 64 AND length(prev_hash) = 64", name="hashes"),
)

evidence_bundles = Table(
    "evidence_bundles",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id"), primary_key=True),
    _int("sealed_seq"),  # the last leaf inside; what comes later is about the bundle itself
    Column("sha256", String(64), nullable=True),
    Column("size", BigInteger, nullable=True),
    _text("location", nullable=True),
    _text("version_id", nullable=True),
    _time("retention_until", nullable=True),
    _time("created_at"),
    _time("next_try_at"),
    _time("stored_at", nullable=True),
    CheckConstraint("(stored_at IS NULL) = (sha256 IS NULL)", name="stored"),
    _partial("ix_evidence_bundles_open", "next_try_at", where="stored_at IS NULL"),
)

actors = Table(
    "actors",
    metadata,
    _text("tenant"),
    _text("actor_id"),
    _text("kind"),
    _text("name"),
    _json("groups"),
    _json("grants"),  # what an agent may do at the edge
    PrimaryKeyConstraint("tenant", "actor_id"),
    CheckConstraint("kind IN ('person', 'agent')", name="kind"),
)

slack_accounts = Table(
    "slack_accounts",
    metadata,
    _text("tenant"),
    _text("team"),
    _text("account"),
    _text("actor_id"),
    # two people behind one account is a state to refuse, not to forbid: the click must be answered
    PrimaryKeyConstraint("team", "account", "tenant", "actor_id"),
    ForeignKeyConstraint(["tenant", "actor_id"], ["actors.tenant", "actors.actor_id"], ondelete="CASCADE"),
)

INSERT_ONLY = ("audit_leaves", "policy_decisions", "policy_texts", "receipts", "votes", "definitions")
