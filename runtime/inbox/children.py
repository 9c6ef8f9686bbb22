"""The end of a run that a step of another has started."""

from runtime.inbox.matter import Matter
from runtime.model.errors import ErrorCode
from runtime.model.notification import Applied
from runtime.model.notification_moments import ChildEndedPayload
from runtime.model.states import NotificationStatus, RunStatus, StepStatus, WaitStatus
from runtime.planning.advance import advance
from runtime.planning.planner import StepMoved
from runtime.store import waits


async def apply_child_ended(matter: Matter, payload: ChildEndedPayload) -> Applied:
    """Resume the step: the run's end is its result, and its failure is the step's."""
    for named in matter.waits:
        tx = matter.runs[named.run_id]
        if (wait := await tx.loads.wait(named)) is None:
            continue
        await waits.close_wait(tx.conn, wait, WaitStatus.COMPLETED, tx.now)
        ended = {"child": payload.child, "child_end": payload.end}
        facts = {"wait_id": wait.wait_id, "type": str(wait.type), **ended}
        tx.leaf("wait.completed", facts, step=wait.step)
        await advance(matter.engine, tx, _moved(wait.step, payload))
        return Applied(NotificationStatus.APPLIED, {"run_id": wait.run_id, "step": wait.step})
    return Applied(NotificationStatus.STALE, {"reason": "the wait has ended"})


def _moved(step: str, payload: ChildEndedPayload) -> StepMoved:
    if payload.status == RunStatus.SUCCEEDED:
        result = {"run_id": payload.child, "outcome": payload.outcome, "output": payload.output}
        return StepMoved(step, StepStatus.SUCCEEDED, result)
    why = f": {payload.error}" if payload.error else ""
    error = f"run {payload.child} has ended {payload.status}{why}"
    return StepMoved(step, StepStatus.FAILED_TERMINAL, error=error, error_code=ErrorCode.FAILED)
