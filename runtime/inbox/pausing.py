"""The clock of a request stands still while a question is open, where policy's requirement says so."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from receipts.fields import timestamp
from runtime.inbox.answers_standing import Answer
from runtime.model.question_pause import paused
from runtime.model.questions import Question
from runtime.model.wait import Wait
from runtime.store import approvals, waits


async def move_clock(answer: Answer, before: Sequence[Question], after: Sequence[Question]) -> dict[str, Any]:
    """Move the deadline and all that comes before it as the questions say; return what the leaf has to tell of that.

    A signal of the clock that was on its way is for a turn that is over.
    """
    longest = answer.approval.requirement.pauses
    by = paused(after, longest) - paused(before, longest)
    tx, approval = answer.tx, answer.approval
    wait = await waits.approval_wait(tx.conn, tx.run_id, approval.approval_id) if by else None
    if wait is None:
        return {}
    moved = _moved(wait, by)
    await waits.turn(tx.conn, moved)
    await approvals.move_deadline(tx.conn, approval.approval_id, moved.deadline)
    return {"deadline": timestamp(moved.deadline)}


def _moved(wait: Wait, by: timedelta) -> Wait:
    moments = [replace(moment, at=moment.at + by) for moment in wait.moments]
    return replace(wait, deadline=wait.deadline + by, moments=moments, turn=wait.turn + 1)
