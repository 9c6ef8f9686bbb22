"""Lint of requirements beside the directory: groups that nobody knows, and people who are too few."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any

from policy.lint.findings import Finding, TenantConfig
from runtime.approvals.rules import shortfall
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.services.policy_lint import TenantPeople

_OF_REQUIREMENT = ("quorum", "groups", "all_groups", "expires_in", "escalate_to", "classes")
_AWAY = 2
"""The requester, who may be any of them, and one person who is absent."""


def asked_groups(config: TenantConfig) -> list[tuple[str, ...]]:
    """Return the sets of groups of which lint has to know who can decide."""
    found = [_asked(entry) for entry in config.requirements.values()]
    return [*found, *(_breakers(entry) for entry in config.requirements.values() if "break_glass" in entry)]


def people_findings(config: TenantConfig, people: TenantPeople) -> Iterator[Finding]:
    """Yield what the directory does not go with; what is about a group that nobody knows is told of the group alone."""
    unknown = {path: group for path, group in _named_groups(config) if group not in people.groups}
    for path, group in unknown.items():
        says = f"the directory has no group {group}: correct the name, or add people to it"
        yield config.finding(path, "people.unknown_group", says)
    for name, entry in config.requirements.items():
        if set(unknown.values()).isdisjoint(_asked(entry)):
            found = list(_too_few(config, ("requirements", name), entry, people))
            yield from found or _of_limits(config, name, entry, people)
        if "break_glass" in entry and set(unknown.values()).isdisjoint(entry["break_glass"]["review_by"]):
            yield from _self_review(config, name, entry["break_glass"], people.able[_breakers(entry)])


def _named_groups(config: TenantConfig) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each group that the configuration names, with its path."""
    yield from _each(("operators",), config.document.get("operators", ()))
    for name, entry in config.requirements.items():
        path = ("requirements", name)
        yield from _each((*path, "groups"), entry["groups"])
        for place, later in enumerate(entry["escalate_to"]):
            yield from _each((*path, "escalate_to", place, "to"), later["to"])
        for member in ("groups", "tell", "review_by") if "break_glass" in entry else ():
            yield from _each((*path, "break_glass", member), entry["break_glass"][member])
    for name, limit in config.document.get("limits", {}).items():
        yield from _each(("limits", name, "notify"), limit.get("notify", ()))
        yield from _each(("limits", name, "when", "requester_groups"), limit["when"].get("requester_groups", ()))


def _each(path: tuple[str | int, ...], groups: Sequence[str]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    yield from (((*path, place), group) for place, group in enumerate(groups))


def _asked(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*entry["groups"], *(one for later in entry["escalate_to"] for one in later["to"])]))


def _breakers(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(entry["break_glass"]["groups"])


def _of_limits(config: TenantConfig, name: str, entry: Mapping[str, Any], people: TenantPeople) -> Iterator[Finding]:
    """Yield limits that ask more of their requirement, or of that of the high tier, than its people can give."""
    for limit, asks in config.document.get("limits", {}).items():
        if asks.get("requirement", "high") == name:
            raised = {member: asks[member] for member in ("quorum", "sign_with") if member in asks}
            quorum = max(entry["quorum"], raised.get("quorum", 1))
            yield from _too_few(config, ("limits", limit), {**entry, **raised, "quorum": quorum}, people)


def _too_few(
    config: TenantConfig, path: tuple[str, ...], entry: Mapping[str, Any], people: TenantPeople
) -> Iterator[Finding]:
    given = {member: entry[member] for member in _OF_REQUIREMENT if member in entry}
    requirement = Requirement.of({**given, "exclude": [], "reason_required": False})
    able = people.able[_asked(entry)]
    if why := shortfall(requirement, able, frozenset()):
        says = f"nobody can ever meet it: {why}; add people with Slack accounts, or ask for fewer"
        yield config.finding(path, "people.impossible", says)
        return
    signers = [one for one in able if one.id in people.holders]
    if entry.get("sign_with") == "passkey" and (why := shortfall(requirement, signers, frozenset())):
        says = f"it is signed with passkeys, which too few have registered: {why}; let more people register one"
        yield config.finding((*path, "sign_with"), "people.passkeys", says)
    elif why := fragile(requirement, able):
        says = f"without a requester of these groups and one absent person, {why}; add people, or ask for fewer"
        yield config.finding(path, "people.too_few", says)


def fragile(requirement: Requirement, able: Sequence[Person]) -> str:
    """Say why two people less cannot meet a requirement, whichever they are; "" where the others always can.

    Two of a group can only be missed where it is small: of more people than groups and two, a distinct one is left, and
    of two more than a class asks for, as many as it asks for.
    """
    groups = {*requirement.groups, *(group for one in requirement.classes for group in one.groups)}
    of_groups = {group: [one.id for one in able if group in one.groups] for group in sorted(groups)}
    enough = max([len(of_groups), *(one.quorum for one in requirement.classes)]) + _AWAY
    small = {one for ids in of_groups.values() if len(ids) < enough for one in ids}
    away = combinations(sorted(small), min(_AWAY, len(small))) if small else [tuple(one.id for one in able[:_AWAY])]
    return next((why for ids in away if (why := shortfall(requirement, able, frozenset(ids)))), "")


def _self_review(
    config: TenantConfig, name: str, glass: Mapping[str, Any], breakers: Sequence[Person]
) -> Iterator[Finding]:
    """Yield break-glass that nobody could review: who used it does not, so another person has to be there."""
    same: AbstractSet[str] = set(glass["groups"])
    if same == set(glass["review_by"]) and len(breakers) == 1:
        says = f"{breakers[0].name} alone is in these groups, and nobody reviews their own use: name another group"
        yield config.finding(("requirements", name, "break_glass", "review_by"), "break_glass.self_review", says)
