"""Quorum: whether enough people approved, enough of each class, and whether nobody with a veto said no.

So many as the quorum says, and where each group has to sign, a person of its own for each.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from evidence.records import RequirementRecord, SignerClassRecord, VoteRecord
from evidence.verify.contents import BrokenError


def uses_break_glass(requirement: RequirementRecord, vote: VoteRecord) -> bool:
    """Return whether a vote does without the others, by somebody whom the requirement lets do so, and often enough."""
    break_glass, said = requirement.break_glass, vote.break_glass
    if break_glass is None or said is None or vote.verdict != "approve" or vote.delegation is not None:
        return False
    if requirement.sign_with is not None and not vote.is_signed:
        return False
    return said.nth <= break_glass.at_most and not set(break_glass.groups).isdisjoint(vote.groups)


def check_quorum(
    name: str, requirement: RequirementRecord, votes: Sequence[VoteRecord], electorate: dict[str, set[str]]
) -> None:
    """Raise unless enough people approved who are in a group that was asked, and enough of each class.

    Nobody with a veto said no. A vote for somebody else counts where neither of the two has another one; where the
    requirement says with what it is signed, one that is signed so. One that uses break-glass is enough.
    """
    if vetoed := [vote.person for vote in votes if requirement.veto and requirement.is_ended_by(vote)]:
        raise BrokenError(name, f"counts as approved, and {vetoed[0]}, who has a veto, said no")
    if any(uses_break_glass(requirement, vote) for vote in votes):
        return
    votes_with = Counter(person for vote in votes for person in set(vote.people))
    approving = [
        vote
        for vote in votes
        if vote.verdict == "approve"
        and electorate[vote.person] & set(vote.groups)
        and (requirement.sign_with is None or vote.is_signed)
        and (vote.delegation is None or (len(set(vote.people)) > 1 and all(votes_with[p] == 1 for p in vote.people)))
    ]
    if len(approving) < requirement.quorum:
        raise BrokenError(name, f"{len(approving)} approved, where {requirement.quorum} had to")
    _check_each(name, requirement, approving)
    for one in requirement.classes:
        _check_class(name, one, [vote for vote in approving if not set(one.groups).isdisjoint(vote.groups)])


def _check_each(name: str, asked: RequirementRecord | SignerClassRecord, approving: Sequence[VoteRecord]) -> None:
    """Raise unless each group has a person of its own, where it needs one."""
    if asked.all_groups and (missing := _groups_without_signer(asked.groups, approving)):
        raise BrokenError(name, f"each group needs an approval of its own, and {', '.join(missing)} has none")


def _check_class(name: str, one: SignerClassRecord, approving: Sequence[VoteRecord]) -> None:
    """Raise unless enough people of a class of signers approved; these votes are those of its groups."""
    if len(approving) < one.quorum:
        of = " or ".join(one.groups)
        raise BrokenError(name, f"{len(approving)} of {of} approved, where {one.quorum} had to")
    _check_each(name, one, approving)


def _groups_without_signer(groups: Sequence[str], approving: Sequence[VoteRecord]) -> list[str]:
    """Return the groups that are left over when each one takes a person of its own, as few as can be."""
    signs_for: dict[str, str] = {}
    return [group for group in sorted(set(groups)) if not _gets_signer(group, approving, signs_for)]


def _gets_signer(start: str, approving: Sequence[VoteRecord], signs_for: dict[str, str]) -> bool:
    """Give a group a person of its own, having others sign for another of their groups where that frees one."""
    via: dict[str, str] = {}  # person: the group for which the search came upon them
    ahead = [start]
    while ahead:
        group = ahead.pop()
        for vote in approving:
            if group not in vote.groups or vote.person in via:
                continue
            via[vote.person] = group
            if vote.person not in signs_for:
                _move_up(vote.person, via, signs_for)
                return True
            ahead.append(signs_for[vote.person])
    return False


def _move_up(free: str, via: Mapping[str, str], signs_for: dict[str, str]) -> None:
    """Have everybody on the way from the free person back to the start sign for the group before theirs."""
    person: str | None = free
    while person is not None:
        group = via[person]
        before = next((other for other, theirs in signs_for.items() if theirs == group), None)
        signs_for[person], person = group, before
