"""Runs and their steps."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from runtime.model.states import RunStatus, StepStatus
from runtime.store.schema.base import document, flag, kept, metadata, moment, number, one_of, partial, run_id, words

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
    words("trigger_digest", nullable=True),  # keyed by the salt: the trigger's, whatever was forgotten of it
    flag("forgotten"),  # what nobody may see was taken out of the trigger
    flag("hides"),  # its steps or waits have held what nobody may see, beside the trigger
    number("evidence_format", 1),  # in which its evidence is told, to its end
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
        "trigger_digest",
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


steps = Table(
    "steps",
    metadata,
    run_id(),
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
    flag("held"),  # somebody has to mend something, and operators were told
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
        where="status IN ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable', 'held')",
    ),
    # what waits for a person to say how it goes on
    partial("ix_steps_held", "run_id", "path", where="status = 'held'"),
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
        "held",
        "version",
        "lease_owner",
        "lease_expires_at",
        "next_try_at",
        "started_at",
        "finished_at",
    ),
)
