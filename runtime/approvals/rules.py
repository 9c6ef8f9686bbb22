"""The rules of human authorization: who may vote, claim a review, or do without the others. Values in, values out.

The requester never counts. Expiry is never consent. Who votes for another uses up both: neither counts again, and a
delegation leads never around what either of the two may not do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from runtime.model.delegation import Account, StandIn
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict

REASON_MIN = 3


@dataclass(frozen=True)
class Ballot:
    """An approval as far as a vote's validity depends on it."""

    status: ApprovalStatus
    requirement: Requirement
    requested_by: str
    submitted_by: str
    requester_accounts: frozenset[Account]
    voted: frozenset[str]
    voted_accounts: frozenset[Account]
    joined: Sequence[str]  # groups that were asked since
    expires_at: datetime
    voted_for: Mapping[str, str] = field(default_factory=dict)  # names of voters by those for whom they voted
    holder: Person | None = None  # who has claimed it, as long as they may answer

    def is_open(self, now: datetime) -> bool:
        """Return whether anything that is said to it can still count."""
        return self.status is ApprovalStatus.REQUESTED and now < self.expires_at


def refuse_vote(
    ballot: Ballot, person: Person, accounts: Iterable[Account], verdict: VoteVerdict, reason: str | None, now: datetime
) -> Refusal | None:
    """Return why this vote does not count, or None. `reason` None means that it is not asked yet.

    `accounts` are the one that clicked, or all of the person's where nobody has clicked yet.
    """
    behind = frozenset(accounts)
    if ballot.status is not ApprovalStatus.REQUESTED:
        return Refusal(RefusalCode.CLOSED, (str(ballot.status),))
    if now >= ballot.expires_at:
        return Refusal(RefusalCode.EXPIRED)
    if person.id in (ballot.requested_by, ballot.submitted_by) or behind & ballot.requester_accounts:
        return Refusal(RefusalCode.REQUESTER)
    if person.id in ballot.requirement.exclude:
        return Refusal(RefusalCode.EXCLUDED)
    electorate = ballot.requirement.electorate(ballot.joined)
    if not set(person.groups) & set(electorate):
        return Refusal(RefusalCode.NOT_IN_GROUP, tuple(electorate))
    if person.id in ballot.voted or behind & ballot.voted_accounts:
        return Refusal(RefusalCode.REPEATED, voted_for(ballot, person))
    if ballot.holder is not None and ballot.holder.id != person.id:
        return Refusal(RefusalCode.CLAIMED, (ballot.holder.name,))
    return _refuse_reason(ballot, verdict, reason)


def voted_for(ballot: Ballot, person: Person) -> tuple[str, ...]:
    """Return the name of who has voted for a person, as what a refusal is about; nothing where nobody has."""
    return (ballot.voted_for[person.id],) if person.id in ballot.voted_for else ()


def refuse_claim(ballot: Ballot, person: Person, accounts: Iterable[Account], now: datetime) -> Refusal | None:
    """Return why the person cannot take a review on, or None.

    Who may answer may claim it, once nobody else has. Those next in line, once they may answer, may take it over.
    """
    if ballot.holder is not None and ballot.holder.id == person.id:
        return Refusal(RefusalCode.CLAIMED_BEFORE)
    is_lead = not set(ballot.requirement.leads).isdisjoint(person.groups)
    seen = replace(ballot, holder=None) if is_lead else ballot
    return refuse_vote(seen, person, accounts, VoteVerdict.APPROVE, None, now)


def refuse_release(ballot: Ballot, person: Person) -> Refusal | None:
    """Return why the person cannot give a review back, or None: who has claimed it may, as long as it is open."""
    if ballot.status is not ApprovalStatus.REQUESTED:
        return Refusal(RefusalCode.CLOSED, (str(ballot.status),))
    if ballot.holder is None or ballot.holder.id != person.id:
        return Refusal(RefusalCode.NOT_CLAIMED)
    return None


def refuse_break_glass(
    ballot: Ballot, person: Person, accounts: Iterable[Account], reason: str | None, used: int, now: datetime
) -> Refusal | None:
    """Return why the person cannot do without the others, or None; `used` is how often they have, of late.

    `reason` None means that it is not asked yet.

    Who may is one of the groups that the requirement names for it, whether asked or not; all else is as for a vote.
    """
    break_glass = ballot.requirement.break_glass
    if break_glass is None:
        return Refusal(RefusalCode.NO_BREAK_GLASS)
    named = replace(ballot.requirement, groups=break_glass.groups, reason_required=True)
    seen = replace(ballot, requirement=named, joined=(), holder=None)
    if refusal := refuse_vote(seen, person, accounts, VoteVerdict.APPROVE, reason, now):
        return refusal
    return Refusal(RefusalCode.BREAK_GLASS_SPENT, (str(break_glass.at_most),)) if used >= break_glass.at_most else None


def may_still_answer(requirement: Requirement, groups: Iterable[str], joined: Sequence[str]) -> bool:
    """Return whether somebody of these groups, who has claimed a review, is still asked; else the claim is over."""
    return not set(requirement.electorate(joined)).isdisjoint(groups)


def _refuse_reason(ballot: Ballot, verdict: VoteVerdict, reason: str | None) -> Refusal | None:
    if reason is None or len(reason.strip()) >= REASON_MIN:
        return None
    if verdict.is_no or ballot.requirement.reason_required:
        return Refusal(RefusalCode.REASON_MISSING)
    return None


def refuse_for(
    ballot: Ballot,
    person: Person,
    accounts: Iterable[Account],
    stand_in: StandIn,
    verdict: VoteVerdict,
    reason: str | None,
    now: datetime,
) -> Refusal | None:
    """Return why the person's vote does not count for their delegator, or None.

    It counts where both might give it: the delegator, and the delegate, were they in the groups of the delegator. A
    delegation holds from and to its moments, for its delegate alone, and not on what was asked for by whoever
    recorded it.
    """
    delegation, delegator = stand_in.delegation, stand_in.delegator
    if delegation.delegate != person.id or person.id in (delegator.id, delegation.recorded_by):
        return Refusal(RefusalCode.NOT_IN_GROUP, ballot.requirement.electorate(ballot.joined))
    if not delegation.covers(now):
        return Refusal(RefusalCode.NOT_IN_GROUP, ballot.requirement.electorate(ballot.joined))
    if delegation.recorded_by in (ballot.requested_by, ballot.submitted_by, *ballot.requirement.exclude):
        return Refusal(RefusalCode.REQUESTER)
    if ballot.holder is not None and ballot.holder.id == delegator.id:
        ballot = replace(ballot, holder=None)
    theirs = refuse_vote(ballot, delegator, stand_in.accounts, verdict, reason, now)
    return theirs or refuse_vote(ballot, replace(person, groups=delegator.groups), accounts, verdict, reason, now)


def way_to_vote(
    ballot: Ballot,
    person: Person,
    accounts: Sequence[Account],
    stand_ins: Sequence[StandIn],
    verdict: VoteVerdict,
    reason: str | None,
    now: datetime,
) -> StandIn | Refusal | None:
    """Return for whom a person who is not asked votes: the first delegator for whom it counts; else why it does not.

    None is for themselves: who is asked stands in for nobody.
    """
    refusal = refuse_vote(ballot, person, accounts, verdict, reason, now)
    if refusal is None or refusal.code is not RefusalCode.NOT_IN_GROUP:
        return refusal
    for stand_in in stand_ins:
        theirs = refuse_for(ballot, person, accounts, stand_in, verdict, reason, now)
        if theirs is None:
            return stand_in
        refusal = theirs if refusal.code is RefusalCode.NOT_IN_GROUP else refusal
    return refusal
