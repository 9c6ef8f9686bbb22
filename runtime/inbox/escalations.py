"""The moments of a wait. Nothing in them is consent: people are asked or told, time is given, a run is started."""

from dataclasses import replace
from typing import Any

from receipts.fields import timestamp
from runtime.engine import Engine
from runtime.inbox.starts import start_run_for
from runtime.inbox.undecided import undecided
from runtime.model.figures import Mark
from runtime.model.messages import Reminder, TimeRunsShort
from runtime.model.wait import Moment, Wait
from runtime.outbox import messages
from runtime.store import approvals, directory, waits
from runtime.store.approval_marks import put_mark
from runtime.store.run_tx import RunTx


async def pass_moments(engine: Engine, tx: RunTx, wait: Wait) -> Wait:
    """Do what has come by now, in its order, and return the wait as it is then.

    Of several reminders one is enough, and none comes where the time is over.
    """
    due = wait.due(tx.now)
    passed = replace(wait, moments=wait.moments[len(due) :], turn=wait.turn + 1)
    for moment in due:
        if moment.entry is not None:
            passed = await _escalate(engine, tx, passed, moment)
    if passed.deadline > tx.now and any(moment.entry is None for moment in due):
        await _remind(engine, tx, passed)
    await waits.turn(tx.conn, passed)
    return passed


async def _escalate(engine: Engine, tx: RunTx, wait: Wait, moment: Moment) -> Wait:
    """Carry out one entry of an escalation, and return the wait with the deadline that it has then."""
    facts: dict[str, Any] = {"wait_id": wait.wait_id, "type": wait.type, "entry": moment.entry, "to": list(moment.to)}
    if moment.extend is not None:
        wait = replace(wait, deadline=max(wait.deadline, tx.now) + moment.extend)
        facts["deadline"] = timestamp(wait.deadline)
    if moment.start is not None:
        facts["started"] = await start_run_for(engine, tx, wait, moment.entry, moment.start)
    tx.leaf("wait.escalated", facts, step=wait.step, approval_id=wait.approval_id)
    if wait.approval_id is not None:
        await put_mark(tx.conn, wait.approval_id, Mark.ESCALATED, f"{wait.wait_id}:{moment.entry}", tx.now)
        until = None if moment.extend is None else wait.deadline
        await approvals.join(tx.conn, wait.approval_id, moment.to, until)
        await messages.card_changed(engine, tx, wait.approval_id)
    await _tell(engine, tx, wait, moment)
    return wait


async def _tell(engine: Engine, tx: RunTx, wait: Wait, moment: Moment) -> None:
    said = TimeRunsShort(
        run=await messages.run_name(tx),
        step=wait.step,
        groups=list(moment.to),
        until=None if moment.extend is None else timestamp(wait.deadline),
        asked_from=await _asked_from(tx, wait, moment),
        started=moment.start,
    )
    name = f"escalated:{wait.wait_id}:{moment.entry}"
    await messages.tell_thread(engine, tx, wait.approval_id, name, said)
    await messages.tell_groups(engine, tx, list(moment.to), name, said, wait.approval_id)


async def _asked_from(tx: RunTx, wait: Wait, moment: Moment) -> str | None:
    """Return when the first of those next in line is out of quiet hours; None where somebody is now, or nobody is."""
    approval = await tx.loads.approval(wait.approval_id) if wait.approval_id else None
    users = await directory.accounts_in_groups(tx.conn, tx.tenant, moment.to, tx.now)
    each = [await tx.loads.notices((tx.tenant, user)) for user in users]
    first = min((one.from_when(tx.now, approval.tier if approval else None) for one in each), default=tx.now)
    return timestamp(first) if first > tx.now else None


async def _remind(engine: Engine, tx: RunTx, wait: Wait) -> None:
    """Tell those who are asked that they are waited for: in the thread, and who has not decided, to themselves."""
    approval = await tx.loads.approval(wait.approval_id) if wait.approval_id else None
    if approval is None:
        return
    await put_mark(tx.conn, approval.approval_id, Mark.REMINDED, f"{wait.wait_id}:{wait.turn}", tx.now)
    groups = list(approval.requirement.electorate(approval.joined))
    name, until = await messages.run_name(tx), timestamp(wait.deadline)
    said = Reminder(run=name, step=wait.step, groups=groups, until=until)
    key = f"reminded:{wait.wait_id}:{wait.turn}"
    await messages.tell_thread(engine, tx, wait.approval_id, key, said)
    waited_for = await undecided(tx, approval)
    if len(waited_for) <= messages.MOST_DIRECT:
        await messages.tell_people(engine, tx, waited_for, key, said, approval.approval_id)
