"""Changes between two policies: rules by title, and the tenants' configuration by member.

Of what the configuration limits it is said whether the change permits more (`wider`), less (`narrower`), or something
else. What is no limit, and what both widens and narrows, is `other`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from policy.bundle import CONFIG_FILE
from policy.contract import Requirement
from policy.differences import Difference, DifferenceClass, execute_difference, requirement_differences
from policy.direction import Direction
from policy.execution_windows import ExecuteWhen
from policy.limit_changes import limit_changes
from policy.trace import PolicyRule


class ChangeKind(StrEnum):
    """How a rule changed."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class RuleChange:
    """A rule that was added, removed or changed; of a changed rule, the new one."""

    kind: ChangeKind
    rule: PolicyRule


@dataclass(frozen=True)
class ConfigChange:
    """A member of a tenant's configuration, by path, with its old and new value; None if missing.

    Of limits in data it is what they ask for, with an example of a question.
    """

    tenant: str
    path: tuple[str, ...]
    old: Any
    new: Any
    direction: Direction
    example: str | None = None


def rule_changes(old: Iterable[PolicyRule], new: Iterable[PolicyRule]) -> list[RuleChange]:
    """Return the rules that differ, sorted by path.

    A rule of which only the text differs is changed; where several of a path do, they are taken in their order.
    """
    was, now = _by_path(old), _by_path(new)
    return [
        change for path in sorted(was.keys() | now.keys()) for change in _of_path(was.get(path, ()), now.get(path, ()))
    ]


def _by_path(rules: Iterable[PolicyRule]) -> dict[tuple[str, str], list[PolicyRule]]:
    found: dict[tuple[str, str], list[PolicyRule]] = {}
    for rule in rules:
        found.setdefault((rule.path, rule.code), []).append(rule)
    return found


def _of_path(old: Sequence[PolicyRule], new: Sequence[PolicyRule]) -> Iterator[RuleChange]:
    gone, come = _without(old, new), _without(new, old)
    both = min(len(gone), len(come))
    yield from (RuleChange(ChangeKind.CHANGED, rule) for rule in come[:both])
    yield from (RuleChange(ChangeKind.REMOVED, rule) for rule in gone[both:])
    yield from (RuleChange(ChangeKind.ADDED, rule) for rule in come[both:])


def _without(rules: Sequence[PolicyRule], others: Sequence[PolicyRule]) -> list[PolicyRule]:
    """Return the rules without an equal among the others; each of the others matches one rule."""
    left = Counter(map(_said, others))
    found = []
    for rule in rules:
        if left[_said(rule)]:
            left[_said(rule)] -= 1
        else:
            found.append(rule)
    return found


def _said(rule: PolicyRule) -> tuple[str, str, str]:
    return rule.text, rule.title, rule.sentence


def file_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the Rego files that differ in any character."""
    named = sorted(old.keys() | new.keys())
    return [name for name in named if name != CONFIG_FILE and old.get(name) != new.get(name)]


def config_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[ConfigChange]:
    """Return the changes in the tenants' configuration, given the files of two policies."""
    was, now = tenants_config(old), tenants_config(new)
    return [
        change
        for tenant in sorted(was.keys() | now.keys())
        for change in _of_tenant(tenant, was.get(tenant), now.get(tenant))
    ]


def _of_tenant(tenant: str, old: Any, new: Any) -> Iterator[ConfigChange]:
    """Yield the changes of a tenant; its limits are compared by what they ask for, if they can be read."""
    found = limit_changes(old, new) if isinstance(old, dict) and isinstance(new, dict) else None
    if found is None:
        yield from _changes(tenant, (), old, new)
        return
    was, now = ({name: value for name, value in one.items() if name != "limits"} for one in (old, new))
    yield from _changes(tenant, (), was, now)
    for one in found:
        yield ConfigChange(tenant, ("limits", *one.path), one.old, one.new, one.direction, one.example)


def tenants_config(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the configuration of each tenant, given the files of a policy."""
    tenants: dict[str, Any] = json.loads(files.get(CONFIG_FILE, "{}"))
    return tenants


def _changes(tenant: str, path: tuple[str, ...], old: Any, new: Any) -> Iterator[ConfigChange]:
    if old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        if (found := _of_requirement(path, old, new)) is not None:
            yield from (_as_change(tenant, path, one) for one in found)
            return
        if path[-1:] != ("execute",):
            for name in sorted(old.keys() | new.keys()):
                yield from _changes(tenant, (*path, name), old.get(name), new.get(name))
            return
    yield ConfigChange(tenant, path, old, new, _direction(path, old, new))


def _of_requirement(path: tuple[str, ...], old: Any, new: Any) -> list[Difference] | None:
    """Return the differences between two requirements; None if the path is no requirement, or one does not parse."""
    if len(path) != 2 or path[0] != "requirements":  # noqa: PLR2004 - requirements and a name
        return None
    try:
        was, now = (Requirement.model_validate_json(json.dumps({**_REST, **one})) for one in (old, new))
        return list(requirement_differences(was, now))
    except (ValidationError, ValueError, TypeError):
        return None


_REST = {"exclude": [], "reason_required": True}
"""Members of a requirement that come from rules, not from the configuration."""


def _as_change(tenant: str, path: tuple[str, ...], one: Difference) -> ConfigChange:
    member = one.member.removeprefix("requirement.")
    return ConfigChange(tenant, (*path, member), one.recorded, one.candidate, _directions(one.kind))


def _directions(kind: DifferenceClass) -> Direction:
    if kind is DifferenceClass.STRICTER:
        return Direction.NARROWER
    return Direction.OTHER if kind is DifferenceClass.OTHER_PEOPLE else Direction.WIDER


_TIERS = ("low", "medium", "high")


def _direction(path: tuple[str, ...], old: Any, new: Any) -> Direction:
    """Return the direction of a change at a path of the configuration."""
    names = tuple(name if place % 2 == 0 or path[0] != "connectors" else "*" for place, name in enumerate(path))
    try:
        return _LIMITS[names](old, new) if names in _LIMITS else Direction.OTHER
    except (TypeError, ValueError):  # one of them is not what it should be, which is said when it is checked
        return Direction.OTHER


def _more(old: Any, new: Any) -> Direction:
    return Direction.WIDER if new > old else Direction.NARROWER


def _there(old: Any, new: Any) -> Direction:
    if old is not None and new is not None:
        return Direction.OTHER
    return Direction.NARROWER if new is None else Direction.WIDER


def _sets(old: Iterable[str], new: Iterable[str]) -> Direction:
    """Compare sets of names or patterns; overlap between patterns is ignored."""
    gone, more = set(old) - set(new), set(new) - set(old)
    if gone and more:
        return Direction.OTHER
    return Direction.WIDER if more else Direction.NARROWER if gone else Direction.OTHER


def _times(old: Any, new: Any) -> Direction:
    was, now = (ExecuteWhen.model_validate_json(json.dumps(one)) if one else None for one in (old, new))
    return _directions(execute_difference(was, now))


_LIMITS: Mapping[tuple[str, ...], Callable[[Any, Any], Direction]] = {
    ("writes_per_run",): _more,
    ("operators",): lambda old, new: _sets(old or (), new or ()),
    ("connectors", "*"): _there,
    ("connectors", "*", "chat"): lambda old, new: _more(bool(old), bool(new)),
    ("connectors", "*", "operations", "*"): _there,
    ("connectors", "*", "operations", "*", "targets"): _sets,
    ("connectors", "*", "operations", "*", "tier"): lambda old, new: _more(-_TIERS.index(old), -_TIERS.index(new)),
    ("connectors", "*", "operations", "*", "execute"): _times,
}
"""The limits by path, each with its comparison."""
