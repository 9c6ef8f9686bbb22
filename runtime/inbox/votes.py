"""Votes and what they lead to: the approval's end, the effect's next status, the task's result."""

from typing import NamedTuple

from receipts.canonical import digest
from receipts.chain import Actor
from runtime.approvals.rules import Cast, tally
from runtime.approvals.standing_in import way_to_vote
from runtime.engine import Engine
from runtime.inbox.endings import end_approval
from runtime.inbox.matter import Matter
from runtime.inbox.people.voters import (
    UNKNOWN_APPROVAL,
    account_of,
    accounts_of,
    ballot_of,
    end_lapsed_claim,
    holder_of,
    person_of,
    refuse,
    refuse_way,
    unknown,
)
from runtime.model.actor import Person
from runtime.model.approvals.approval import Approval, AskKind
from runtime.model.approvals.delegation import StandIn
from runtime.model.approvals.votes import Refusal, RefusalCode, Vote, VoteVerdict
from runtime.model.messages import VoteCounted
from runtime.model.notification.notification import Applied, Notification
from runtime.model.notification.people import VotePayload
from runtime.model.states import ApprovalStatus, NotificationStatus
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.people.delegations import stand_ins_of
from runtime.store.transactions.run_tx import RunTx


class Voter(NamedTuple):
    """Who votes, and by which delegation for whom; None for themselves."""

    person: Person
    stand_in: StandIn | None


async def apply_vote(matter: Matter, payload: VotePayload) -> Applied:
    """Count a click, or refuse it; either way the run's chain says so."""
    engine, tx = matter.engine, matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown()
    person = await person_of(tx, payload)
    way = person if isinstance(person, Refusal) else await _way(tx, approval, person, payload)
    if not isinstance(person, Refusal) and not isinstance(way, Refusal):
        return await _count(engine, tx, approval, Voter(person, way), matter.notification, payload)
    applied = refuse(tx, approval, payload, payload.verdict, way if isinstance(way, Refusal) else UNKNOWN_APPROVAL)
    if payload.stamp not in ("", approval.stamp):
        await messages.card_outdated(engine, tx, approval, f"seen:{payload.team}:{payload.user}")
    return applied


async def _way(tx: RunTx, approval: Approval, person: Person, payload: VotePayload) -> StandIn | Refusal | None:
    """Return why the vote does not count, or for whom it does: None for the person themselves."""
    if payload.verdict is VoteVerdict.CHANGES and approval.kind is AskKind.IN_DOUBT:
        return Refusal(RefusalCode.IN_DOUBT)
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row, await holder_of(tx, approval))
    accounts = await accounts_of(tx, person, payload)
    asks_for_others = set(person.groups).isdisjoint(approval.requirement.electorate(approval.joined))
    stand_ins = await stand_ins_of(tx.conn, tx.tenant, person.id, tx.now) if asks_for_others else []
    way = way_to_vote(ballot, person, accounts, stand_ins, payload.verdict, payload.reason, tx.now)
    if isinstance(way, Refusal):
        return way
    stale = Refusal(RefusalCode.STALE) if payload.stamp not in ("", approval.stamp) else None
    return stale or refuse_way(tx, approval, payload) or way


async def _count(
    engine: Engine, tx: RunTx, approval: Approval, voter: Voter, notification: Notification, payload: VotePayload
) -> Applied:
    person, stand_in = voter
    team, account = await account_of(tx, person, payload)
    vote = Vote(
        person=person.id,
        person_name=person.name,
        groups=stand_in.delegator.groups if stand_in else person.groups,
        verdict=payload.verdict,
        reason=(await tx.privacy()).text(payload.reason.strip()),
        team=team,
        account=account,
        at=tx.now,
        via=payload.via,
        brought_by=payload.brought_by,
        delegation=stand_in.document() if stand_in else None,
        together=payload.together.model_dump() if payload.together else None,
    )
    await end_lapsed_claim(tx, approval, *vote.people)
    await approvals.insert_vote(tx.conn, approval.approval_id, vote, notification.notification_id)
    tx.leaf(
        "vote.counted",
        {
            "approval_id": approval.approval_id,
            "person": person.id,
            "verdict": str(vote.verdict),
            "digest": digest(vote.document()),
            **({"delegator": vote.delegator} if vote.delegator else {}),
        },
        actor=Actor(id=person.id, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    votes = await tx.loads.votes(approval.approval_id)
    requirement = approval.requirement
    status = tally(requirement, [Cast(v.verdict, v.person, v.groups, v.delegator) for v in votes])
    name = f"vote:{notification.notification_id}"
    await _tell_vote(engine, tx, approval, name, vote, len(votes))
    if status is ApprovalStatus.REQUESTED:
        await approvals.touch(tx.conn, approval.approval_id)
        await messages.card_changed(engine, tx, approval.approval_id)
    else:
        await end_approval(engine, tx, approval, status, votes)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(status)})


async def _tell_vote(engine: Engine, tx: RunTx, approval: Approval, name: str, vote: Vote, count: int) -> None:
    said = VoteCounted(
        ask=approval.kind,
        person=vote.given_by,
        verdict=vote.verdict,
        reason=vote.reason,
        count=count,
        quorum=approval.requirement.quorum,
    )
    await messages.tell_thread(engine, tx, approval.approval_id, name, said)
