"""The one door in: every inbound fact is a notification, recorded once, then applied to at most one wait.

Late, repeated and unmatched notifications are recorded as such and change nothing.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg

from receipts.chain import Actor
from receipts.errors import ReceiptsError
from runtime import chat, votes
from runtime.desk_model import ApprovalStatus
from runtime.engine import Engine
from runtime.orchestrator import advance
from runtime.planner import Canceled, ParamsError, StepMoved, fits
from runtime.recordable import error_text, fault
from runtime.states import IllegalTransitionError, NotificationStatus, StepStatus, WaitStatus, WaitType
from runtime.store import approvals
from runtime.store import inbox as store
from runtime.store.inbox import Notification, Wait
from runtime.store.pool import Conn
from runtime.store.run_tx import RunTx, UnknownRunError, lock_run
from runtime.votes import Applied

UNUSABLE = "This cannot be recorded as it is. Nothing has changed."

log = logging.getLogger(__name__)


async def record(engine: Engine, notification: Notification) -> str:
    """Write a notification durably and return its id; a repeat returns the first's id."""
    async with engine.pool.connection() as conn:
        notification_id = await store.record(conn, notification, engine.clock())
    engine.wakeup.poke()
    return notification_id


async def apply(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    """Apply a recorded notification, at most once, and return the facts of its outcome; a repeat returns the same.

    One that cannot be applied whatever is tried is a dead letter, and says why.
    """
    try:
        return await _apply(engine, notification_id)
    except (psycopg.DataError, ReceiptsError, UnicodeError, KeyError, IllegalTransitionError) as error:
        log.exception("notification %s cannot be applied", notification_id)
        reason = error_text(f"{type(error).__name__}: {error}")
        facts = {"counted": False, "code": "vote.unusable", "text": UNUSABLE, "approval": None, "reason": reason}
        facts["status"] = str(NotificationStatus.DEAD_LETTER)
        async with engine.pool.connection() as conn:
            await store.mark(conn, notification_id, NotificationStatus.DEAD_LETTER, facts, engine.clock())
        return facts


async def _apply(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    async with engine.pool.connection() as conn, conn.transaction():
        notification = await store.get_notification(conn, notification_id)
        if notification.outcome is not None:
            return notification.outcome
        applied = await _APPLY[notification.kind](engine, conn, notification)
        facts = {**applied.facts, "status": str(applied.status)}
        await store.mark(conn, notification_id, applied.status, facts, engine.clock())
    return facts


async def _apply_completion(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Complete the wait of a durable step with the other side's result, or fail the step with its error."""
    found = await _matched(engine, conn, notification)
    if isinstance(found, Applied):
        return found
    tx, wait = found
    payload, actor = notification.payload, Actor(**notification.actor)  # type: ignore[arg-type]  # pydantic checks it
    moved = await _completed(engine, tx, wait, payload)
    await store.close_wait(conn, wait.wait_id, WaitStatus.COMPLETED, tx.now)
    facts = {"type": str(wait.type), "notification_id": notification.notification_id}
    tx.leaf("wait.completed", facts, actor=actor, step=wait.step)
    await advance(engine, tx, moved)
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _completed(engine: Engine, tx: RunTx, wait: Wait, payload: Mapping[str, Any]) -> StepMoved:
    if payload["outcome"] == "failed":
        error = error_text(payload["error"]) or "the other side failed"
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=error)
    if wrong := fault(payload["result"]):
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=f"result: {wrong}")
    row = tx.row
    definition = await engine.definitions.get(tx.conn, row["definition_name"], row["definition_version"])
    try:
        fits(definition.verb_of(wait.step).output_schema, payload["result"], "result")
    except ParamsError as error:
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=str(error))
    return StepMoved(wait.step, StepStatus.SUCCEEDED, payload["result"])


async def _apply_progress(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Put word of progress on record; it resumes nothing (seed 1, section 7.3)."""
    found = await _matched(engine, conn, notification)
    if isinstance(found, Applied):
        return found
    tx, wait = found
    actor = Actor(**notification.actor)  # type: ignore[arg-type]  # pydantic checks it
    tx.leaf("wait.progress", {"message": notification.payload["message"]}, actor=actor, step=wait.step)
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _matched(engine: Engine, conn: Conn, notification: Notification) -> tuple[RunTx, Wait] | Applied:
    """Return the locked run and the wait that the correlation key names, or what to record instead."""
    key = notification.correlation_key
    wait = await store.active_wait(conn, key)
    if wait is not None and wait.type in (WaitType.EXTERNAL, WaitType.SIGNAL):
        tx = await lock_run(conn, wait.run_id, engine.clock(), notification.request_id)
        wait = await store.active_wait(conn, key)  # again, under the run's lock
        if wait is not None and tx.tenant == notification.tenant:
            return await _permitted(engine, tx, wait, notification)
    late = await store.had_wait(conn, notification.tenant, key)
    status = NotificationStatus.STALE if late else NotificationStatus.DEAD_LETTER
    return Applied(status, {"reason": "no step waits for this any more" if late else "no step waits for this"})


async def _permitted(engine: Engine, tx: RunTx, wait: Wait, notification: Notification) -> tuple[RunTx, Wait] | Applied:
    """Return the wait if its token is right, where one was given, and the caller may speak for its verb."""
    token, verbs = notification.payload["token"], notification.payload["verbs"]
    if token is not None and token != wait.token:
        return Applied(NotificationStatus.STALE, {"reason": "the waiting token is of an earlier wait"})
    row = tx.row
    definition = await engine.definitions.get(tx.conn, row["definition_name"], row["definition_version"])
    verb = definition.verb_of(wait.step).name
    if verb not in verbs:
        facts = {"reason": f"this caller may not answer for {verb}"}
        tx.leaf("notification.refused", facts, actor=Actor(**notification.actor), step=wait.step)  # type: ignore[arg-type]
        await tx.flush()
        return Applied(NotificationStatus.DEAD_LETTER, facts)
    return tx, wait


async def _apply_deadline(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """A deadline has come: a timer fires, an approval expires, a wait for others times out."""
    found = await _own_wait(engine, conn, notification)
    if isinstance(found, Applied):
        return found
    tx, wait = found
    if wait.approval_id is not None:
        approval = await approvals.get_approval(conn, wait.approval_id, lock=True)
        if approval is not None:
            counted = await approvals.votes_of(conn, approval.approval_id)
            await votes.end_approval(engine, tx, approval, ApprovalStatus.EXPIRED, counted)
        await store.close_wait(conn, wait.wait_id, WaitStatus.TIMED_OUT, tx.now)  # whatever the approval says
    elif wait.type == WaitType.TIMER:
        await store.close_wait(conn, wait.wait_id, WaitStatus.COMPLETED, tx.now)
        await advance(engine, tx, StepMoved(wait.step, StepStatus.SUCCEEDED, {}))
    else:
        await store.close_wait(conn, wait.wait_id, WaitStatus.TIMED_OUT, tx.now)
        tx.leaf("wait.timed_out", {"type": wait.type, "correlation_key": wait.correlation_key}, step=wait.step)
        await advance(engine, tx, StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error="no answer in time"))
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _apply_escalation(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Time runs short: ask those who are next in line, and say so. Nothing is granted by it."""
    found = await _own_wait(engine, conn, notification)
    if isinstance(found, Applied):
        return found
    tx, wait = found
    if not await store.escalated(conn, wait.wait_id):
        return Applied(NotificationStatus.STALE, {"reason": "escalated before"})
    groups = list(wait.escalate_to)
    tx.leaf("wait.escalated", {"type": wait.type, "to": groups}, step=wait.step, approval_id=wait.approval_id)
    if wait.approval_id is not None:
        await approvals.touch(conn, wait.approval_id, escalated=True)
        await chat.card_changed(engine, tx, wait.approval_id)
    text = f"Time runs short for step {wait.step} of run {tx.run_id}. Asking: {', '.join(groups)}."
    await chat.tell_thread(engine, tx, wait.approval_id, f"escalated:{wait.wait_id}", text)
    await chat.tell_groups(engine, tx, groups, f"escalated:{wait.wait_id}", text)
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _own_wait(engine: Engine, conn: Conn, notification: Notification) -> tuple[RunTx, Wait] | Applied:
    """Return the locked run and the wait behind a signal of our own; its token tells a stale one."""
    stale = Applied(NotificationStatus.STALE, {"reason": "the wait has ended"})
    wait = await store.wait_by_id(conn, notification.payload["wait_id"])
    if wait is None or wait.token != notification.payload["token"]:
        return stale
    tx = await lock_run(conn, wait.run_id, engine.clock(), notification.request_id)
    wait = await store.wait_by_id(conn, wait.wait_id)
    return (tx, wait) if wait is not None else stale


async def _apply_cancel(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Stop a run on somebody's word."""
    try:
        tx = await lock_run(conn, notification.payload["run_id"], engine.clock(), notification.request_id)
    except UnknownRunError:
        return Applied(NotificationStatus.DEAD_LETTER, {"reason": "no such run"})
    if tx.tenant != notification.tenant:
        return Applied(NotificationStatus.DEAD_LETTER, {"reason": "no such run"})
    if tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    actor = Actor(**notification.actor)  # type: ignore[arg-type]  # pydantic checks it
    tx.leaf("run.cancel_requested", {"reason": notification.payload["reason"]}, actor=actor)
    await advance(engine, tx, Canceled(notification.payload["reason"]))
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id})


_APPLY: Mapping[str, Callable[[Engine, Conn, Notification], Awaitable[Applied]]] = {
    "vote": votes.apply_vote,
    "completion": _apply_completion,
    "progress": _apply_progress,
    "deadline": _apply_deadline,
    "escalation": _apply_escalation,
    "cancel": _apply_cancel,
}
