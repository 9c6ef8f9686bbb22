"""Limits that cannot be compared, or not as a whole: they are named, and the rest is compared."""

from typing import Any

from policy.direction import Direction
from policy.limit_changes import limit_changes
from policy.limit_space import MOST_CELLS
from policy.limit_values import MOST_PATTERNS
from tests.unit.test_limit_changes import BUDGET, DAY, REFUND, asks, between, config, limit


def test_unequal_patterns_are_named_as_not_compared_and_the_rest_is_compared() -> None:
    sides = [{**REFUND, "fields": {"country": {"matches": pattern}}} for pattern in ("N.", "NO|NL")]
    named, rest = between({"l": limit(sides[0], quorum=3)}, {"l": limit(sides[1], quorum=2)})
    assert named.path == ("limits", "payments::refund", "when.fields.country.matches")
    assert (named.old, named.new, named.direction) == (["N."], ["NO|NL"], Direction.OTHER)
    assert named.example
    assert "texts of country are not compared" in named.example
    assert (rest.path[-1], rest.direction) == ("quorum", Direction.WIDER)
    assert rest.example == "payments::refund with country 1: was 3, now 2"


def test_several_time_zones_are_named_as_not_compared() -> None:
    sides = [
        limit({**REFUND, "time": {**DAY, "time_zone": zone}}, quorum=2) for zone in ("Europe/Berlin", "Asia/Tokyo")
    ]
    named, rest = between({"l": sides[0]}, {"l": sides[1]})
    assert named.path == ("limits", "payments::refund", "when.time.time_zone")
    assert (named.old, named.new, named.direction) == (["Europe/Berlin"], ["Asia/Tokyo"], Direction.OTHER)
    assert (rest.path[-1], rest.direction) == ("quorum", Direction.OTHER)


def test_more_kinds_of_questions_than_are_looked_at_are_named_as_not_compared() -> None:
    paths = [f"f{number}" for number in range(17)]
    assert 2 ** len(paths) > MOST_CELLS
    many = {path: limit({**REFUND, "fields": {path: {"over": 1}}}, quorum=2) for path in paths}
    not_compared(many)


def test_operations_left_once_enough_is_looked_at_are_named_as_not_compared() -> None:
    new = {"l": limit({"connector": ["payments"], "runbook": ["r"]}, quorum=2)}
    found = limit_changes(config({}), config(new), most=2)
    assert found
    assert [(one.path, one.direction) for one in found] == [
        (("payments::note", "quorum"), Direction.NARROWER),
        (("payments::refund",), Direction.OTHER),
    ]


def test_budgets_for_unequal_patterns_are_not_taken_to_count_the_same() -> None:
    sides = [{**REFUND, "fields": {"country": {"matches": pattern}}} for pattern in ("N.", "NO|NL")]
    named, rest = between({"l": limit(sides[0], budget=BUDGET)}, {"l": limit(sides[1], budget=BUDGET)})
    assert "not compared" in str(named.example)
    assert (rest.path[-1], rest.direction) == ("budget", Direction.OTHER)


def not_compared(new: dict[str, Any]) -> None:
    [found] = between({}, new)
    assert (found.path, found.direction) == (("limits", "payments::refund"), Direction.OTHER)
    assert found.example == "payments::refund is not compared: limits tell too many kinds of questions apart"


def test_too_many_patterns_of_a_field_are_not_compared() -> None:
    patterns = [f"{number}.*" for number in range(MOST_PATTERNS + 1)]
    most = {one: limit({**REFUND, "fields": {"to": {"matches": one}}}, quorum=2) for one in patterns[1:]}
    [found] = between({}, most)
    assert found.direction is Direction.NARROWER
    not_compared({one: limit({**REFUND, "fields": {"to": {"matches": one}}}, quorum=2) for one in patterns})


def test_too_many_people_and_agents_are_not_compared() -> None:
    names = {bit: [f"p{number}" for number in range(256) if number >> bit & 1] for bit in range(8)}
    both = ({"requester": held} if is_person else {"agent": held} for held in names.values() for is_person in (0, 1))
    not_compared({f"l{place}": limit({**REFUND, **one}, quorum=2) for place, one in enumerate(both)})


def test_too_many_times_of_the_week_are_not_compared() -> None:
    clocks = [f"{minute // 60:02}:{minute % 60:02}" for minute in range(1, 1300)]
    windows = [{"days": ["mon"], "from": "00:00", "until": clock} for clock in clocks]
    not_compared({"l": limit({**REFUND, "time": {**DAY, "between": windows}}, quorum=2)})


def test_too_many_lists_under_limits_that_may_contradict_each_other_are_not_compared() -> None:
    new = {f"l{n}": limit({**REFUND, "fields": {"to": {"in": [f"n{n}"]}}}, execute=DAY) for n in range(30)}
    not_compared({**new, "week": asks(execute={**DAY, "time_zone": "Europe/Oslo"})})
