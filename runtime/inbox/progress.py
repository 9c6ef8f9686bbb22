"""Word of progress: kept with the wait, shown on the step and its card, and put on the run's chain now and then.

It may come as often as the other side likes. The wait's row keeps the newest alone. A leaf, and an edit of the card,
comes of it a minute after the last at the soonest, and a fiftieth of the wait's age after it: 50 or so in the first
hour of a wait, and 350 in a fortnight. Each says how often there was word.
"""

from datetime import datetime, timedelta
from typing import Any

from runtime.inbox.matter import Matter
from runtime.model.action import commitment
from runtime.model.answers import ProgressPayload
from runtime.model.json_limits import error_text
from runtime.model.wait import Progress, Wait
from runtime.outbox import messages
from runtime.store import approvals, waits
from runtime.store.run_tx import RunTx

_PAUSE, _PART_OF_AGE = timedelta(minutes=1), 50


def pause(age: timedelta) -> timedelta:
    """Return how long after one leaf about a wait of this age the next may come."""
    return max(_PAUSE, age / _PART_OF_AGE)


async def note_progress(matter: Matter, tx: RunTx, wait: Wait, word: ProgressPayload) -> None:
    """Keep word of progress for an open wait; it resumes nothing."""
    opened_at, before = await waits.progress_of(tx.conn, wait.wait_id)
    is_noted = before is None or tx.now >= before.noted_at + pause(before.noted_at - opened_at)
    newest = await _newest(tx, word, before, tx.now if before is None or is_noted else before.noted_at)
    await waits.keep_progress(tx.conn, wait.wait_id, newest)
    if is_noted:
        _put_on_record(matter, tx, wait, newest)
        await _show(matter, tx, wait)


async def _newest(tx: RunTx, word: ProgressPayload, before: Progress | None, noted_at: datetime) -> Progress:
    privacy = await tx.privacy()
    return Progress(
        message=error_text(privacy.text(word.message)),
        data=privacy.value(word.data),
        at=tx.now,
        count=1 if before is None else before.count + 1,
        noted_at=noted_at,
    )


def _put_on_record(matter: Matter, tx: RunTx, wait: Wait, newest: Progress) -> None:
    facts: dict[str, Any] = {
        "wait_id": wait.wait_id,
        "notification_id": matter.notification.notification_id,
        "message": newest.message,
        "count": newest.count,
    }
    if newest.data is not None:
        facts["data"] = commitment(newest.data, tx.row["salt"])
    tx.leaf("wait.progress", facts, actor=matter.notification.actor, step=wait.step)


async def _show(matter: Matter, tx: RunTx, wait: Wait) -> None:
    if wait.approval_id is not None:
        await approvals.touch(tx.conn, wait.approval_id)
        await messages.card_changed(matter.engine, tx, wait.approval_id)
