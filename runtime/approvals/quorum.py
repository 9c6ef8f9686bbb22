"""Quorum: what votes add up to, what is missing, and whether people can fulfil a requirement. Values in, values out.

Votes count distinct people, never accounts; where all groups are asked, a distinct person signs for each. Beside the
quorum each class of signers has to be complete. Where policy gives groups a veto, a no of others ends nothing.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from receipts.passkey_records import PASSKEY
from runtime.model.person import Person
from runtime.model.requirement import Requirement, SignerClass
from runtime.model.states import ApprovalStatus
from runtime.model.votes import Vote, VoteVerdict


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
