"""Waits: durable blocks that cost a row, and that a notification or a deadline resolves.

Their moments are what happens to a wait before it ends, in the order of its time: escalations and reminders.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

from receipts.fields import timestamp
from runtime.definitions.model import Verb
from runtime.engine import Engine
from runtime.model.delivery import reminder_times
from runtime.model.requirement import Requirement
from runtime.model.states import WaitStatus, WaitType
from runtime.model.wait import Correlate, Moment, Wait
from runtime.store import notifications, waits
from runtime.store.run_tx import RunTx


async def open_wait(
    engine: Engine,
    tx: RunTx,
    *,
    step: str,
    kind: WaitType,
    correlation_key: str,
    correlate: Correlate = Correlate.BY_TOKEN,
    lasts: timedelta,
    moments: Sequence[Moment] = (),
    approval_id: str | None = None,
) -> str:
    """Open a step's one active wait in the transaction of `tx`, and return its token.

    Answers that came before it are looked at again when the transaction has ended.
    """
    wait_id = engine.new_id("wait")
    wait = Wait(
        wait_id=wait_id,
        run_id=tx.run_id,
        step=step,
        type=kind,
        correlation_key=correlation_key,
        correlate=correlate,
        token=f"{wait_id}.{engine.new_id('tok')}",
        deadline=tx.now + lasts,
        moments=moments,
        status=WaitStatus.ACTIVE,
        approval_id=approval_id,
    )
    await waits.open_wait(tx.conn, wait, tx.now)
    tx.hides = tx.hides or kind is WaitType.EXTERNAL  # its token
    await notifications.receive_early(tx.conn, tx.tenant, correlation_key)
    tx.leaf(
        "wait.opened",
        {
            "wait_id": wait_id,
            "type": str(kind),
            "correlation_key": correlation_key,
            "deadline": timestamp(wait.deadline),
        },
        step=step,
        approval_id=approval_id,
    )
    return wait.token


def moments_of(verb: Verb, opened_at: datetime, remind: Mapping[str, Any]) -> list[Moment]:
    """Return what its verb wants to happen while a wait is open: escalations, and reminders as long as it may last.

    Where the verb says nothing of reminders, they come as the tenant's `remind` says, {} for never.
    """
    entries = [
        Moment(opened_at + entry.after, place, entry.to, entry.extend, entry.start)
        for place, entry in enumerate(verb.escalation)
    ]
    longest = verb.timeout + sum((entry.extend or timedelta(0) for entry in verb.escalation), timedelta(0))
    pauses = [after for after in accumulate(verb.remind) if after < longest]
    return _in_order(entries, opened_at, pauses if verb.remind else reminder_times(remind, longest))


def moments_of_request(requirement: Requirement, opened_at: datetime, remind: Mapping[str, Any]) -> list[Moment]:
    """Return what policy wants to happen while a request is open, and the reminders that the tenant wants."""
    entries = [Moment(opened_at + entry.waits, place, entry.to) for place, entry in enumerate(requirement.escalate_to)]
    return _in_order(entries, opened_at, reminder_times(remind, requirement.lasts))


def _in_order(entries: Sequence[Moment], opened_at: datetime, pauses: Sequence[timedelta]) -> list[Moment]:
    return sorted([*entries, *(Moment(opened_at + after, None) for after in pauses)], key=lambda moment: moment.at)
