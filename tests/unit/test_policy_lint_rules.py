"""Lint's own rules: lines of JSON, patterns of targets, times of the week, and the names in a module of a policy."""

import json
from typing import Any

import pytest

from countersign.policy_lint_people import fragile, people_findings
from policy.lint.configuration import configuration_findings
from policy.lint.demands import named_in
from policy.lint.findings import TenantConfig
from policy.lint.json_lines import lines_of
from policy.lint.rules import missing, undemanded
from policy.lint.target_patterns import covers
from policy.lint.windows import WEEK, longest_wait, open_minutes, seconds, spoken
from runtime.clock import utc_now
from runtime.model.person import Person
from runtime.model.requirement import Requirement
from runtime.services.policy_lint import TenantPeople

TEXT = """{
  "a": {"b\\"": [1,
    {"c": true}]},
  "d": []
}"""


def test_each_member_and_item_has_its_line() -> None:
    assert lines_of(TEXT) == {
        ("a",): 2,
        ("a", 'b"'): 2,
        ("a", 'b"', 0): 2,
        ("a", 'b"', 1): 3,
        ("a", 'b"', 1, "c"): 3,
        ("d",): 4,
    }
    assert lines_of("{}") == lines_of("3") == {}


@pytest.mark.parametrize(
    ("wide", "narrow", "is_covered"),
    [
        ("system:*", "system:*", True),
        ("system:*", "system:vault", True),
        ("system:*", "system:va*", True),
        ("system:*", "system:a/b", False),
        ("system:**", "system:a/b", True),
        ("system:*", "system:**", False),
        ("system:**", "system:*", True),
        ("system:va*", "system:*", False),
        ("*", "U1", True),
        ("https://*.example/*", "https://*.example/a", True),
        ("https://*.example/*", "https://a.example/a", False),
        ("sys{a,b}:*", "sys{a,b}:c", False),
        ("system:\\*", "system:\\*a", False),
        ("system:vault", "system:va", False),
    ],
)
def test_a_pattern_covers_what_it_surely_matches(wide: str, narrow: str, is_covered: bool) -> None:  # noqa: FBT001
    assert covers(wide, narrow) is is_covered


def window(days: str, begins: str, ends: str) -> dict[str, Any]:
    return {"days": days.split(), "from": begins, "until": ends}


def test_windows_that_overlap_or_go_past_midnight_count_each_minute_once() -> None:
    assert len(open_minutes([window("mon tue", "09:00", "17:00"), window("mon", "16:00", "18:00")])) == 17 * 60
    assert open_minutes([window("sun", "23:59", "00:01")]) == {0, WEEK - 1}
    assert len(open_minutes([window("mon", "00:00", "24:00")])) == 24 * 60


def test_the_longest_wait_goes_over_the_weekend() -> None:
    working = open_minutes([window("mon tue wed thu fri", "09:00", "17:00")])
    assert longest_wait(working) == 64 * 60
    assert longest_wait(open_minutes([window("tue", "09:00", "09:01")])) == WEEK - 1
    assert longest_wait(set(range(WEEK))) == 0


def test_durations_are_read_as_the_configuration_has_them_and_minutes_are_spoken() -> None:
    assert [seconds(one) for one in ("P2D", "PT3H", "PT4M", "PT5S")] == [172_800, 10_800, 240, 5]
    assert [spoken(one) for one in (0, 1, 61, 2880)] == ["0 minutes", "1 minute", "1 hour and 1 minute", "2 days"]


def config(**more: Any) -> TenantConfig:
    """Return a configuration without findings, with changed members."""
    entry = {"tier": "low", "targets": ["system:*"]}
    whole = {
        "writes_per_run": 1,
        "operators": ["operators"],
        "connectors": {"access": {"chat": False, "operations": {"grant": entry}}},
        "requirements": {"high": REQUIREMENT},
        **more,
    }
    return TenantConfig.of("acme", "data.json", json.dumps(whole), whole)


REQUIREMENT = {"quorum": 2, "groups": ["a"], "all_groups": False, "expires_in": "PT8H", "escalate_to": []}
MANY = {**REQUIREMENT, "limits": 3}
LATER = {"limits": [{"when": {"over": 3}, "requirement": "house"}], "budgets": {"x": 1}, "write_limits": None}


def test_members_that_lint_does_not_know_are_no_finding_and_a_requirement_they_name_is_asked_for() -> None:
    found = config(**LATER, requirements={"high": MANY, "house": REQUIREMENT, "nobodys": REQUIREMENT})
    assert list(configuration_findings(found, utc_now())) == []
    assert [one.path for one in undemanded([found], [])] == ["requirements.nobodys"]


def glass(may: list[str], review_by: list[str], **more: Any) -> TenantConfig:
    """Return a configuration whose requirement `high` has break-glass."""
    terms = {"at_most": 2, "within": "P1D", "tell": [], "review_within": "P1D"}
    entry = {**terms, "groups": may, "review_by": review_by}
    return config(requirements={"high": {**REQUIREMENT, **more, "break_glass": entry}})


@pytest.mark.parametrize(
    ("made", "codes"),
    [
        (glass(["a"], ["b"], quorum=1), ["break_glass.no_use"]),
        (glass(["a"], ["b"], quorum=2), []),
        (glass(["a", "c"], ["b"], quorum=1), []),
        (glass(["a"], ["b"], quorum=1, groups=["a", "b"], all_groups=True), []),
        (glass(["a"], ["b"], quorum=1, all_groups=True), ["break_glass.no_use"]),
    ],
)
def test_break_glass_is_of_no_use_where_those_who_may_are_asked_and_sign_alone(
    made: TenantConfig, codes: list[str]
) -> None:
    assert [one.code for one in configuration_findings(made, utc_now())] == codes


@pytest.mark.parametrize(
    ("review_by", "breakers", "codes"),
    [
        (["solo"], 1, ["break_glass.self_review"]),
        (["solo"], 2, []),
        (["solo", "a"], 1, []),
        (["a"], 1, []),
    ],
)
def test_break_glass_that_one_person_uses_is_reviewed_by_another(
    review_by: list[str], breakers: int, codes: list[str]
) -> None:
    signers, alone = people(*"aaaaa"), people(*["solo"] * breakers)
    known = TenantPeople(frozenset({"a", "solo", "operators"}), {("a",): signers, ("solo",): alone}, frozenset())
    assert [one.code for one in people_findings(glass(["solo"], review_by), known)] == codes


def ref(*path: str) -> dict[str, Any]:
    head, *others = path
    return {
        "type": "ref",
        "value": [{"type": "var", "value": head}, *({"type": "string", "value": one} for one in others)],
    }


def text(value: str) -> dict[str, Any]:
    return {"type": "string", "value": value}


def call(name: str, *arguments: Any) -> dict[str, Any]:
    return {"type": "call", "value": [ref(name), *arguments]}


def module(requirement: Any, body: Any = (), package: str = "data.countersign_pack.mine.access") -> Any:
    """Return the tree of a module with one rule that asks for a requirement."""
    head = {"ref": [{"type": "var", "value": "demand"}], "value": {"type": "object", "value": []}}
    head["value"] = {"type": "object", "value": [[text("requirement"), requirement]]}
    at = {"row": 7, "col": 1}
    path = [{"value": one} for one in package.split(".")]
    return {"package": {"path": path, "location": at}, "rules": [{"head": head, "body": list(body), "location": at}]}


ARRAY = {"type": "array", "value": [text("access_"), {"type": "var", "value": "system"}]}


@pytest.mark.parametrize(
    ("requirement", "asked", "begun"),
    [
        (text("house"), ["house"], []),
        (text("none"), [], []),
        (call("concat", text(""), ARRAY), [], ["access_"]),
        (call("concat", text("-"), ARRAY), [], ["access_-"]),
        (call("sprintf", text("access_%s"), ARRAY), [], ["access_"]),
        (call("lower", text("HOUSE")), [], [""]),
        (ref("input", "effect", "target"), [], [""]),
        ({"type": "var", "value": "name"}, [], [""]),
    ],
)
def test_a_name_that_is_put_together_is_known_by_its_beginning(requirement: Any, asked: Any, begun: Any) -> None:
    named = named_in("x.rego", module(requirement))
    assert (list(named.asked), list(named.begun), named.connector) == (asked, begun, "access")


def test_a_name_that_is_bound_in_the_rule_is_known_by_its_beginning() -> None:
    name = {"type": "var", "value": "name"}
    bound = {"terms": [ref("assign"), name, call("concat", text("_"), ARRAY)]}
    assert list(named_in("x.rego", module(name, [bound])).begun) == ["access__"]


def test_operations_are_those_with_which_the_effect_is_compared() -> None:
    operation = ref("input", "effect", "operation")
    among = [
        ref("internal", "member_2"),
        operation,
        {"type": "set", "value": [text("revoke"), text("extend")]},
    ]
    same = {"terms": [ref("equal"), operation, text("grant")]}
    other = {"terms": [ref("equal"), ref("input", "effect", "target"), text("system:1")]}
    named = named_in("x.rego", module(text("house"), [same, {"terms": among}, other]))
    assert named.operations == {"grant": 7, "revoke": 7, "extend": 7}
    assert named_in("x.rego", module(text("house"), [same], "data.countersign.effect")).operations == {}


def test_a_rule_that_asks_for_requirements_of_which_there_is_none_is_found() -> None:
    known = [named_in("x.rego", module(call("concat", text(""), ARRAY)))]
    [found] = missing([config()], known)
    assert (found.file, found.line, found.path) == ("x.rego", 7, "requirements.access_* of acme")
    assert list(missing([config(requirements={"high": REQUIREMENT, "access_vault": REQUIREMENT})], known)) == []
    assert list(missing([config(connectors={})], known)) == []


def requirement(quorum: int, groups: str, *, all_groups: bool) -> Requirement:
    given = {"quorum": quorum, "groups": tuple(groups), "all_groups": all_groups, "expires_in": "PT8H"}
    return Requirement.of({**given, "exclude": (), "reason_required": False, "escalate_to": ()})


def test_people_next_in_line_sign_for_no_group_of_which_each_must_sign() -> None:
    later = [{"after": "PT1H", "to": ("l",)}]
    given = {"quorum": 1, "groups": ("a",), "all_groups": True, "expires_in": "PT8H", "escalate_to": later}
    asked = Requirement.of({**given, "exclude": (), "reason_required": False})
    assert fragile(asked, people(*"lllaaa")) == ""
    assert fragile(asked, people(*"lllaa")) == "it needs 1 distinct people, and 3 may decide; nobody in a may"


def people(*groups: str) -> list[Person]:
    return [Person(f"p{nth}", f"P{nth}", tuple(of)) for nth, of in enumerate(groups)]


@pytest.mark.parametrize(
    ("asked", "known", "holds"),
    [
        (requirement(2, "a", all_groups=False), people(*"aaaa"), True),
        (requirement(2, "a", all_groups=False), people(*"aaa"), False),
        (requirement(1, "ab", all_groups=True), people(*"aaabbb"), True),
        (requirement(2, "ab", all_groups=True), people(*"aaaaaaabb"), False),
        (requirement(2, "ab", all_groups=True), people("ab", "ab", "ab", "ab"), True),
        (requirement(2, "ab", all_groups=True), people("ab", "ab", "ab", "a", "b"), True),
        (requirement(2, "ab", all_groups=True), people("ab", "ab", "b", "b", "b"), False),
        (requirement(4, "ab", all_groups=True), people(*"aaabb", "ab"), True),
        (requirement(5, "ab", all_groups=True), people(*"aaabb", "ab"), False),
        (requirement(1, "a", all_groups=False), [], False),
    ],
)
def test_a_requirement_is_fragile_where_some_two_people_cannot_be_missed(
    asked: Requirement,
    known: list[Person],
    holds: bool,  # noqa: FBT001
) -> None:
    assert (fragile(asked, known) == "") is holds
