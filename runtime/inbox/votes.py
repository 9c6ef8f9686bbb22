"""Votes and what they lead to: the approval's end, the effect's next status, the task's result."""

from receipts.canonical import digest
from receipts.chain import Actor
from runtime.approvals.rules import refuse_vote, tally
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
from runtime.model.approval import Approval, ApprovalStatus, Refusal, RefusalCode, Vote
from runtime.model.messages import VoteCounted
from runtime.model.notification import Applied, Notification, VotePayload
from runtime.model.states import NotificationStatus
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.transactions.run_tx import RunTx


async def apply_vote(matter: Matter, payload: VotePayload) -> Applied:
    """Count a click, or refuse it; either way the run's chain says so."""
    engine, tx = matter.engine, matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown()
    person = await person_of(tx, payload)
    refusal = person if isinstance(person, Refusal) else await _refusal(tx, approval, person, payload)
    if not isinstance(person, Refusal) and refusal is None:
        return await _count(engine, tx, approval, person, matter.notification, payload)
    applied = refuse(tx, approval, payload, payload.verdict, refusal or UNKNOWN_APPROVAL)
    if payload.stamp not in ("", approval.stamp):
        await messages.card_outdated(engine, tx, approval, f"seen:{payload.team}:{payload.user}")
    return applied


async def _refusal(tx: RunTx, approval: Approval, person: Person, payload: VotePayload) -> Refusal | None:
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row, await holder_of(tx, approval))
    accounts = await accounts_of(tx, person, payload)
    refusal = refuse_vote(ballot, person, accounts, payload.verdict, payload.reason, tx.now)
    refusal = refusal or (Refusal(RefusalCode.STALE) if payload.stamp not in ("", approval.stamp) else None)
    return refusal or refuse_way(tx, approval, payload)


async def _count(
    engine: Engine, tx: RunTx, approval: Approval, person: Person, notification: Notification, payload: VotePayload
) -> Applied:
    team, account = await account_of(tx, person, payload)
    vote = Vote(
        person=person.id,
        person_name=person.name,
        groups=person.groups,
        verdict=payload.verdict,
        reason=(await tx.privacy()).text(payload.reason.strip()),
        team=team,
        account=account,
        at=tx.now,
        via=payload.via,
        brought_by=payload.brought_by,
    )
    await end_lapsed_claim(tx, approval, person)
    await approvals.insert_vote(tx.conn, approval.approval_id, vote, notification.notification_id)
    tx.leaf(
        "vote.counted",
        {
            "approval_id": approval.approval_id,
            "person": person.id,
            "verdict": str(vote.verdict),
            "digest": digest(vote.document()),
        },
        actor=Actor(id=person.id, kind="person"),
        step=approval.step,
        approval_id=approval.approval_id,
        effect_id=approval.effect_id,
    )
    votes = await tx.loads.votes(approval.approval_id)
    requirement = approval.requirement
    status = tally(requirement, [(v.verdict, v.person, v.groups) for v in votes])
    await _tell_vote(engine, tx, approval, vote, len(votes), requirement.quorum)
    if status is ApprovalStatus.REQUESTED:
        await approvals.touch(tx.conn, approval.approval_id)
        await messages.card_changed(engine, tx, approval.approval_id)
    else:
        await end_approval(engine, tx, approval, status, votes)
    return Applied(NotificationStatus.APPLIED, {"counted": True, "approval": str(status)})


async def _tell_vote(engine: Engine, tx: RunTx, approval: Approval, vote: Vote, count: int, quorum: int) -> None:
    said = VoteCounted(
        ask=approval.kind,
        person=vote.person_name,
        verdict=vote.verdict,
        reason=vote.reason,
        count=count,
        quorum=quorum,
    )
    await messages.tell_thread(engine, tx, approval.approval_id, f"vote:{approval.approval_id}:{vote.person}", said)
