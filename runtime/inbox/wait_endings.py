"""What word from outside does to a wait: it ends it, or is refused."""

from runtime.inbox.matter import Matter
from runtime.model.answers import AnswerCode
from runtime.model.json_limits import error_text
from runtime.model.states import WaitStatus
from runtime.model.wait import Wait
from runtime.planning.advance import advance
from runtime.planning.planner import StepMoved
from runtime.store import waits
from runtime.store.run_tx import RunTx


async def refuse(matter: Matter, tx: RunTx, step: str, code: AnswerCode, why: str) -> str:
    """Put on record that what came does not count for the step's wait, which goes on; return why, as it is told."""
    reason = error_text((await tx.privacy()).text(why))
    refused = {"notification_id": matter.notification.notification_id, "code": str(code), "reason": reason}
    tx.leaf("notification.refused", refused, actor=matter.notification.actor, step=step)
    return reason


async def complete(matter: Matter, tx: RunTx, wait: Wait, moved: StepMoved) -> None:
    """End a wait, and let its step go on as it moved."""
    await waits.close_wait(tx.conn, wait, WaitStatus.COMPLETED, tx.now)
    completed = {
        "wait_id": wait.wait_id,
        "type": str(wait.type),
        "notification_id": matter.notification.notification_id,
    }
    tx.leaf("wait.completed", completed, actor=matter.notification.actor, step=wait.step)
    await advance(matter.engine, tx, moved)
