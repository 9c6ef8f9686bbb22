"""A trigger about what a run of its runbook is about already: it starts none, and is a signal to that run.

The signal is recorded in the transaction that found the run, and applied after it, like all that comes in. Should the
run end before, the inbox starts one after all (`runtime.inbox.signals`).
"""

from collections.abc import Mapping
from typing import Any

from runtime.definitions.cel.expressions import render_text
from runtime.definitions.cel.outcomes import ExpressionError
from runtime.definitions.model import About
from runtime.engine import HEAD_START, Engine
from runtime.model.answers import SignalPayload, TriggerSaid
from runtime.model.notification import Notification, word_key
from runtime.model.wait import signal_key
from runtime.planning.claims import Claim, SignalSent, Trigger, TriggerConflictError, TriggerError
from runtime.planning.node_state import REFERENCE_LIMIT
from runtime.store import notifications
from runtime.store.database.pool import Conn


def reference_of(about: About, payload: Mapping[str, Any]) -> str:
    """Return what a trigger is about; raise TriggerError where its payload does not say it."""
    try:
        reference = render_text(about.reference, {"trigger": dict(payload)})
    except ExpressionError as error:
        raise TriggerError(f"about: {error}") from error
    if not 0 < len(reference) <= REFERENCE_LIMIT:
        raise TriggerError(f"about: a reference has 1 to {REFERENCE_LIMIT} characters, not {len(reference)}")
    return reference


async def find_signal(conn: Conn, trigger: Trigger) -> Claim | None:
    """Return as which signal the trigger was sent before, or None; raise TriggerConflictError where it said else."""
    notification_id = await notifications.find_recorded(conn, _key(trigger))
    if notification_id is None:
        return None
    (found,) = await notifications.addressed(conn, [notification_id])
    if isinstance(found, Exception):
        raise found
    first = found.notification
    if not isinstance(first.payload, SignalPayload):
        raise TypeError(f"{notification_id} is no signal")
    is_same = first.forgotten or first.payload.data == dict(trigger.payload)
    if not is_same or first.actor != trigger.requested_by:
        raise TriggerConflictError(f"ref {trigger.ref!r} was claimed before, with another payload or requester")
    return Claim(first.payload.run_id, is_new=False, signal=SignalSent(first.payload.name, notification_id))


async def send_signal(engine: Engine, conn: Conn, name: str, run_id: str, trigger: Trigger, left_by: str) -> Claim:
    """Record the trigger as a signal to the run; `left_by` as for `claim_in`."""
    if trigger.parent is not None and "token" in trigger.parent:
        raise TriggerError(f"run {run_id} is about the same and goes on, and another run cannot wait for its end")
    new = Notification(
        notification_id=engine.new_id("ntf"),
        tenant=trigger.tenant,
        dedupe_key=word_key("left", trigger.tenant, trigger.type, left_by) if left_by else _key(trigger),
        correlation_key=signal_key(run_id, name),
        payload=SignalPayload(
            run_id=run_id,
            name=name,
            data=dict(trigger.payload),
            trigger=TriggerSaid(type=trigger.type, ref=trigger.ref, submitted_by=trigger.submitted_by),
        ),
        actor=trigger.requested_by,
        request_id=trigger.request_id,
    )
    now = engine.clock()
    await notifications.record_all(conn, [new], now, now + HEAD_START)
    return Claim(run_id, is_new=True, signal=SignalSent(name, new.notification_id))


def _key(trigger: Trigger) -> str:
    return word_key("trigger", trigger.tenant, trigger.type, trigger.ref)
