"""The electorate of a request: who can decide it as things stand, of those asked and of those who may vote for them."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from runtime.approvals.rules import seats
from runtime.model.delegation import AskedPerson, Deputy
from runtime.model.person import Person


def able(asked: Sequence[AskedPerson], groups: AbstractSet[str], barred: AbstractSet[str]) -> list[Person]:
    """Return the people who can decide: each who is asked and has an account, and others for those who have none.

    Of those `barred` (requester, submitter, excluded) nobody can, nobody can for them, nor by their word. Who is asked
    votes for themselves, and one person for one other: so as few stay without a vote as can be.
    """
    may = [one for one in asked if not groups.isdisjoint(one.person.groups) and one.person.id not in barred]
    away = {one.person.id: one for one in may if not one.users}
    voters = {one.person.id for one in asked if not groups.isdisjoint(one.person.groups)}
    deputies = {
        (one.person.id, deputy.id): deputy
        for one in away.values()
        for deputy in one.deputies
        if deputy.id not in voters and _is_free(deputy, groups, barred)
    }
    taken = seats(list(away), _chosen_by(deputies))
    found = ((deputies[absent, deputy], absent) for deputy, absent in taken.items())
    return [
        *(one.person for one in may if one.users),
        *(Person(deputy.id, deputy.name, deputy.groups) for deputy, _ in found),
    ]


def without(asked: Sequence[AskedPerson], used: AbstractSet[str]) -> list[AskedPerson]:
    """Return those asked but for the ones who are `used`: these decide nothing more, for themselves or for others."""
    return [
        replace(one, deputies=tuple(deputy for deputy in one.deputies if deputy.id not in used))
        for one in asked
        if one.person.id not in used
    ]


def users_of(asked: Sequence[AskedPerson], groups: AbstractSet[str], barred: AbstractSet[str]) -> list[str]:
    """Return the Slack accounts of those who may decide, and of those who may vote for one of them; each once."""
    may = [one for one in asked if not groups.isdisjoint(one.person.groups) and one.person.id not in barred]
    deputies = (deputy for one in may for deputy in one.deputies if _is_free(deputy, groups, barred))
    users = [*(user for one in may for user in one.users), *(user for one in deputies for user in one.users)]
    return list(dict.fromkeys(users))


def _is_free(deputy: Deputy, groups: AbstractSet[str], barred: AbstractSet[str]) -> bool:
    is_barred = not barred.isdisjoint((deputy.id, deputy.recorded_by))
    return bool(deputy.users) and not is_barred and not groups.isdisjoint(deputy.groups)


def _chosen_by(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for absent, deputy in pairs:
        found.setdefault(deputy, set()).add(absent)
    return found
