"""What the clock says to a wait: its deadline has come, or time runs short."""

from runtime.inbox.endings import end_approval
from runtime.inbox.matter import Matter
from runtime.model.approval import ApprovalStatus
from runtime.model.errors import ErrorCode
from runtime.model.messages import TimeRunsShort
from runtime.model.notification import Applied
from runtime.model.states import NotificationStatus, StepStatus, WaitStatus, WaitType
from runtime.model.wait import Wait
from runtime.outbox import messages
from runtime.planning.advance import advance
from runtime.planning.planner import StepMoved
from runtime.store import approvals, waits
from runtime.store.transactions.run_tx import RunTx


async def apply_deadline(matter: Matter) -> Applied:
    """A deadline has come: a timer fires, an approval expires, a wait for others times out."""
    owned = await _own_wait(matter)
    if isinstance(owned, Applied):
        return owned
    engine, (tx, wait) = matter.engine, owned
    tx.now = max(tx.now, wait.deadline)  # it has come, if by another machine's clock
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
        await advance(
            engine,
            tx,
            StepMoved(wait.step, StepStatus.FAILED_TERMINAL, error="no answer in time", error_code=ErrorCode.NO_ANSWER),
        )
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def apply_escalation(matter: Matter) -> Applied:
    """Time runs short: ask those who are next in line, and say so. Nothing is granted by it."""
    owned = await _own_wait(matter)
    if isinstance(owned, Applied):
        return owned
    engine, (tx, wait) = matter.engine, owned
    if not await waits.mark_escalated(tx.conn, wait.wait_id):
        return Applied(NotificationStatus.STALE, {"reason": "escalated before"})
    tx.now = max(tx.now, wait.escalate_at or tx.now)
    groups = list(wait.escalate_to)
    tx.leaf("wait.escalated", {"type": wait.type, "to": groups}, step=wait.step, approval_id=wait.approval_id)
    if wait.approval_id is not None:
        await approvals.touch(tx.conn, wait.approval_id, escalated=True)
        await messages.card_changed(engine, tx, wait.approval_id)
    said = TimeRunsShort(run=await messages.run_name(tx), step=wait.step, groups=groups)
    await messages.tell_thread(engine, tx, wait.approval_id, f"escalated:{wait.wait_id}", said)
    await messages.tell_groups(engine, tx, groups, f"escalated:{wait.wait_id}", said, wait.approval_id)
    return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})


async def _own_wait(matter: Matter) -> tuple[RunTx, Wait] | Applied:
    """Return the locked run and the wait behind a signal of our own; its token told a stale one."""
    for named in matter.waits:
        tx = matter.runs[named.run_id]
        if wait := await tx.loads.wait(named):
            return tx, wait
    return Applied(NotificationStatus.STALE, {"reason": "the wait has ended"})
