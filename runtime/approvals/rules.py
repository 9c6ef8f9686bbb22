"""The rules of human authorization: who may vote, claim a review, or do without the others; what votes add up to.

Values in, values out. The requester never counts. Expiry is never consent. Votes count distinct people, never accounts;
where all groups are asked, a distinct person signs for each. Beside the quorum each class of signers is complete. Where
policy gives groups a veto, a no of others ends nothing. Who votes for another uses up both: neither counts again, and a
delegation leads never around what either of the two may not do.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from receipts.passkey_records import PASSKEY
from runtime.model.delegation import Account, StandIn
from runtime.model.person import Person
from runtime.model.requirement import Requirement, SignerClass
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Refusal, RefusalCode, Vote, VoteVerdict

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


class Cast(NamedTuple):
    """A vote as far as the quorum depends on it; `delegator` is for whom it was given, None for the person alone.

    `signed_with` is with what it was signed, "" where with a click.
    """

    verdict: VoteVerdict
    person: str
    groups: Sequence[str]
    delegator: str | None = None
    uses_break_glass: bool = False
    signed_with: str = ""


def cast_of(vote: Vote) -> Cast:
    """Return a counted vote as the rules see it."""
    signed_with = PASSKEY if vote.passkey else ""
    return Cast(vote.verdict, vote.person, vote.groups, vote.delegator, vote.break_glass is not None, signed_with)


def tally(requirement: Requirement, votes: Sequence[Cast]) -> ApprovalStatus:
    """Return what votes add up to: a no that ends the request rejects; the quorum counts people, nobody in two votes.

    `votes` are those that were not withdrawn. One that uses break-glass does without the others.
    """
    if any(ends_request(requirement, vote) for vote in votes):
        return ApprovalStatus.REJECTED
    if any(vote.uses_break_glass for vote in votes):
        return ApprovalStatus.APPROVED
    return ApprovalStatus.APPROVED if is_met(requirement, counting(requirement, votes)) else ApprovalStatus.REQUESTED


def ends_request(requirement: Requirement, vote: Cast | Vote) -> bool:
    """Return whether a vote is a no by which the request is rejected, whatever else was said."""
    return vote.verdict.is_no and requirement.is_ended_by(vote.groups)


def leaves_open(requirement: Requirement, vote: Cast | Vote) -> bool:
    """Return whether a vote is a no that is on record and ends nothing, since the veto is with others."""
    return vote.verdict.is_no and not requirement.is_ended_by(vote.groups)


def counting(requirement: Requirement, votes: Sequence[Cast]) -> dict[str, AbstractSet[str]]:
    """Return whose approval counts now, each with their groups; `votes` are those that were not withdrawn."""
    asked = {*requirement.groups, *requirement.leads}
    votes_with = Counter(person for vote in votes for person in {vote.person, vote.delegator or vote.person})
    return {
        vote.person: frozenset(vote.groups)
        for vote in votes
        if not vote.verdict.is_no
        and asked & set(vote.groups)  # who has left the groups since counts no more
        and requirement.sign_with in ("", vote.signed_with)
        and (vote.delegator is None or votes_with[vote.person] == votes_with[vote.delegator] == 1)
    }


def still_missing(requirement: Requirement, signed: Mapping[str, AbstractSet[str]]) -> tuple[str, ...]:
    """Return the groups of which nobody has signed yet, where several must; `signed` is as `counting` returns it."""
    is_each = requirement.all_groups and len(set(requirement.groups)) > 1
    return tuple(without_signer(requirement.groups, signed)) if is_each else ()


def missing_classes(requirement: Requirement, signed: Mapping[str, AbstractSet[str]]) -> tuple[str, ...]:
    """Return in words the classes of signers that are not complete yet; `signed` is as `counting` returns it."""
    return tuple(one.words for one in requirement.classes if not is_class_met(one, signed))


def is_met(requirement: Requirement, signers: Mapping[str, AbstractSet[str]]) -> bool:
    """Return whether these people, with the groups that each is in, are enough, and enough of each class."""
    return _is_quorum_met(requirement, signers) and all(is_class_met(one, signers) for one in requirement.classes)


def is_class_met(one: SignerClass, signers: Mapping[str, AbstractSet[str]]) -> bool:
    """Return whether enough of these people are of a class: a distinct one for each group where each must sign."""
    return _is_quorum_met(one, _of_class(one, signers))


def _of_class(one: SignerClass, signers: Mapping[str, AbstractSet[str]]) -> dict[str, AbstractSet[str]]:
    return {person: groups for person, groups in signers.items() if not groups.isdisjoint(one.groups)}


def _is_quorum_met(asked: Requirement | SignerClass, signers: Mapping[str, AbstractSet[str]]) -> bool:
    if len(signers) < max(asked.quorum, 1):
        return False
    return not asked.all_groups or not without_signer(asked.groups, signers)


def shortfall(requirement: Requirement, people: Iterable[Person], barred: AbstractSet[str]) -> str:
    """Say why these people cannot fulfil the requirement, were all of them to approve; "" where they can.

    `people` are those of the groups asked and of those next in line; `barred` are the requester and the submitter.
    """
    asked = {*requirement.groups, *requirement.leads}
    may = {
        person.id: frozenset(person.groups)
        for person in people
        if asked & set(person.groups) and person.id not in barred and person.id not in requirement.exclude
    }
    return "; ".join(_shortfalls(requirement, may))


def _shortfalls(requirement: Requirement, may: Mapping[str, AbstractSet[str]]) -> Iterator[str]:
    if not _is_quorum_met(requirement, may):
        needed = max(requirement.quorum, len(set(requirement.groups)) if requirement.all_groups else 1)
        nobody = _nobody_in(requirement.groups, may)
        yield f"it needs {needed} distinct people, and {len(may)} may decide{nobody}"
    for one in requirement.classes:
        if not is_class_met(one, may):
            yield f"it needs {one.words}, and {len(_of_class(one, may))} may decide{_nobody_in(one.groups, may)}"


def _nobody_in(groups: Sequence[str], may: Mapping[str, AbstractSet[str]]) -> str:
    empty = [group for group in groups if not any(group in theirs for theirs in may.values())]
    return f"; nobody in {', '.join(empty)} may" if empty else ""


def without_signer(groups: Sequence[str], signers: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return the groups for which nobody is left once each of the others has a person of its own, as few as can be."""
    taken = set(seats(groups, signers).values())
    return [group for group in dict.fromkeys(groups) if group not in taken]


def seats(groups: Sequence[str], signers: Mapping[str, AbstractSet[str]]) -> dict[str, str]:
    """Return who signs for which group, each for one, so that as many groups as can be have somebody.

    A matching is grown along augmenting paths: a group takes a person from another group that can take a third one.
    """
    signs_for: dict[str, str] = {}
    for group in dict.fromkeys(groups):
        _find_signer(group, signers, signs_for, set())
    return signs_for


def _find_signer(
    group: str, signers: Mapping[str, AbstractSet[str]], signs_for: dict[str, str], tried: set[str]
) -> bool:
    for person in (person for person in signers if group in signers[person] and person not in tried):
        tried.add(person)
        if person not in signs_for or _find_signer(signs_for[person], signers, signs_for, tried):
            signs_for[person] = group
            return True
    return False
