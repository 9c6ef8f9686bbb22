"""Tables of runs: runs and steps, the outbox of effects, waits, notifications, and circuit breakers.

What belongs to a run is written by whoever holds the run's row, and no run ever goes away. So no foreign key looks for
the run once more; the fault harness does (`rows_name_what_is_there`).
"""

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from runtime.model.action import Tier
from runtime.model.effect import OnDoubt, Purpose
from runtime.model.states import EffectStatus, NotificationStatus, RunStatus, StepStatus, WaitStatus, WaitType
from runtime.model.wait import Correlate
from runtime.store.schema.base import (
    document,
    flag,
    kept,
    metadata,
    moment,
    number,
    one_of,
    partial,
    words,
    working,
)

# A run: trigger, requester, status, count of writes, head of its audit chain. A trigger is claimed once. A runbook has
# at most one open run about one subject.
runs = Table(
    "runs",
    metadata,
    words("run_id", primary_key=True),
    Column("tenant", Text, ForeignKey("tenants.tenant"), nullable=False),
    words("trigger_type"),
    words("trigger_ref"),
    document("trigger"),
    words("definition_name"),
    number("definition_version"),
    words("status"),
    number("version", 0),  # of the snapshot: rises with every commit
    words("requested_by"),
    words("requester_kind"),
    words("submitted_by"),
    document("requester_accounts"),  # the Slack accounts behind both, as they were
    words("request_id"),
    words("salt"),  # the tenant's
    number("writes", 0),
    number("audit_seq", 0),
    words("audit_hash"),
    words("error", server_default=""),
    words("trigger_digest"),  # keyed by the salt: the trigger's, whatever was forgotten of it
    flag("forgotten"),  # what nobody may see was taken out of the trigger
    flag("hides"),  # its steps or waits have held what nobody may see, beside the trigger
    flag("sealed"),  # its evidence bundle has been begun
    document("state", nullable=True),  # of the business: what its steps have set
    words("reference", server_default=""),  # of the business: by what people know it
    words("about", server_default=""),  # what its trigger was about, as its runbook says; "" where it does not
    words("outcome", server_default=""),  # the word with which it ended
    document("output", nullable=True),
    document("parent", nullable=True),  # the run, step and token that wait for its end
    moment("created_at"),
    moment("updated_at"),
    moment("finished_at", nullable=True),
    # a trigger is claimed once
    UniqueConstraint("tenant", "trigger_type", "trigger_ref"),
    ForeignKeyConstraint(["definition_name", "definition_version"], ["definitions.name", "definitions.version"]),
    one_of("status", RunStatus),
    CheckConstraint(
        "(status IN ('succeeded', 'failed_terminal', 'canceled')) = (finished_at IS NOT NULL)", name="finished"
    ),
    # the newest first, for whoever looks for runs
    Index("ix_runs_listed", "tenant", "created_at", "run_id"),
    # what people have asked for; programs ask for far more, and nobody looks through it by them
    partial(
        *("ix_runs_of_people", "tenant", "requested_by", "created_at", "run_id"), where="requester_kind = 'person'"
    ),
    partial("ix_runs_children", text("(parent ->> 'run_id')"), where="parent IS NOT NULL AND finished_at IS NULL"),
    partial("ix_runs_referred", "tenant", "reference", "run_id", where="reference <> ''"),
    # of a runbook one run at most goes on about the same
    Index(
        "uq_runs_about",
        "tenant",
        "definition_name",
        "about",
        unique=True,
        postgresql_where=text("about <> '' AND finished_at IS NULL"),
    ),
    partial("ix_runs_queued", "tenant", "created_at", where="status = 'queued'"),
    partial("ix_runs_unsealed", "finished_at", where="finished_at IS NOT NULL AND NOT sealed"),
    info=kept(
        "trigger",
        "status",
        "version",
        "writes",
        "audit_seq",
        "audit_hash",
        "error",
        "forgotten",
        "hides",
        "sealed",
        "state",
        "reference",
        "about",
        "outcome",
        "output",
        "updated_at",
        "finished_at",
    ),
)


# A step of a run: status, params of a read, result, and the lease of a read.
steps = Table(
    "steps",
    metadata,
    words("run_id"),
    words("path"),
    number("position"),
    words("verb"),
    words("handler"),  # the verb's: a worker leases only what it has a handler for
    words("status"),
    document("params", nullable=True),
    document("result", nullable=True),
    words("error", server_default=""),
    words("error_code", server_default=""),
    document("kept", nullable=True),  # by a node that calls no verb, while it goes on
    flag("is_read"),
    number("attempt", 0),  # the fencing token of the lease
    number("waited", 0),  # those of the attempts that were not even taken
    flag("was_blocked"),  # somebody has to mend something, and operators were told
    number("version", 0),  # how often a person has let it go on
    words("lease_owner", nullable=True),
    moment("lease_expires_at", nullable=True),
    moment("next_try_at", nullable=True),
    moment("started_at", nullable=True),
    moment("finished_at", nullable=True),
    PrimaryKeyConstraint("run_id", "path"),
    one_of("status", StepStatus),
    # what the planner asks of the steps that an event does not reach
    partial(
        "ix_steps_open",
        "run_id",
        "status",
        where="status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable',"
        " 'needs_attention')",
    ),
    # what waits for a person to say how it goes on
    partial("ix_steps_attention", "run_id", "path", where="status = 'needs_attention'"),
    # what may hold something that nobody may see
    partial("ix_steps_params", "run_id", where="params IS NOT NULL"),
    # what a worker may lease: reads that are free, or whose lease or back-off has run out
    partial("ix_steps_reads", "attempt", where="is_read AND status IN ('ready', 'running', 'failed_retryable')"),
    info=kept(
        "status",
        "params",
        "result",
        "error",
        "error_code",
        "kept",
        "attempt",
        "waited",
        "was_blocked",
        "version",
        "lease_owner",
        "lease_expires_at",
        "next_try_at",
        "started_at",
        "finished_at",
    ),
)


# The outbox: an action with its digest, status, lease, tries and deadline. One effect at a time holds an idempotency
# key; it is leased if and only if it has an owner.
effects = Table(
    "effects",
    metadata,
    words("effect_id", primary_key=True),
    words("run_id"),
    words("tenant"),
    words("purpose"),
    words("step"),  # "" for a message
    words("connector"),
    words("operation"),
    words("target"),
    document("fields"),
    words("tier"),
    words("reversible_by", nullable=True),
    document("redact"),
    flag("hides", default=True),  # whether `fields` hold what nobody may see
    document("forgotten", nullable=True),  # JSON pointers of what was hidden, once `fields` hold it no more
    words("idempotency_key"),
    words("on_doubt"),
    words("digest"),
    words("dedupe_key"),  # 128 bits of SHA-256 of (definition, run, step, command): the same plan twice is one row
    words("correlation_key", server_default=""),
    Column("timeout_s", Float, nullable=False),
    Column("settles_s", Float, nullable=False),  # after the timeout a request may land for that long
    document("retry"),
    words("status"),
    number("attempt", 0),  # the fencing token of the lease
    number("tries", 0),  # attempts that reached the connector and were taken
    number("postponed", 0),  # times in a row that nothing could be begun, or was not taken
    words("lease_owner", nullable=True),
    moment("lease_expires_at", nullable=True),
    moment("next_try_at"),
    moment("give_up_at"),
    moment("started_at", nullable=True),  # an attempt began and its outcome is not yet known
    document("before", nullable=True),  # what the target held when the newest attempt was about to begin
    flag("claimed"),  # holds the idempotency key
    flag("asked"),  # people are asked what became of it
    flag("was_blocked"),  # somebody has to mend something, and operators were told
    words("approval_id", nullable=True),
    words("decision_id", nullable=True),
    words("error", server_default=""),
    moment("created_at"),
    UniqueConstraint("run_id", "dedupe_key"),
    one_of("status", EffectStatus),
    # one effect at a time acts under a key
    partial("uq_effects_claimed_key", "tenant", "idempotency_key", where="claimed", unique=True),
    partial("ix_effects_in_doubt", "created_at", "effect_id", where="status = 'in_doubt'"),
    partial(
        "ix_effects_due",
        "tenant",
        "purpose",
        text("(tries + postponed > 0)"),
        "next_try_at",
        where="status IN ('pending', 'blocked') OR status = 'in_doubt' AND NOT asked",
    ),
    partial("ix_effects_leased", "lease_expires_at", where="status = 'leased'"),
    # what holds something that nobody may see
    partial("ix_effects_begun", "run_id", where="purpose = 'step' AND started_at IS NOT NULL"),
    partial("ix_effects_hiding", "run_id", where="hides AND forgotten IS NULL"),
    CheckConstraint("(status = 'leased') = (lease_owner IS NOT NULL)", name="lease"),
    CheckConstraint("(purpose = 'message') = (step = '')", name="message"),
    CheckConstraint("NOT asked OR status = 'in_doubt'", name="asked"),
    one_of("purpose", Purpose),
    one_of("tier", Tier),
    one_of("on_doubt", OnDoubt),
    info=kept(
        "fields",
        "forgotten",
        "on_doubt",
        "digest",
        "timeout_s",
        "settles_s",
        "retry",
        "status",
        "attempt",
        "tries",
        "postponed",
        "lease_owner",
        "lease_expires_at",
        "next_try_at",
        "give_up_at",
        "started_at",
        "before",
        "claimed",
        "asked",
        "was_blocked",
        "approval_id",
        "decision_id",
        "error",
    ),
)


# What a step waits for: type, correlation key, token, deadline, and what happens before the deadline. A step has one
# active wait, and beside it the wait for its effect's approval.
waits = Table(
    "waits",
    metadata,
    words("wait_id", primary_key=True),
    words("run_id"),
    words("step"),
    words("type"),
    words("correlation_key"),
    words("correlate"),
    words("token"),
    moment("deadline"),
    moment("escalate_at", nullable=True),  # the next of its moments: who is asked next, and reminders
    document("moments"),  # that are still to come
    number("turn", 0),
    words("status"),
    words("approval_id", nullable=True),
    moment("created_at"),
    moment("resolved_at", nullable=True),
    document("progress", nullable=True),  # the newest word of it
    one_of("type", WaitType),
    one_of("status", WaitStatus),
    one_of("correlate", Correlate),
    Index("ix_waits_correlation", "correlation_key"),  # of the matter: many may wait under it
    Index("ix_waits_run", "run_id"),
    # a step waits for one thing at a time; beside it, its effect may wait for people's approval
    partial("uq_waits_step", "run_id", "step", where="status = 'active' AND type <> 'approval'", unique=True),
    partial("uq_waits_approval", "run_id", "step", where="status = 'active' AND type = 'approval'", unique=True),
    # what comes due. Both say more than that it is active: a planner that knows nothing of a table yet would else take
    # them for a short list of what waits, whatever it is asked of a run
    partial("ix_waits_deadline", "deadline", where="status = 'active' AND deadline < 'infinity'"),
    partial("ix_waits_escalate", "escalate_at", where="status = 'active' AND escalate_at < 'infinity'"),
    info=kept("deadline", "escalate_at", "moments", "turn", "status", "resolved_at", "progress"),
)


# The inbox: payload, actor, outcome, deliveries, and how often a fault of the program delayed it. One row for all
# deliveries of the same click or answer.
notifications = Table(
    "notifications",
    metadata,
    words("notification_id", primary_key=True),
    words("tenant"),
    words("kind"),
    words("dedupe_key"),
    words("correlation_key"),
    document("payload"),
    flag("forgotten"),  # what nobody may see was taken out of the payload
    document("actor"),
    words("request_id"),
    words("status"),
    document("outcome", nullable=True),
    number("deliveries", 1),
    number("failures", 0),  # times that a fault of ours kept it from being applied
    words("error", server_default=""),  # the newest of them
    moment("received_at"),
    moment("next_try_at"),  # claimed by a worker, or left alone, until then
    moment("applied_at", nullable=True),
    UniqueConstraint("dedupe_key"),
    Index("ix_notifications_correlation", "correlation_key"),
    one_of("status", NotificationStatus),
    partial("ix_notifications_received", "tenant", "next_try_at", where="status = 'received'"),
    partial("ix_notifications_early", "tenant", "correlation_key", where="status = 'early'"),
    partial("ix_notifications_early_since", "tenant", "received_at", where="status = 'early'"),
    partial("ix_notifications_dead", "tenant", "received_at", where="status = 'dead_letter'"),
    info=kept(
        "payload", "forgotten", "status", "outcome", "deliveries", "failures", "error", "next_try_at", "applied_at"
    ),
)


# Circuit breakers of connectors and of their targets: failures in a row, and until when nothing is leased.
circuit_breakers = Table(
    "circuit_breakers",
    metadata,
    words("tenant"),
    words("connector"),
    words("target"),  # "" for the connector as a whole
    number("failures"),  # in a row
    moment("failed_at"),
    moment("open_until", nullable=True),  # left alone until then, and after it tried with one call at a time
    PrimaryKeyConstraint("tenant", "connector", "target"),
    CheckConstraint("failures >= 0", name="failures"),
    info=working(),
)
