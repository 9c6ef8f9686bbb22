"""Votes and what they lead to: the approval's end, the effect's next status, the task's result."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from receipts.canonical import digest
from receipts.chain import Actor
from runtime.approvals.rules import Ballot, refuse_vote, tally
from runtime.engine import Engine
from runtime.inbox.endings import end_approval
from runtime.inbox.matter import Matter
from runtime.model.actor import Person
from runtime.model.approval import Approval, ApprovalStatus, AskKind, Refusal, RefusalCode, Vote
from runtime.model.messages import VoteCounted
from runtime.model.notification import Applied, Notification, VotePayload
from runtime.model.states import NotificationStatus
from runtime.outbox import messages
from runtime.store import approvals
from runtime.store.transactions.run_tx import RunTx

UNKNOWN_APPROVAL = Refusal(RefusalCode.UNKNOWN)

_CLOSED = (RefusalCode.CLOSED, RefusalCode.EXPIRED, RefusalCode.STALE)


async def apply_vote(matter: Matter, payload: VotePayload) -> Applied:
    """Count a click, or refuse it; either way the run's chain says so."""
    engine, tx = matter.engine, matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return _refused(NotificationStatus.DEAD_LETTER, UNKNOWN_APPROVAL, None)
    person = await _voter(tx, payload)
    refusal = person if isinstance(person, Refusal) else await _refusal(tx, approval, person, payload)
    if not isinstance(person, Refusal) and refusal is None:
        return await _count(engine, tx, approval, person, matter.notification, payload)
    applied = _refuse(tx, approval, payload, refusal or UNKNOWN_APPROVAL)
    if payload.stamp not in ("", approval.stamp):
        await messages.card_outdated(engine, tx, approval, f"seen:{payload.team}:{payload.user}")
    return applied


async def _voter(tx: RunTx, payload: VotePayload) -> Person | Refusal:
    if payload.refusal is not None:
        return Refusal(payload.refusal.code, payload.refusal.about)
    row = await tx.loads.actor((tx.tenant, payload.person_id)) if payload.person_id else None
    if row is None or row["kind"] != "person":
        return Refusal(RefusalCode.NOT_IN_DIRECTORY)
    return Person(row["actor_id"], row["name"], tuple(row["groups"]))


def ballot_of(approval: Approval, votes: Sequence[Vote], run: Mapping[str, Any]) -> Ballot:
    """Return the approval, with its counted votes, as the rules of voting see it; `run` is its run's row."""
    return Ballot(
        status=approval.status,
        requirement=approval.requirement,
        requested_by=run["requested_by"],
        submitted_by=run["submitted_by"],
        requester_accounts=frozenset((team, user) for team, user in run["requester_accounts"]),
        voted=frozenset(vote.person for vote in votes),
        voted_accounts=frozenset((vote.team, vote.account) for vote in votes),
        joined=approval.joined,
        # what happened is asked until somebody knows
        expires_at=datetime.max.replace(tzinfo=UTC) if approval.kind is AskKind.IN_DOUBT else approval.expires_at,
    )


async def _refusal(tx: RunTx, approval: Approval, person: Person, payload: VotePayload) -> Refusal | None:
    ballot = ballot_of(approval, await tx.loads.votes(approval.approval_id), tx.row)
    account = (payload.team, payload.user)
    refusal = refuse_vote(ballot, person, [account], payload.verdict, payload.reason, tx.now)
    return refusal or (Refusal(RefusalCode.STALE) if payload.stamp not in ("", approval.stamp) else None)


def _refuse(tx: RunTx, approval: Approval, payload: VotePayload, refusal: Refusal) -> Applied:
    facts = {
        "approval_id": approval.approval_id,
        "code": str(refusal.code),
        "verdict": str(payload.verdict),
        "team": payload.team,
        "user": payload.user,
    }
    actor = Actor(id=payload.person_id or f"slack:{payload.team}:{payload.user}", kind="person")
    tx.leaf("vote.refused", facts, actor=actor, step=approval.step, approval_id=approval.approval_id)
    return _refused(_status_of(refusal.code), refusal, approval.status)


def _status_of(code: RefusalCode) -> NotificationStatus:
    if code is RefusalCode.REPEATED:
        return NotificationStatus.DUPLICATE
    return NotificationStatus.STALE if code in _CLOSED else NotificationStatus.REFUSED


def _refused(status: NotificationStatus, refusal: Refusal, approval: ApprovalStatus | None) -> Applied:
    about = {"code": str(refusal.code), "about": list(refusal.about)}
    return Applied(status, {"counted": False, **about, "approval": approval and str(approval)})


async def _count(
    engine: Engine, tx: RunTx, approval: Approval, person: Person, notification: Notification, payload: VotePayload
) -> Applied:
    vote = Vote(
        person=person.id,
        person_name=person.name,
        groups=person.groups,
        verdict=payload.verdict,
        reason=(await tx.privacy()).text(payload.reason.strip()),
        team=payload.team,
        account=payload.user,
        at=tx.now,
    )
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
