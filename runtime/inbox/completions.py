"""Answers and word of progress from the other side of a durable step."""

from runtime.engine import Engine
from runtime.model.json_limits import error_text, fault
from runtime.model.notification import Applied, CompletionPayload, Notification, ProgressPayload
from runtime.model.states import NotificationStatus, StepStatus, WaitStatus, WaitType
from runtime.model.wait import Wait
from runtime.planning.advance import advance
from runtime.planning.planner import ParamsError, StepMoved, fits
from runtime.store import waits
from runtime.store.database.pool import Conn
from runtime.store.run_tx import RunTx


async def apply_completion(
    engine: Engine, conn: Conn, notification: Notification, payload: CompletionPayload
) -> Applied:
    """Complete the wait of a durable step with the other side's result, or fail the step with its error."""
    matched = await _match(engine, conn, notification, payload)
    if isinstance(matched, Applied):
        return matched
    tx, wait = matched
    moved = await _completed(tx, wait, payload)
    await waits.close_wait(conn, wait.wait_id, WaitStatus.COMPLETED, tx.now)
    completed = {"type": str(wait.type), "notification_id": notification.notification_id}
    tx.leaf("wait.completed", completed, actor=notification.actor, step=wait.step)
    await advance(engine, tx, moved)
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _completed(tx: RunTx, wait: Wait, payload: CompletionPayload) -> StepMoved:
    if payload.outcome == "failed":
        error = error_text((await tx.privacy()).text(payload.error)) or "the other side failed"
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=error)
    if wrong := fault(payload.result):
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=f"result: {wrong}")
    verb = (await tx.definition()).verb_of(wait.step)
    try:
        fits(verb.output_schema, payload.result, "result")
    except ParamsError as error:
        return StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error=str(error))
    return StepMoved(wait.step, StepStatus.SUCCEEDED, payload.result)


async def apply_progress(engine: Engine, conn: Conn, notification: Notification, payload: ProgressPayload) -> Applied:
    """Put word of progress on record; it resumes nothing (seed 1, section 7.3)."""
    matched = await _match(engine, conn, notification, payload)
    if isinstance(matched, Applied):
        return matched
    tx, wait = matched
    message = (await tx.privacy()).text(payload.message)
    tx.leaf("wait.progress", {"message": message}, actor=notification.actor, step=wait.step)
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _match(
    engine: Engine, conn: Conn, notification: Notification, payload: CompletionPayload | ProgressPayload
) -> tuple[RunTx, Wait] | Applied:
    """Return the locked run and the wait that the correlation key names, or what to record instead."""
    key = notification.correlation_key
    wait = await waits.active_wait(conn, key)
    if wait is not None and wait.type in (WaitType.EXTERNAL, WaitType.SIGNAL):
        tx = await engine.lock_run(conn, wait.run_id, notification.request_id)
        wait = await waits.active_wait(conn, key)  # again, under the run's lock
        if wait is not None and tx.tenant == notification.tenant:
            return await _permit(tx, wait, notification, payload)
    late = await waits.had_wait(conn, notification.tenant, key)
    status = NotificationStatus.STALE if late else NotificationStatus.DEAD_LETTER
    return Applied(status, {"reason": "no step waits for this any more" if late else "no step waits for this"})


async def _permit(
    tx: RunTx, wait: Wait, notification: Notification, payload: CompletionPayload | ProgressPayload
) -> tuple[RunTx, Wait] | Applied:
    """Return the wait if its token is right, where one was given, and the caller may speak for its verb."""
    if payload.token is not None and payload.token != wait.token:
        return Applied(NotificationStatus.STALE, {"reason": "the waiting token is of an earlier wait"})
    verb = (await tx.definition()).verb_of(wait.step).name
    if verb in payload.verbs:
        return tx, wait
    refused = {"reason": f"this caller may not answer for {verb}"}
    tx.leaf("notification.refused", refused, actor=notification.actor, step=wait.step)
    await tx.flush()
    return Applied(NotificationStatus.DEAD_LETTER, refused)
