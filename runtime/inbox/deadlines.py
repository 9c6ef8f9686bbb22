"""What the clock says to a wait: its deadline has come, or the next of its moments."""

from runtime.inbox.endings import end_approval
from runtime.inbox.escalations import pass_moments
from runtime.inbox.matter import Matter
from runtime.model.errors import ErrorCode
from runtime.model.notification import Applied
from runtime.model.notification_moments import DeadlinePayload, EscalationPayload
from runtime.model.states import ApprovalStatus, NotificationStatus, StepStatus, WaitStatus, WaitType
from runtime.model.wait import Wait
from runtime.planning.advance import advance
from runtime.planning.planner import StepMoved
from runtime.store import waits
from runtime.store.run_tx import RunTx


async def apply_deadline(matter: Matter, signal: DeadlinePayload) -> Applied:
    """A deadline has come: a timer fires, an approval expires, a wait for others times out.

    What had to come before comes first: no entry of an escalation is lost because nobody was there at its time.
    """
    owned = await _own_wait(matter, signal)
    if isinstance(owned, Applied):
        return owned
    engine, (tx, wait) = matter.engine, owned
    tx.now = max(tx.now, wait.deadline)  # it has come, if by another machine's clock
    if any(moment.entry is not None for moment in wait.due(wait.deadline)):
        wait = await pass_moments(engine, tx, wait)
    if wait.deadline <= tx.now:
        await _end(matter, tx, wait)
    return _applied(wait)


async def _end(matter: Matter, tx: RunTx, wait: Wait) -> None:
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


async def apply_escalation(matter: Matter, signal: EscalationPayload) -> Applied:
    """Time runs short: ask those who are next in line, and say so. Nothing is granted by it."""
    owned = await _own_wait(matter, signal)
    if isinstance(owned, Applied):
        return owned
    tx, wait = owned
    if wait.next_at is not None:
        tx.now = max(tx.now, wait.next_at)
        await pass_moments(matter.engine, tx, wait)
    return _applied(wait)


def _applied(wait: Wait) -> Applied:
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _own_wait(matter: Matter, signal: DeadlinePayload | EscalationPayload) -> tuple[RunTx, Wait] | Applied:
    """Return the locked run and the wait behind a signal of our own, unless that has ended or gone on since."""
    for named in matter.waits:
        tx = matter.runs[named.run_id]
        wait = await tx.loads.wait(named)
        if wait and wait.turn == signal.turn:
            return tx, wait
        if wait:
            return Applied(NotificationStatus.STALE, {"reason": "the wait has gone on since"})
    return Applied(NotificationStatus.STALE, {"reason": "the wait has ended"})
