"""Who says something about an approval, and why it does not count: what votes and claims share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from receipts.chain import ONE_BY_ONE, VOTE_REFUSED, Actor
from runtime.approvals.rules import Ballot, may_still_answer
from runtime.model.actor import Person
from runtime.model.approval import Approval, AskKind
from runtime.model.delegation import Account
from runtime.model.notification import Applied
from runtime.model.notification_people import PersonPayload, VotePayload
from runtime.model.states import ApprovalStatus, NotificationStatus
from runtime.model.votes import CardAct, ClaimAct, Refusal, RefusalCode, Via, Vote, VoteVerdict
from runtime.store import approvals, directory
from runtime.store.absentees import has_left, person_left
from runtime.store.people_refusals import count_refusal
from runtime.store.run_tx import RunTx

UNKNOWN_APPROVAL = Refusal(RefusalCode.UNKNOWN)

_CLOSED = (RefusalCode.CLOSED, RefusalCode.EXPIRED, RefusalCode.STALE)
_TWICE = (RefusalCode.REPEATED, RefusalCode.CLAIMED_BEFORE)


async def person_of(tx: RunTx, payload: PersonPayload) -> Person | Refusal:
    """Return the one person who speaks, or why nobody does."""
    if payload.refusal is not None:
        return Refusal(payload.refusal.code, payload.refusal.about)
    row = await tx.loads.actor((tx.tenant, payload.person_id)) if payload.person_id else None
    if row is None or row["kind"] != "person":
        return Refusal(RefusalCode.NOT_IN_DIRECTORY)
    return Person(row["actor_id"], row["name"], tuple(row["groups"]))


async def present_person(tx: RunTx, payload: PersonPayload) -> Person | Refusal:
    """Return the one person who speaks, or why nobody does: not by an account that was deactivated meanwhile."""
    person = await person_of(tx, payload)
    if isinstance(person, Person) and payload.via is Via.SLACK and await has_left(tx.conn, payload.team, payload.user):
        return Refusal(RefusalCode.DEACTIVATED)
    return person


def account_of(accounts: Sequence[Account], person: Person) -> Account:
    """Return the account under which a vote is kept: nobody counts twice by another name."""
    return next(iter(accounts), ("", person.id))


async def accounts_of(tx: RunTx, person_id: str | None, payload: PersonPayload) -> Sequence[Account]:
    """Return the Slack account that spoke, or where none did all that the directory has of the person."""
    if payload.via is Via.SLACK:
        return [(payload.team, payload.user)]
    return await directory.accounts_of(tx.conn, tx.tenant, person_id) if person_id else ()


async def holder_of(tx: RunTx, approval: Approval) -> Person | None:
    """Return who has claimed a review, as long as they may answer it; None where that is nobody."""
    if approval.assignee is None:
        return None
    row = await tx.loads.actor((tx.tenant, approval.assignee))
    holder = holder_in(approval, row)
    return None if holder is None or await person_left(tx.conn, tx.tenant, holder.id) else holder


def holder_in(approval: Approval, row: Mapping[str, Any] | None) -> Person | None:
    """Return the person in the directory's row who has claimed a review, if their claim still holds."""
    if row is None or row["kind"] != "person":
        return None
    holds = may_still_answer(approval.requirement, row["groups"], approval.joined)
    return Person(row["actor_id"], row["name"], tuple(row["groups"])) if holds else None


def ballot_of(
    approval: Approval, votes: Sequence[Vote], run: Mapping[str, Any], holder: Person | None = None
) -> Ballot:
    """Return the approval, with its counted votes, as the rules of voting see it; `run` is its run's row."""
    return Ballot(
        status=approval.status,
        requirement=approval.requirement,
        requested_by=run["requested_by"],
        submitted_by=run["submitted_by"],
        requester_accounts=frozenset((team, user) for team, user in run["requester_accounts"]),
        voted=frozenset(person for vote in votes for person in vote.people),
        voted_for={vote.delegator: vote.person_name for vote in votes if vote.delegator},
        voted_accounts=frozenset((vote.team, vote.account) for vote in votes),
        joined=approval.joined,
        # what happened is asked until somebody knows
        expires_at=datetime.max.replace(tzinfo=UTC) if approval.kind.outlives_run else approval.expires_at,
        holder=holder,
    )


def refuse_stale(approval: Approval, payload: VotePayload) -> Refusal | None:
    """Return why a click is about something else than the approval is now, or None."""
    return Refusal(RefusalCode.STALE) if payload.stamp not in ("", approval.stamp) else None


def refuse_way(tx: RunTx, approval: Approval, payload: PersonPayload) -> Refusal | None:
    """Return why it may not come in this way, or None: in Slack all may, otherwise reviews alone.

    A caller that brought the run in, or for which it runs, brings no answer to it.
    """
    if payload.via is not Via.SLACK and approval.kind is not AskKind.TASK:
        return Refusal(RefusalCode.NO_TASK)
    if payload.brought_by and payload.brought_by in (tx.row["requested_by"], tx.row["submitted_by"]):
        return Refusal(RefusalCode.BROUGHT)
    return None


async def end_lapsed_claim(tx: RunTx, approval: Approval, *people: str) -> Approval:
    """Put on record, before somebody else goes on with a review, that the claim of who may not answer holds no more.

    `people` are who goes on with it, and for whom. Return the review as it then is.
    """
    if approval.assignee in (None, *people):
        return approval
    await approvals.assign(tx.conn, approval.approval_id, None)
    facts = {"approval_id": approval.approval_id, "person": approval.assignee}
    tx.leaf("task.released", facts, step=approval.step, approval_id=approval.approval_id)
    return replace(approval, assignee=None, revision=approval.revision + 1)


async def refuse(
    tx: RunTx, approval: Approval, payload: PersonPayload, wanted: VoteVerdict | ClaimAct | CardAct, refusal: Refusal
) -> Applied:
    """Put on record that what somebody said does not count.

    Who says it again and again is put on record at ever longer intervals: a chain does not grow with their clicks.
    """
    facts = {
        "approval_id": approval.approval_id,
        "code": str(refusal.code),
        "verdict": str(wanted),
        "team": payload.team,
        "user": payload.user,
    }
    actor = Actor(id=payload.person_id or f"slack:{payload.team}:{payload.user}", kind="person")
    if payload.person_id is None and payload.brought_by:
        actor = Actor(id=payload.brought_by, kind="agent")
    nth = await count_refusal(tx.conn, approval.approval_id, actor.id, str(refusal.code))
    if is_told(nth):
        counted = {} if nth <= ONE_BY_ONE else {"nth": nth}
        tx.leaf(VOTE_REFUSED, {**facts, **counted}, actor=actor, step=approval.step, approval_id=approval.approval_id)
    return _refused(_status_of(refusal.code), refusal, approval.status)


def is_told(nth: int) -> bool:
    """Return whether the how manieth refusal of one kind stands on record: the first ones, then at each doubling."""
    return nth <= ONE_BY_ONE or nth & (nth - 1) == 0


def unknown() -> Applied:
    """Return what becomes of word about an approval that is not known."""
    return _refused(NotificationStatus.DEAD_LETTER, UNKNOWN_APPROVAL, None)


def _status_of(code: RefusalCode) -> NotificationStatus:
    if code in _TWICE:
        return NotificationStatus.DUPLICATE
    return NotificationStatus.STALE if code in _CLOSED else NotificationStatus.REFUSED


def _refused(status: NotificationStatus, refusal: Refusal, approval: ApprovalStatus | None) -> Applied:
    about = {"code": str(refusal.code), "about": list(refusal.about)}
    return Applied(status, {"counted": False, **about, "approval": approval and str(approval)})
