"""Whether enough people are left to fulfil a request after an edit, a hand-over, a withdrawal or a delegation's end."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from runtime.approvals.reaching import able
from runtime.approvals.rules import shortfall
from runtime.model.actor import Person
from runtime.model.approval_reach import Asked
from runtime.model.requirement import Requirement
from runtime.model.votes import Refusal, RefusalCode, Vote


def asked_groups(requirement: Requirement) -> tuple[str, ...]:
    """Return the groups of a requirement, those next in line too."""
    return (*requirement.groups, *requirement.leads)


def left(
    requirement: Requirement, people: Sequence[Asked], barred: AbstractSet[str], votes: Sequence[Vote] = ()
) -> str:
    """Say why these people, with the votes that count, cannot fulfil a requirement; "" where they can.

    `people` are those of `asked_groups`; `barred` are the requester and the submitter.
    """
    barred = {*barred, *requirement.exclude}
    used = {person for vote in votes for person in vote.people}
    free = [
        replace(one, deputies=tuple(deputy for deputy in one.deputies if deputy.id not in used))
        for one in people
        if one.person.id not in used
    ]
    voters = [Person(vote.person, vote.person_name, tuple(vote.groups)) for vote in votes]
    return shortfall(requirement, [*able(free, set(asked_groups(requirement)), barred), *voters], barred)


def left_to(requirement: Requirement, people: Sequence[Asked], barred: AbstractSet[str], to: str) -> str:
    """Say why a review cannot be answered once it is `to` one person, who may answer it beside those next in line."""
    leads = set(requirement.leads)
    return left(requirement, [one for one in people if one.person.id == to or leads & set(one.person.groups)], barred)


def refuse_short(before: str, after: str) -> Refusal | None:
    """Return why an act does not count after which too few people are left, where enough were before it; or None."""
    return Refusal(RefusalCode.NOT_ENOUGH_APPROVERS, (after,)) if after and not before else None
