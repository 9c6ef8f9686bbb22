"""What changes between limits in a tenant's data, member by member: wider, narrower or other, each with an example."""

import json
from typing import Any

import pytest

from policy.bundle import CONFIG_FILE
from policy.changes import ConfigChange, config_changes
from policy.direction import Direction
from policy.limit_changes import SAME
from policy.versions import PolicyChanges, ReadPolicy

REFUND = {"connector": ["payments"], "operation": ["refund"]}
LARGE = {**REFUND, "fields": {"amount": {"over": 5000}}}
REQUIREMENT = {"quorum": 1, "groups": ["g"], "all_groups": False, "expires_in": "PT8H", "escalate_to": []}
OPERATIONS: dict[str, Any] = {"refund": {"tier": "low", "targets": ["*"]}, "note": {"tier": "high", "targets": ["*"]}}
DAY = {"between": [{"days": ["mon", "tue"], "from": "09:00", "until": "17:00"}], "time_zone": "Europe/Berlin"}
SUNDAY = {"days": ["sun"], "from": "22:00", "until": "06:00"}
NOON = {"days": ["sun"], "from": "11:00", "until": "12:00"}
BUDGET = {"by": "agent", "per": "day", "time_zone": "Europe/Berlin", "count": 10, "over": "deny"}
SUM = {"field": "amount", "currency_field": "currency", "currency": "EUR", "at_most": "500.00"}
BACK = {"wider": "narrower", "narrower": "wider", "other": "other"}


def config(limits: Any, **members: Any) -> dict[str, Any]:
    connectors = {"payments": {"chat": False, "operations": OPERATIONS}}
    requirements = {"high": REQUIREMENT, "treasury": REQUIREMENT}
    there = {"writes_per_run": 60, "connectors": connectors, "requirements": requirements}
    return {**there, "limits": limits, **members}


def limit(when: dict[str, Any], **asks: Any) -> dict[str, Any]:
    return {"comment": "c", "when": when, **asks}


def changes(old: dict[str, Any], new: dict[str, Any]) -> list[ConfigChange]:
    return config_changes(*({CONFIG_FILE: json.dumps({"acme": one})} for one in (old, new)))


def between(old: dict[str, Any], new: dict[str, Any]) -> list[ConfigChange]:
    return changes(config(old), config(new))


def only(old: dict[str, Any], new: dict[str, Any]) -> ConfigChange:
    [found] = between({"l": old}, {"l": new})
    return found


def asks(**members: Any) -> dict[str, Any]:
    return limit(REFUND, **members)


WIDER: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("tier", asks(tier="medium", quorum=2), asks(quorum=2), "was medium, now low"),
    ("requirement", asks(requirement="treasury", quorum=2), asks(quorum=2), "was treasury, now nobody"),
    ("quorum", asks(quorum=3), asks(quorum=2), "was 3, now 2"),
    ("exclude", asks(exclude=["by", "to"]), asks(exclude=["by"]), "was by and to, now by"),
    ("notify", asks(notify=["risk", "legal"]), asks(notify=["risk"]), "was legal and risk, now risk"),
    ("sign_with", asks(sign_with="passkey", quorum=2), asks(quorum=2), "was passkey, now nothing"),
    ("expires_in", asks(expires_in="PT1H"), asks(expires_in="PT61M"), "was PT1H, now PT61M"),
    ("execute", asks(execute={"within": "PT1H"}), asks(execute={"within": "P2D"}), 'now {"within": "P2D"}'),
    ("writes_per_run", asks(writes_per_run=10), asks(writes_per_run=2000), "was 10, now 2000"),
    ("writes_per_run", asks(writes_per_run=10, quorum=2), asks(quorum=2), "was 10, now 60"),
    ("budget", asks(budget=BUDGET), asks(budget={**BUDGET, "count": 11}), "now 11 effects a day by agent"),
    (
        "budget",
        asks(budget={**BUDGET, "sum": SUM}),
        asks(budget=BUDGET),
        "was 10 effects and 500.00 EUR of amount a day",
    ),
    ("budget", asks(budget={**BUDGET, "sum": SUM}), asks(budget={**BUDGET, "sum": {**SUM, "at_most": "500.01"}}), ""),
]


@pytest.mark.parametrize(("member", "old", "new", "words"), WIDER)
def test_a_member_that_asks_for_less_is_wider_and_back_it_is_narrower(
    member: str, old: dict[str, Any], new: dict[str, Any], words: str
) -> None:
    there, back = only(old, new), only(new, old)
    assert (there.path, there.direction) == (("limits", "payments::refund", member), Direction.WIDER)
    assert (back.path, back.direction) == (there.path, Direction.NARROWER)
    assert (there.old, there.new) == (back.new, back.old)
    assert there.example
    assert there.example.startswith("payments::refund: was ")
    assert words in there.example


OTHER: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("requirement", asks(requirement="high"), asks(requirement="treasury")),
    ("exclude", asks(exclude=["by"]), asks(exclude=["to"])),
    ("execute", asks(execute={**DAY, "within": "P3D"}), asks(execute={"within": "P2D"})),
    ("execute", asks(execute=DAY), asks(execute={**DAY, "time_zone": "Europe/Oslo"})),
    ("budget", asks(budget=BUDGET), asks(budget={**BUDGET, "per": "month"})),
    ("budget", asks(budget=BUDGET), asks(budget={**BUDGET, "over": "wait"})),
    ("budget", asks(budget={**BUDGET, "sum": SUM}), asks(budget={**BUDGET, "sum": {**SUM, "currency": "USD"}})),
    ("quorum", limit(LARGE, quorum=2), limit({**REFUND, "fields": {"amount": {"under": 100}}}, quorum=2)),
]


@pytest.mark.parametrize(("member", "old", "new"), OTHER)
def test_a_member_that_asks_for_less_here_and_more_there_is_other(
    member: str, old: dict[str, Any], new: dict[str, Any]
) -> None:
    there, back = only(old, new), only(new, old)
    assert (there.path[-1], there.direction, back.direction) == (member, Direction.OTHER, Direction.OTHER)


def test_an_example_names_what_matters_and_of_both_directions_there_are_two() -> None:
    [found] = between({"l": limit(LARGE, requirement="treasury")}, {})
    assert found.example == "payments::refund with amount 5000.01: was treasury, now nobody"
    moved = {**LARGE, "fields": {"amount": {"over": 4000}}, "runbook": ["x"]}
    found = only(limit(LARGE, requirement="treasury"), limit(moved, requirement="treasury"))
    assert found.example == (
        'payments::refund with amount 5000.01, runbook another than "x": was treasury, now nobody; '
        'payments::refund with amount 4000.01, runbook "x": was nobody, now treasury'
    )


EXAMPLES: list[tuple[dict[str, Any], str]] = [
    ({"fields": {"to": {"in": ["b", "a"]}}}, 'payments::refund with to "a"'),
    ({"fields": {"to": {"in": [True]}}}, "payments::refund with to true"),
    ({"fields": {"to": {"over": 5, "under": 5.01}}}, "payments::refund with to 5.005"),
    ({"fields": {"to": {"matches": "N."}}}, 'payments::refund with to any text that matches "N."'),
    ({"fields": {"to.iban": {"in": ["x"]}, "to.of": {"over": 0}}}, 'payments::refund with to.iban "x" and to.of 0.01'),
    ({"fields": {"to": {"in": [1]}, "to.iban": {"in": ["x"]}}}, "payments::refund with to 1"),
    ({"requester": ["ann"], "runbook": ["r"]}, 'payments::refund, requester "ann", runbook "r"'),
    ({"requester_kind": ["system"]}, "payments::refund, requester_kind system"),
    ({"requester_groups": ["legal"]}, 'payments::refund, requester_groups "legal"'),
    ({"agent": ["bot"]}, 'payments::refund, agent "bot"'),
    ({"time": {**DAY, "between": [NOON]}}, "payments::refund, time sun 11:00 Europe/Berlin"),
    ({"time": DAY}, "payments::refund, time mon 09:00 Europe/Berlin"),
]


@pytest.mark.parametrize(("more", "words"), EXAMPLES)
def test_an_example_says_in_words_for_which_questions(more: dict[str, Any], words: str) -> None:
    [found] = between({}, {"l": limit({**REFUND, **more}, quorum=2)})
    assert found.example == f"{words}: was nothing, now 2"


def test_a_condition_that_only_what_cannot_be_read_meets_says_so() -> None:
    never = {**REFUND, "fields": {"amount": {"over": 5, "under": 5, "in": [5]}}}
    [found] = between({}, {"l": limit(never, quorum=2)})
    assert found.example == "payments::refund with amount that cannot be read: was nothing, now 2"


def test_a_limit_that_begins_later_asks_for_less_until_then() -> None:
    later = asks(quorum=2, effective_from="2026-12-07T00:00:00Z")
    found = only(asks(quorum=2), later)
    assert found.direction is Direction.WIDER
    assert found.example == "payments::refund, time before 2026-12-07T00:00:00Z: was 2, now nothing"
    found = only(later, asks(quorum=2, effective_from="2026-12-01T00:00:00Z"))
    assert found.direction is Direction.NARROWER
    assert found.example
    assert "time from 2026-12-01T00:00:00Z on and before 2026-12-07T00:00:00Z" in found.example


def test_a_moment_of_a_week_that_does_not_come_between_two_begins_is_no_difference() -> None:
    """On a Tuesday from 10:00 until 11:00 it is never Monday."""
    tuesday = {"effective_from": "2026-12-08T10:00:00Z"}, {"effective_from": "2026-12-08T11:00:00Z"}
    monday = {"time": {**DAY, "between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}]}}
    sides = [{"l": limit({**REFUND, **monday}, quorum=2, **begins)} for begins in tuesday]
    assert [one.direction for one in between(*sides)] == [Direction.SAME]


def test_the_words_of_a_moment_are_those_of_the_time_in_which_it_is() -> None:
    monday = {**REFUND, "time": {**DAY, "between": [{"days": ["mon"], "from": "09:00", "until": "17:00"}]}}
    early = {"a": limit(monday, quorum=2, effective_from="2026-12-08T10:00:00Z")}
    [found] = between({**early, "b": limit(monday, quorum=3, effective_from="2026-12-08T11:00:00Z")}, early)
    assert found.example == (
        "payments::refund, time mon 09:00 Europe/Berlin from 2026-12-08T11:00:00Z on: was 3, now 2"
    )


def test_an_agent_that_asks_for_itself_is_an_agent() -> None:
    agents = {"a": limit({**REFUND, "agent": ["bot"]}, quorum=2)}
    itself = {"b": limit({**REFUND, "requester": ["bot"], "requester_kind": ["agent"]}, quorum=2)}
    assert [one.direction for one in between({**agents, **itself}, agents)] == [Direction.SAME]
    [found] = between({**agents, **itself}, itself)
    assert found.direction is Direction.WIDER
    assert found.example == (
        'payments::refund, requester another than "bot", requester_kind person, agent "bot": was 2, now nothing'
    )


def test_a_field_within_another_is_there_only_if_that_is_no_value_itself() -> None:
    old = limit({**REFUND, "fields": {"to": {"in": ["a"]}}}, quorum=2)
    new = limit({**REFUND, "fields": {"to": {"in": ["a"]}, "to.iban": {"in": ["x"]}}}, quorum=2)
    found = only(old, new)
    assert found.direction is Direction.WIDER
    assert found.example == 'payments::refund with to.iban another than "x": was 2, now nothing'


def test_a_decimal_number_is_another_text_than_one_that_a_limit_names() -> None:
    tests: list[dict[str, Any]] = [{"over": 5}, {"under": 5}, {"in": [5, "5"]}]
    new = {f"l{n}": limit({**REFUND, "fields": {"amount": test}}, quorum=2) for n, test in enumerate(tests)}
    [found] = between({"l": asks(quorum=2)}, new)
    assert found.example == 'payments::refund with amount "5.0": was 2, now nothing'


def test_names_comments_order_and_splitting_change_nothing() -> None:
    both = {"a": limit(LARGE, requirement="treasury", quorum=2, exclude=["by"])}
    split = {
        "z": limit(LARGE, quorum=2),
        "y": {**limit({**LARGE, "runbook": ["x"]}, requirement="treasury"), "comment": "other"},
        "x": limit({**REFUND, "fields": {"amount": {"over": 5000.0}}}, exclude=["by"], requirement="treasury"),
    }
    [found] = between(both, split)
    assert (found.path, found.direction, found.example) == (("limits",), Direction.SAME, SAME)
    assert (found.old, found.new) == (["a"], ["x", "y", "z"])
    assert between(both, dict(both)) == []


def test_what_the_list_asks_for_anyway_is_no_difference() -> None:
    note = {"connector": ["payments"], "operation": ["note"]}
    [found] = between({"l": limit(note, tier="high")}, {"l": limit(note, requirement="high")})
    assert found.direction is Direction.SAME


def test_a_changed_list_has_its_own_rows_and_none_among_limits() -> None:
    limits = {"l": limit(LARGE, tier="high"), "m": limit({"connector": ["payments"]}, quorum=2)}
    high = {"payments": {"chat": False, "operations": {**OPERATIONS, "refund": {"tier": "high", "targets": ["*"]}}}}
    found = changes(config(limits), config({**limits, "n": asks(quorum=2)}, connectors=high, writes_per_run=80))
    assert [(one.path[0], one.direction) for one in found] == [
        ("connectors", Direction.NARROWER),
        ("writes_per_run", Direction.WIDER),
        ("limits", Direction.SAME),
    ]


def test_what_each_side_lists_counts_where_its_limits_change() -> None:
    high = {"payments": {"chat": False, "operations": {**OPERATIONS, "refund": {"tier": "high", "targets": ["*"]}}}}
    found = changes(config({"l": asks(tier="medium")}), config({"l": asks(quorum=2)}, connectors=high))
    assert [(one.path[-1], one.old, one.new) for one in found if one.path[0] == "limits"] == [
        ("tier", "medium", "high"),
        ("requirement", [], ["high"]),
        ("quorum", None, 2),
    ]


def test_limits_on_an_operation_that_goes_are_gone_with_it_and_on_a_new_one_they_are_named() -> None:
    limits, fewer = {"l": asks(quorum=2)}, {"payments": {"chat": False, "operations": {"note": OPERATIONS["note"]}}}
    there = changes(config({}, connectors=fewer), config(limits))
    back = changes(config(limits), config({}, connectors=fewer))
    assert [(one.path[:2], one.direction) for one in there] == [
        (("connectors", "payments"), Direction.WIDER),
        (("limits", "payments::refund"), Direction.NARROWER),
    ]
    assert [one.direction for one in back] == [Direction.NARROWER, Direction.SAME]


def test_a_budget_of_two_halves_lets_more_pass_than_one_of_the_whole() -> None:
    whole = {"l": limit({"connector": ["payments"]}, budget=BUDGET)}
    halves = {
        name: limit({"connector": ["payments"], "operation": [name]}, budget=BUDGET) for name in ("refund", "note")
    }
    found = between(whole, halves)
    assert [one.direction for one in found] == [Direction.WIDER, Direction.WIDER]
    assert all(one.example and one.example.endswith("now the same, but counted with other effects") for one in found)


def test_a_budget_counts_nothing_in_the_chat() -> None:
    slack = {"chat": True, "operations": {"say": {"tier": "low", "targets": ["*"]}}}
    connectors = {"payments": {"chat": False, "operations": OPERATIONS}, "slack": slack}
    both, one = ({"l": limit({"connector": names}, budget=BUDGET)} for names in (["payments", "slack"], ["payments"]))
    found = changes(config(both, connectors=connectors), config(one, connectors=connectors))
    assert [one.direction for one in found] == [Direction.SAME]


def test_a_requirement_that_is_asked_for_once_a_budget_is_spent_is_part_of_the_budget() -> None:
    spent = {**BUDGET, "over": "approve"}
    found = only(asks(budget=spent, requirement="treasury"), asks(budget=spent, requirement="high"))
    assert (found.path[-1], found.direction) == ("budget", Direction.OTHER)


def test_the_chat_counts_no_writes_and_no_budget() -> None:
    chat = {"payments": {"chat": True, "operations": OPERATIONS}}
    limits = {"l": asks(budget=BUDGET, writes_per_run=1)}
    found = changes(config({}, connectors=chat), config(limits, connectors=chat))
    assert [one.direction for one in found] == [Direction.SAME]


def test_windows_of_different_weeks_let_nothing_be_carried_out() -> None:
    two = {"a": asks(execute=DAY), "b": asks(execute={**DAY, "time_zone": "Europe/Oslo"})}
    [found] = between({"a": two["a"]}, two)
    assert (found.direction, found.new) == (Direction.NARROWER, "never")
    listed = {**OPERATIONS, "refund": {**OPERATIONS["refund"], "execute": DAY}}
    connectors = {"payments": {"chat": False, "operations": listed}}
    [found] = changes(config({}, connectors=connectors), config({"b": two["b"]}, connectors=connectors))
    assert found.new == "never"


def test_the_same_times_of_the_week_in_other_words_are_the_same() -> None:
    halves = [{**SUNDAY, "until": "24:00"}, {"days": ["mon"], "from": "00:00", "until": "06:00"}]
    old, new = ({**DAY, "between": windows} for windows in ([SUNDAY], halves))
    assert only(asks(execute=old), asks(execute=new)).direction is Direction.SAME


@pytest.mark.parametrize(
    ("whens", "words"),
    [
        ([{"fields": {"to": {"in": [name]}}} for name in "abc"], ' with to of "a" and "b"'),
        ([{"requester_groups": [name]} for name in "abc"], ', requester_groups of "a" and "b"'),
    ],
)
def test_two_values_at_once_may_be_under_limits_that_contradict_each_other(
    whens: list[dict[str, Any]], words: str
) -> None:
    """The times of the first two are the same in other words, and those of the third are others."""
    halves = [{**SUNDAY, "until": "24:00"}, {"days": ["mon"], "from": "00:00", "until": "06:00"}]
    sunday, again = ({**DAY, "between": windows} for windows in ([SUNDAY], halves))
    weeks = {"old": (sunday, again, DAY), "new": (sunday, sunday, DAY)}
    old, new = (
        {f"l{n}": limit({**REFUND, **whens[n]}, execute=week) for n, week in enumerate(weeks[side])} for side in weeks
    )
    [found] = between(old, new)
    assert (found.old, found.direction) == ("never", Direction.WIDER)
    assert found.example
    assert found.example.startswith(f"payments::refund{words}: was never, now ")


def test_a_change_of_the_policy_has_a_requirement_of_its_own() -> None:
    connectors = {"policy": {"chat": False, "operations": {"activate": {"tier": "low", "targets": ["*"]}}}}
    limits = {"l": limit({"connector": ["policy"]}, tier="high")}
    found = changes(config({}, connectors=connectors), config(limits, connectors=connectors))
    assert [(one.path[-1], one.new) for one in found] == [("tier", "high"), ("requirement", ["policy_activate"])]


@pytest.mark.parametrize(
    "broken",
    [
        {"l": {"comment": "c"}},
        {"l": asks(tier="huge")},
        {"l": asks(unknown=1)},
        {"l": limit({**REFUND, "requester": ["ann"]}, writes_per_run=1)},
        {"l": limit({**REFUND, "time": {**DAY, "time_zone": "Nowhere/At_all"}}, quorum=2)},
        {"l": asks(quorum=2, effective_from="2026-02-31T00:00:00Z")},
        {"l": asks(quorum=2, effective_from="0001-01-01T00:00:00Z")},
        {"l": asks(execute={"within": "soon"})},
        {"l": limit({**REFUND, "fields": {"amount": {"over": True}}}, quorum=2)},
        {"l": asks(budget={**BUDGET, "sum": {**SUM, "at_most": "a lot"}})},
    ],
)
def test_limits_that_cannot_be_read_are_listed_as_they_are(broken: dict[str, Any]) -> None:
    [found] = between({}, broken)
    assert (found.path, found.direction, found.example) == (("limits", "l"), Direction.OTHER, None)
    assert found.new == broken["l"]


def test_rows_come_wider_first_then_other_then_narrower_and_show_the_example() -> None:
    old = {"l": asks(requirement="treasury", exclude=["by"]), "m": limit({"connector": ["payments"]}, quorum=2)}
    new = {"l": asks(exclude=["to"], quorum=3), "m": limit({"connector": ["payments"]}, quorum=2)}
    policies = [ReadPolicy({CONFIG_FILE: json.dumps({"acme": config(one)})}, []) for one in (old, new)]
    found = PolicyChanges(*policies).rows()
    assert [one["kind"] for one in found] == ["wider", "other", "narrower"]
    assert found[0]["what"] == "acme.limits.payments::refund.requirement"
    assert found[0]["detail"] == "payments::refund: was treasury, now nobody"
