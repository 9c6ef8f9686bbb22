"""Escalations and reminders: what happens to a wait while time runs short.

Nothing in them is consent: people are asked or told, time is given, a run is started. A run is started once for each
entry of an escalation, in its transaction. Who is still waited for follows from the rules that a vote of theirs would
be held to.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from receipts.chain import Actor
from receipts.fields import timestamp
from runtime.approvals.rules import Ballot, way_to_vote
from runtime.engine import Engine
from runtime.inbox.vote_refusals import ballot_of, claimant_of
from runtime.model.approval import Approval
from runtime.model.messages import NotStarted, Reminder, TimeRunsShort
from runtime.model.metrics import Mark
from runtime.model.person import Person
from runtime.model.runbook_version import NotActiveError, version_to_start
from runtime.model.votes import Refusal, VoteVerdict
from runtime.model.wait import Moment, Wait
from runtime.outbox import messages
from runtime.planning.triggers import Trigger, TriggerError, claim_in
from runtime.store import approvals, directory, waits
from runtime.store.definitions import versions_of_runbook
from runtime.store.delegations import stand_ins_of
from runtime.store.metrics import put_mark
from runtime.store.run_tx import RunTx


async def start_run_for(engine: Engine, tx: RunTx, wait: Wait, entry: int | None, runbook: str) -> dict[str, Any]:
    """Start a run of the runbook, on behalf of whoever asked for the one that waits, and return what is on record.

    Where it cannot be started, operators are told why.
    """
    try:
        return {"runbook": runbook, "run_id": await _start_run(engine, tx, wait, entry, runbook)}
    except (NotActiveError, TriggerError) as error:
        why = (await tx.privacy()).text(str(error))
        said = NotStarted(run=await messages.run_name(tx), step=wait.step, runbook=runbook, why=why)
        name = f"not_started:{wait.wait_id}:{entry}"
        await messages.tell_groups(engine, tx, list(engine.routing.doubt_groups), name, said, wait.approval_id)
        return {"runbook": runbook, "error": why}


async def _start_run(engine: Engine, tx: RunTx, wait: Wait, entry: int | None, runbook: str) -> str:
    lives = await versions_of_runbook(tx.conn, tx.tenant, runbook)
    if not lives:
        raise TriggerError("there is no such runbook")
    definition = await tx.definitions.get(tx.conn, runbook, version_to_start(lives, None).version)
    what = (await tx.definition()).verb_of(wait.step).description
    reference = tx.row["reference"] or tx.row["trigger_ref"]
    trigger = Trigger(
        tenant=tx.tenant,
        type=definition.trigger_type,
        ref=f"{wait.run_id}:{wait.wait_id}:{entry}",
        payload={
            "run": wait.run_id,
            "step": wait.step,
            "reference": reference,
            "what": what,
        },
        requested_by=Actor(id=tx.row["requested_by"], kind=tx.row["requester_kind"]),
        submitted_by=tx.row["submitted_by"],
        request_id=tx.request_id,
    )
    claimed = await claim_in(engine, tx.loads, definition, trigger)
    tx.conn.on_commit(engine.wakeup.poke)
    return claimed.run_id


async def undecided_accounts(tx: RunTx, approval: Approval) -> list[str]:
    """Return the Slack accounts of all who may decide it now, themselves or for somebody, and have not."""
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row, await claimant_of(tx, approval))
    asked = approval.requirement.electorate(approval.joined)
    users = await directory.accounts_in_groups(tx.conn, tx.tenant, asked, tx.now)
    behind = await directory.people_behind(tx.conn, tx.tenant, users)
    return [user for team, user, person in behind if await _may_vote(tx, ballot, person, [(team, user)])]


async def _may_vote(tx: RunTx, ballot: Ballot, person: Person, accounts: Sequence[tuple[str, str]]) -> bool:
    asks_for_others = set(person.groups).isdisjoint(ballot.requirement.electorate(ballot.joined))
    stand_ins = await stand_ins_of(tx.conn, tx.tenant, person.id, tx.now) if asks_for_others else []
    way = way_to_vote(ballot, person, accounts, stand_ins, VoteVerdict.APPROVE, None, tx.now)
    return not isinstance(way, Refusal)


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
    waited_for = await undecided_accounts(tx, approval)
    if len(waited_for) <= messages.MOST_DIRECT:
        await messages.tell_people(engine, tx, waited_for, key, said, approval.approval_id)
