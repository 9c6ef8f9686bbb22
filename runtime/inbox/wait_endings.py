"""Ends of waits: an answer or signal completes one or is refused, a deadline passes, a child run ends.

The clock speaks to a wait when its deadline has come, or the next of its moments (an escalation or a reminder). The end
of a run that another run's step started is the result of that step.
"""

from runtime.inbox.approval_endings import end_approval
from runtime.inbox.escalations import pass_moments
from runtime.inbox.notification_context import NotificationContext
from runtime.model.limits import error_text
from runtime.model.notification import ApplyResult
from runtime.model.payloads import AnswerCode, ChildEndedPayload, DeadlinePayload, EscalationPayload
from runtime.model.states import ApprovalStatus, NotificationStatus, RunStatus, StepStatus, WaitStatus, WaitType
from runtime.model.steps import ErrorCode
from runtime.model.wait import Wait
from runtime.planning.advance import advance
from runtime.planning.transition import StepMoved
from runtime.store import waits
from runtime.store.run_tx import RunTx


async def record_wait_refusal(matter: NotificationContext, tx: RunTx, step: str, code: AnswerCode, why: str) -> str:
    """Put on record that what came does not count for the step's wait, which goes on; return why, as it is told."""
    reason = error_text((await tx.privacy()).text(why))
    refused = {"notification_id": matter.notification.notification_id, "code": str(code), "reason": reason}
    tx.leaf("notification.refused", refused, actor=matter.notification.actor, step=step)
    return reason


async def complete_wait(matter: NotificationContext, tx: RunTx, wait: Wait, moved: StepMoved) -> None:
    """End a wait, and let its step go on as it moved."""
    await waits.close_wait(tx.conn, wait, WaitStatus.COMPLETED, tx.now)
    completed = {
        "wait_id": wait.wait_id,
        "type": str(wait.type),
        "notification_id": matter.notification.notification_id,
    }
    tx.leaf("wait.completed", completed, actor=matter.notification.actor, step=wait.step)
    await advance(matter.engine, tx, moved)


async def apply_deadline(matter: NotificationContext, signal: DeadlinePayload) -> ApplyResult:
    """A deadline has come: a timer fires, an approval expires, a wait for others times out.

    What had to come before comes first: no entry of an escalation is lost because nobody was there at its time.
    """
    owned = await _own_wait(matter, signal)
    if isinstance(owned, ApplyResult):
        return owned
    engine, (tx, wait) = matter.engine, owned
    tx.now = max(tx.now, wait.deadline)  # it has come, if by another machine's clock
    if any(moment.entry is not None for moment in wait.due(wait.deadline)):
        wait = await pass_moments(engine, tx, wait)
    if wait.deadline <= tx.now:
        await _end(matter, tx, wait)
    return _applied(wait)


async def _end(matter: NotificationContext, tx: RunTx, wait: Wait) -> None:
    engine = matter.engine
    if wait.approval_id is not None:
        approval = await tx.loads.approval(wait.approval_id)
        if approval is not None:
            counted = await tx.loads.votes(approval.approval_id)
            await end_approval(engine, tx, approval, ApprovalStatus.EXPIRED, counted)
        await waits.close_wait(tx.conn, wait, WaitStatus.TIMED_OUT, tx.now)  # whatever the approval says
    elif wait.type == WaitType.TIMER:
        await waits.close_wait(tx.conn, wait, WaitStatus.COMPLETED, tx.now)
        tx.leaf("wait.completed", {"wait_id": wait.wait_id, "type": str(wait.type)}, step=wait.step)
        await advance(engine, tx, StepMoved(wait.step, StepStatus.SUCCEEDED, {}))
    else:
        await waits.close_wait(tx.conn, wait, WaitStatus.TIMED_OUT, tx.now)
        tx.leaf("wait.timed_out", {"wait_id": wait.wait_id, "type": str(wait.type)}, step=wait.step)
        silence = StepMoved(
            wait.step, StepStatus.FAILED_TERMINAL, error="no answer in time", error_code=ErrorCode.NO_ANSWER
        )
        await advance(engine, tx, silence)


async def apply_escalation(matter: NotificationContext, signal: EscalationPayload) -> ApplyResult:
    """Time runs short: ask those who are next in line, and say so. Nothing is granted by it."""
    owned = await _own_wait(matter, signal)
    if isinstance(owned, ApplyResult):
        return owned
    tx, wait = owned
    if wait.next_at is not None:
        tx.now = max(tx.now, wait.next_at)
        await pass_moments(matter.engine, tx, wait)
    return _applied(wait)


def _applied(wait: Wait) -> ApplyResult:
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _own_wait(
    matter: NotificationContext, signal: DeadlinePayload | EscalationPayload
) -> tuple[RunTx, Wait] | ApplyResult:
    """Return the locked run and the wait behind a signal of our own, unless that has ended or gone on since."""
    for named in matter.waits:
        tx = matter.runs[named.run_id]
        wait = await tx.loads.wait(named)
        if wait and wait.turn == signal.turn:
            return tx, wait
        if wait:
            return ApplyResult(NotificationStatus.STALE, {"reason": "the wait has gone on since"})
    return ApplyResult(NotificationStatus.STALE, {"reason": "the wait has ended"})


async def apply_child_ended(matter: NotificationContext, payload: ChildEndedPayload) -> ApplyResult:
    """Resume the step: the run's end is its result, and its failure is the step's."""
    for named in matter.waits:
        tx = matter.runs[named.run_id]
        if (wait := await tx.loads.wait(named)) is None:
            continue
        await waits.close_wait(tx.conn, wait, WaitStatus.COMPLETED, tx.now)
        ended = {"child": payload.child, "child_end": payload.end}
        facts = {"wait_id": wait.wait_id, "type": str(wait.type), **ended}
        tx.leaf("wait.completed", facts, step=wait.step)
        await advance(matter.engine, tx, _after_child(wait.step, payload))
        return ApplyResult(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})
    return ApplyResult(NotificationStatus.STALE, {"reason": "the wait has ended"})


def _after_child(step: str, payload: ChildEndedPayload) -> StepMoved:
    if payload.status == RunStatus.SUCCEEDED:
        result = {"run_id": payload.child, "outcome": payload.outcome, "output": payload.output}
        return StepMoved(step, StepStatus.SUCCEEDED, result)
    why = f": {payload.error}" if payload.error else ""
    error = f"run {payload.child} has ended {payload.status}{why}"
    return StepMoved(step, StepStatus.FAILED_TERMINAL, error=error, error_code=ErrorCode.FAILED)
