"""The rules of what people do with a request beside deciding it. Values in, values out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from runtime.approvals.rules import REASON_MIN, Ballot, refuse_vote, voted_for
from runtime.model.delegation import Account
from runtime.model.person import Person
from runtime.model.questions import MOST_QUESTIONS, Answerers, Question
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict


@dataclass(frozen=True)
class Candidate:
    """A person, with the accounts by which the rules know them: the one that clicked, or all where none has."""

    person: Person
    accounts: Sequence[Account]


def refuse_withdrawal(
    ballot: Ballot, person: Person, voters: frozenset[str], reason: str | None, now: datetime
) -> Refusal | None:
    """Return why the person cannot take their vote back, or None: as long as the request is open they may.

    `voters` are those who gave a vote that counts; for whom it was given takes nothing back. `reason` None means that
    it is not asked yet.
    """
    if refusal := refuse_closed(ballot, now):
        return refusal
    if person.id not in voters:
        return Refusal(RefusalCode.NO_VOTE, voted_for(ballot, person))
    return refuse_short(reason)


def refuse_hand(ballot: Ballot, person: Candidate, to: Candidate, reason: str | None, now: datetime) -> Refusal | None:
    """Return why the person cannot hand the request to another, or None.

    Who may decide it now may hand it to somebody else who might: never to the requester, to whom policy excludes, or to
    whoever has voted on it. A review that somebody works on is theirs alone to hand on.
    """
    if refusal := refuse_vote(ballot, person.person, person.accounts, VoteVerdict.APPROVE, None, now):
        return refusal
    free = replace(ballot, holder=None)
    theirs = refuse_vote(free, to.person, to.accounts, VoteVerdict.APPROVE, None, now)
    if theirs or to.person.id == person.person.id:
        return Refusal(RefusalCode.NOT_ENTITLED, (to.person.name,))
    return refuse_short(reason)


@dataclass(frozen=True)
class Asker:
    """Who answers a question: by their id, and a person by the accounts that clicked.

    `group` is the one that the runbook names for questions, "" where they are not in it.
    """

    id: str
    accounts: frozenset[Account]
    group: str = ""


def wanted_run(ballot: Ballot, asker: Asker) -> bool:
    """Return whether they requested or submitted the run."""
    is_known = asker.id in (ballot.requested_by, ballot.submitted_by)
    return is_known or not asker.accounts.isdisjoint(ballot.requester_accounts)


def refuse_ask(
    to_decide: Refusal | None, person: str, asked: Sequence[Question], answerers: Answerers, question: str | None
) -> Refusal | None:
    """Return why the person cannot ask this, or None: who may decide now may ask, one question at a time.

    `to_decide` is why they may not decide; of `answerers` there has to be one.
    """
    if to_decide is not None:
        return to_decide
    if answerers.is_nobody:
        return Refusal(RefusalCode.NOBODY_ANSWERS)
    if any(one.person == person and one.answer is None for one in asked):
        return Refusal(RefusalCode.QUESTION_OPEN)
    return Refusal(RefusalCode.QUESTIONS_FULL) if len(asked) >= MOST_QUESTIONS else refuse_short(question)


def refuse_reply(
    ballot: Ballot, asker: Asker, question: Question | None, text: str | None, now: datetime
) -> Refusal | None:
    """Return why this is no answer to a question, or None.

    Who requested or submitted the run answers, or a member of the group for questions who did not ask it.
    """
    if refusal := refuse_closed(ballot, now):
        return refusal
    if not (asker.group or wanted_run(ballot, asker)):
        return Refusal(RefusalCode.NOT_ASKED)
    if question is None or question.answer is not None:
        return Refusal(RefusalCode.NO_QUESTION)
    if question.person == asker.id:
        return Refusal(RefusalCode.NOT_ASKED)
    return refuse_short(text)


def refuse_closed(ballot: Ballot, now: datetime) -> Refusal | None:
    """Return why nothing more is said to a request, or None: it is open."""
    if ballot.status is not ApprovalStatus.REQUESTED:
        return Refusal(RefusalCode.CLOSED, (str(ballot.status),))
    return Refusal(RefusalCode.EXPIRED) if now >= ballot.expires_at else None


def refuse_short(reason: str | None) -> Refusal | None:
    """Return why these words say nothing, or None, also where they are not asked yet."""
    return None if reason is None or len(reason.strip()) >= REASON_MIN else Refusal(RefusalCode.REASON_MISSING)
