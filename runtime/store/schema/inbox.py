"""Notifications, and the waits that they resolve."""

from sqlalchemy import (
    Index,
    Table,
    UniqueConstraint,
)

from runtime.model.states import NotificationStatus, WaitStatus, WaitType
from runtime.model.wait import Correlate
from runtime.store.schema.base import document, flag, kept, metadata, moment, number, one_of, partial, run_id, words

waits = Table(
    "waits",
    metadata,
    words("wait_id", primary_key=True),
    run_id(),
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
