"""Answers and word of progress from the other side of a durable step."""

from collections.abc import Mapping
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.model.json_limits import error_text, fault
from runtime.model.notification import Applied, Notification
from runtime.model.states import NotificationStatus, StepStatus, WaitStatus, WaitType
from runtime.model.wait import Wait
from runtime.planning.advance import advance
from runtime.planning.planner import ParamsError, StepMoved, fits
from runtime.store import waits
from runtime.store.database.pool import Conn
from runtime.store.run_tx import RunTx, lock_run


async def apply_completion(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Complete the wait of a durable step with the other side's result, or fail the step with its error."""
    found = await _matched(engine, conn, notification)
    if isinstance(found, Applied):
        return found
    tx, wait = found
    payload, actor = notification.payload, Actor(**notification.actor)  # type: ignore[arg-type]  # pydantic checks it
    moved = await _completed(engine, tx, wait, payload)
    await waits.close_wait(conn, wait.wait_id, WaitStatus.COMPLETED, tx.now)
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


async def apply_progress(engine: Engine, conn: Conn, notification: Notification) -> Applied:
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
    wait = await waits.active_wait(conn, key)
    if wait is not None and wait.type in (WaitType.EXTERNAL, WaitType.SIGNAL):
        tx = await lock_run(conn, wait.run_id, engine.clock(), notification.request_id)
        wait = await waits.active_wait(conn, key)  # again, under the run's lock
        if wait is not None and tx.tenant == notification.tenant:
            return await _permitted(engine, tx, wait, notification)
    late = await waits.had_wait(conn, notification.tenant, key)
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
