"""Refusals of votes and other acts on a request: who speaks, about which request, and why it does not count.

Votes, claims, questions, edits and handovers share these rules. The request is read under its run's lock. A vote is not
taken back, and a review not handed over, where too few eligible approvers would be left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from receipts.chain import ONE_BY_ONE, VOTE_REFUSED, Actor
from runtime.approvals.requests import asked_groups, left, left_to, refuse_short
from runtime.approvals.routes import people_in
from runtime.approvals.rules import Ballot, may_still_answer
from runtime.inbox.notification_context import NotificationContext
from runtime.model.approval import Approval, AskKind, NamedApproval
from runtime.model.delegation import Account, AskedPerson
from runtime.model.notification import ApplyResult
from runtime.model.payloads import PersonPayload, VotePayload
from runtime.model.person import Person
from runtime.model.states import ApprovalStatus, NotificationStatus
from runtime.model.votes import CardAct, ClaimAct, Refusal, RefusalCode, Via, Vote, VoteVerdict
from runtime.outbox import messages
from runtime.store import approvals, directory
from runtime.store.approvals import VoteKey, given_vote
from runtime.store.database.buffered_connection import at_once
from runtime.store.directory import is_deactivated, is_person_deactivated
from runtime.store.electorate import Electorate
from runtime.store.refusals import count_refusal
from runtime.store.run_tx import RunTx

UNKNOWN_APPROVAL = Refusal(RefusalCode.UNKNOWN)

_CLOSED = (RefusalCode.CLOSED, RefusalCode.EXPIRED, RefusalCode.STALE)
_TWICE = (RefusalCode.REPEATED, RefusalCode.CLAIMED_BEFORE)


async def person_of(tx: RunTx, payload: PersonPayload) -> Person | Refusal:
    """Return the one person who speaks, or why nobody does."""
    if payload.refusal is not None:
        return payload.refusal
    row = await tx.loads.actor((tx.tenant, payload.person_id)) if payload.person_id else None
    if row is None or row["kind"] != "person":
        return Refusal(RefusalCode.NOT_IN_DIRECTORY)
    return Person(row["actor_id"], row["name"], tuple(row["groups"]))


async def present_person(tx: RunTx, payload: PersonPayload) -> Person | Refusal:
    """Return the one person who speaks, or why nobody does: not by an account that was deactivated meanwhile."""
    person, has_left = await at_once(person_of(tx, payload), _has_left(tx, payload))
    return _present(person, has_left=has_left)


def _present(person: Person | Refusal, *, has_left: bool) -> Person | Refusal:
    return Refusal(RefusalCode.DEACTIVATED) if has_left and isinstance(person, Person) else person


async def _has_left(tx: RunTx, payload: PersonPayload) -> bool:
    """Return whether the Slack account that spoke is deactivated; of who speaks in the console, all that they have."""
    if payload.via is Via.CONSOLE and payload.person_id:
        return await is_person_deactivated(tx.conn, tx.tenant, payload.person_id)
    return payload.via is Via.SLACK and await is_deactivated(tx.conn, payload.team, payload.user)


def account_of(accounts: Sequence[Account], person: Person) -> Account:
    """Return the account under which a vote is kept: nobody counts twice by another name."""
    return next(iter(accounts), ("", person.id))


async def accounts_of(tx: RunTx, person_id: str | None, payload: PersonPayload) -> Sequence[Account]:
    """Return the Slack account that spoke, or where none did all that the directory has of the person.

    The account of the console is behind them: the first one is that under which a vote is kept.
    """
    if payload.via is Via.SLACK:
        return [(payload.team, payload.user)]
    known = await directory.accounts_of(tx.conn, tx.tenant, person_id) if person_id else ()
    if payload.console is None:
        return known
    return [*(known or [("", person_id or "")]), (payload.console.issuer, payload.console.subject)]


def way_of(payload: PersonPayload) -> dict[str, str]:
    """Return what leaves say of a word in the console: by which account of which issuer; nothing of others."""
    if payload.console is None:
        return {}
    return {"via": str(payload.via), "issuer": payload.console.issuer, "subject": payload.console.subject}


async def claimant_of(tx: RunTx, approval: Approval) -> Person | None:
    """Return who has claimed a review, as long as they may answer it; None where that is nobody."""
    if approval.assignee is None:
        return None
    row, has_left = await at_once(
        tx.loads.actor((tx.tenant, approval.assignee)), is_person_deactivated(tx.conn, tx.tenant, approval.assignee)
    )
    return None if has_left else claimant_in(approval, row)


def claimant_in(approval: Approval, row: Mapping[str, Any] | None) -> Person | None:
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
        voted_accounts=frozenset(account for vote in votes for account in vote.accounts),
        joined=approval.joined,
        # what happened is asked until somebody knows
        expires_at=datetime.max.replace(tzinfo=UTC) if approval.kind.outlives_run else approval.expires_at,
        holder=holder,
    )


def refuse_stale(approval: Approval, payload: VotePayload) -> Refusal | None:
    """Return why a click is about something else than the approval is now, or None."""
    return Refusal(RefusalCode.STALE) if payload.stamp not in ("", approval.stamp) else None


def refuse_way(tx: RunTx, approval: Approval, payload: PersonPayload) -> Refusal | None:
    """Return why it may not come in this way, or None: in Slack and the console all may, otherwise reviews alone.

    A caller that brought the run in, or for which it runs, brings no answer to it.
    """
    if payload.via not in (Via.SLACK, Via.CONSOLE) and approval.kind is not AskKind.TASK:
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


async def record_refusal(
    tx: RunTx, approval: Approval, payload: PersonPayload, wanted: VoteVerdict | ClaimAct | CardAct, refusal: Refusal
) -> ApplyResult:
    """Put on record that what somebody said does not count.

    Who says it again and again is put on record at ever longer intervals: a chain does not grow with their clicks.
    """
    facts = {
        "approval_id": approval.approval_id,
        "code": str(refusal.code),
        "verdict": str(wanted),
        "team": payload.team,
        "user": payload.user,
        **way_of(payload),
    }
    actor = Actor(id=payload.person_id or f"slack:{payload.team}:{payload.user}", kind="person")
    if payload.person_id is None and payload.brought_by:
        actor = Actor(id=payload.brought_by, kind="agent")
    nth = await count_refusal(tx.conn, approval.approval_id, actor.id, str(refusal.code))
    if is_recorded(nth):
        counted = {} if nth <= ONE_BY_ONE else {"nth": nth}
        tx.leaf(VOTE_REFUSED, {**facts, **counted}, actor=actor, step=approval.step, approval_id=approval.approval_id)
    return _refused(_status_of(refusal.code), refusal, approval.status)


def is_recorded(nth: int) -> bool:
    """Return whether the how manieth refusal of one kind stands on record: the first ones, then at each doubling."""
    return nth <= ONE_BY_ONE or nth & (nth - 1) == 0


def unknown_request() -> ApplyResult:
    """Return what becomes of word about an approval that is not known."""
    return _refused(NotificationStatus.DEAD_LETTER, UNKNOWN_APPROVAL, None)


def _status_of(code: RefusalCode) -> NotificationStatus:
    if code in _TWICE:
        return NotificationStatus.DUPLICATE
    return NotificationStatus.STALE if code in _CLOSED else NotificationStatus.REFUSED


def _refused(status: NotificationStatus, refusal: Refusal, approval: ApprovalStatus | None) -> ApplyResult:
    about = {"code": str(refusal.code), "about": list(refusal.about)}
    return ApplyResult(status, {"counted": False, **about, "approval": approval and str(approval)})


@dataclass(frozen=True)
class RequestAct:
    """The locked run, the request with its counted votes, and the one person who speaks."""

    tx: RunTx
    approval: Approval
    votes: Sequence[Vote]
    ballot: Ballot
    person: Person


@dataclass(frozen=True)
class AroundKey:
    """Identifies what was read around a request for an act on it."""

    approval_id: str


class Around(NamedTuple):
    """Who speaks, the counted votes, and who has claimed it."""

    person: Person | Refusal
    votes: Sequence[Vote]
    holder: Person | None


async def _around(tx: RunTx, payload: PersonPayload, approval: Approval) -> Around:
    person, has_left, votes, holder = await at_once(
        person_of(tx, payload),
        _has_left(tx, payload),
        tx.loads.votes(approval.approval_id),
        claimant_of(tx, approval),
    )
    return Around(_present(person, has_left=has_left), votes, holder)


async def look_at_withdrawal(tx: RunTx, payload: PersonPayload) -> None:
    """Read ahead what a withdrawal is judged by, by the request as the run's lock found it."""
    approval: Approval | None = tx.ahead.get(NamedApproval(payload.approval_id))
    if approval is None:
        return
    around, asked = AroundKey(approval.approval_id), Electorate(asked_groups(approval.requirement))
    given = VoteKey(approval.approval_id, payload.person_id or "")
    await at_once(
        tx.look(around, _around(tx, payload, approval)),
        tx.look(asked, people_in(tx, asked)),
        tx.look(given, given_vote(tx.conn, given)),
    )


async def asked_people(tx: RunTx, ballot: Ballot) -> list[AskedPerson]:
    """Return the people whom a request asks, those next in line too."""
    return await tx.once(partial(people_in, tx), Electorate(asked_groups(ballot.requirement)))


async def load_act(
    matter: NotificationContext, payload: PersonPayload, act: CardAct, stamp: str
) -> RequestAct | ApplyResult:
    """Return where an act stands, or what to record instead: nobody speaks, or of a request that was another then."""
    tx = matter.run()
    approval = None if tx is None else await tx.locked_approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown_request()
    key = AroundKey(approval.approval_id)
    person, votes, holder = await tx.once(lambda _: _around(tx, payload, approval), key)
    if isinstance(person, Refusal):
        return await record_refusal(tx, approval, payload, act, person)
    ballot = ballot_of(approval, votes, tx.row, holder)
    if stamp not in ("", approval.stamp) and ballot.is_open(tx.now):
        return await record_refusal(tx, approval, payload, act, Refusal(RefusalCode.STALE))
    return RequestAct(tx, approval, votes, ballot, person)


async def load_act_of_caller(
    matter: NotificationContext, payload: PersonPayload, act: CardAct, _: str
) -> RequestAct | ApplyResult:
    """Return where an act of a caller of the edge stands, which speaks for itself; or what to record instead."""
    tx = matter.run()
    approval = None if tx is None else await tx.loads.approval(payload.approval_id)
    if tx is None or approval is None:
        return unknown_request()
    row = await tx.loads.actor((tx.tenant, payload.brought_by))
    if row is None or row["kind"] != "agent":
        return await record_refusal(tx, approval, payload, act, Refusal(RefusalCode.NOT_IN_DIRECTORY))
    votes = await tx.loads.votes(approval.approval_id)
    caller = Person(row["actor_id"], row["name"], ())
    return RequestAct(tx, approval, votes, ballot_of(approval, votes, tx.row), caller)


async def accept_act(matter: NotificationContext, answer: RequestAct) -> ApplyResult:
    """Show on the card what was said, and return that it counts."""
    tx, approval = answer.tx, answer.approval
    await approvals.touch(tx.conn, approval.approval_id)
    await messages.card_changed(matter.engine, tx, approval.approval_id)
    return ApplyResult(NotificationStatus.APPLIED, {"counted": True, "approval": str(approval.status)})


def refuse_stranding_withdrawal(
    people: Sequence[AskedPerson], ballot: Ballot, votes: Sequence[Vote], person: str
) -> Refusal | None:
    """Return why a vote stays, or None: its person could not give it again, and too few others of `people` are left."""
    others = [vote for vote in votes if vote.person != person]
    before, after = (left(ballot.requirement, people, _barred(ballot), some) for some in (votes, others))
    return refuse_short(before, after)


def refuse_stranding_handover(people: Sequence[AskedPerson], ballot: Ballot, to: str) -> Refusal | None:
    """Return why a review stays with its person, or None: nobody could answer it once it is that other one's."""
    before = left(ballot.requirement, people, _barred(ballot))
    return refuse_short(before, left_to(ballot.requirement, people, _barred(ballot), to))


def _barred(ballot: Ballot) -> frozenset[str]:
    return frozenset({ballot.requested_by, ballot.submitted_by})
