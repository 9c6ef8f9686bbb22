"""What differs between two policies: rules by path and text, and the configuration with what it does to limits."""

import json
from copy import deepcopy
from typing import Any

import pytest

from policy.bundle import CONFIG_FILE
from policy.changes import ChangeKind, config_changes, file_changes, rule_changes
from policy.direction import Direction
from policy.trace import Place, PolicyRule

WINDOW = {"days": ["mon"], "from": "09:00", "until": "17:00"}
FILING = {"tier": "high", "targets": ["register:*"]}
REQUIREMENT = {
    "quorum": 2,
    "groups": ["compliance"],
    "all_groups": False,
    "expires_in": "PT8H",
    "escalate_to": [{"after": "PT6H", "to": ["leads"]}],
}
ACME: dict[str, Any] = {
    "writes_per_run": 60,
    "operators": ["ops"],
    "note": "x",
    "connectors": {"register": {"chat": False, "operations": {"file": FILING}}},
    "requirements": {"high": REQUIREMENT},
}
FILE = ("connectors", "register", "operations", "file")


def files(config: dict[str, Any], **modules: str) -> dict[str, str]:
    return {**modules, CONFIG_FILE: json.dumps({"acme": config})}


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return the configuration with another value at a place; None takes away what is there."""
    config = deepcopy(ACME)
    place: Any = config
    for name in path[:-1]:
        place = place[name]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return config


LIMITS: list[tuple[tuple[str, ...], Any, str]] = [
    (("writes_per_run",), 61, "wider"),
    (("operators",), ["ops", "all"], "wider"),
    (("operators",), ["all"], "other"),
    (("note",), "y", "other"),
    (("connectors", "register"), None, "narrower"),
    (("connectors", "portal"), {"chat": False, "operations": {}}, "wider"),
    (("connectors", "register", "chat"), True, "wider"),
    (FILE, None, "narrower"),
    ((*FILE, "tier"), "low", "wider"),
    ((*FILE, "targets"), ["register:*", "other:*"], "wider"),
    ((*FILE, "targets"), [], "narrower"),
    ((*FILE, "targets"), ["other:*"], "other"),
    ((*FILE, "execute"), {"between": [WINDOW], "time_zone": "Europe/Oslo"}, "narrower"),
    (("requirements", "high", "quorum"), 1, "wider"),
    (("requirements", "high", "groups"), ["legal"], "other"),
    (("requirements", "high", "expires_in"), "PT4H", "narrower"),
    (("requirements", "low"), REQUIREMENT, "other"),
    (("writes_per_run",), "many", "other"),
    ((*FILE, "tier"), "huge", "other"),
    (("requirements", "high", "quorum"), "two", "other"),
]
BACK = {"wider": "narrower", "narrower": "wider", "other": "other"}


@pytest.mark.parametrize(("path", "value", "direction"), LIMITS)
def test_of_a_limit_it_is_said_whether_more_is_permitted_and_back_it_is_the_other_way(
    path: tuple[str, ...], value: Any, direction: str
) -> None:
    old, new = files(ACME), files(changed(path, value))
    [there], [back] = config_changes(old, new), config_changes(new, old)
    assert (there.tenant, there.path, there.direction) == ("acme", path, direction)
    assert (back.path, back.direction) == (path, BACK[direction])
    assert (there.old, there.new) == (back.new, back.old)


def test_other_times_are_wider_unless_each_was_there_before() -> None:
    both = {"between": [WINDOW, {**WINDOW, "days": ["tue"]}], "time_zone": "Europe/Oslo"}
    old = files(changed((*FILE, "execute"), both))
    fewer = files(changed((*FILE, "execute"), {**both, "between": [WINDOW]}))
    [found] = config_changes(old, fewer)
    assert (found.path, found.direction) == ((*FILE, "execute"), Direction.NARROWER)
    [found] = config_changes(fewer, old)
    assert found.direction is Direction.WIDER


def test_a_tenant_that_comes_or_goes_is_one_change_and_the_same_configuration_none() -> None:
    assert config_changes(files(ACME), files(ACME)) == []
    [found] = config_changes({}, files(ACME))
    assert (found.tenant, found.path, found.old) == ("acme", (), None)


def rule(text: str, path: str = "data.p.deny", code: str = "", title: str = "", sentence: str = "") -> PolicyRule:
    return PolicyRule(Place("p.rego", 1), path, title, code, (), text, sentence)


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        (["a", "b"], ["b", "a"], []),
        (["a"], ["a", "b"], [ChangeKind.ADDED]),
        (["a", "a"], ["a"], [ChangeKind.REMOVED]),
        (["a", "b"], ["a", "c"], [ChangeKind.CHANGED]),
        (["a", "b"], ["c"], [ChangeKind.CHANGED, ChangeKind.REMOVED]),
    ],
)
def test_rules_of_one_path_differ_by_their_text_and_not_by_their_order(
    old: list[str], new: list[str], kinds: list[ChangeKind]
) -> None:
    assert [one.kind for one in rule_changes(map(rule, old), map(rule, new))] == kinds


def test_another_sentence_or_title_is_a_change_and_another_code_another_rule() -> None:
    was = rule("a", code="x")
    for now in (rule("a", code="x", sentence="No"), rule("a", code="x", title="New")):
        [found] = rule_changes([was], [now])
        assert (found.kind, found.rule) == (ChangeKind.CHANGED, now)
    assert {one.kind for one in rule_changes([was], [rule("a", code="y")])} == {ChangeKind.REMOVED, ChangeKind.ADDED}


def test_files_that_differ_in_anything_are_named_and_the_configuration_is_none_of_them() -> None:
    old = files(ACME, **{"a.rego": "a", "b.rego": "b", "c.rego": "c"})
    new = files({}, **{"a.rego": "a", "b.rego": "b # more", "d.rego": "d"})
    assert file_changes(old, new) == ["b.rego", "c.rego", "d.rego"]
