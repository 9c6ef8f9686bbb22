"""The comparison of limits, held against one that asks every question of a small world."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hypothesis import given, settings

from policy.limit_changes import limit_changes
from tests.limit_worlds import HOURS, OPERATIONS, TIERS, config, holds, questions, worlds

WEEK = [(day, hour) for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun") for hour in range(24)]
EVERY = frozenset(WEEK)
_FEW = 300


def asked_for(held: Mapping[str, Mapping[str, Any]], operation: str) -> dict[str, Any]:
    """Return what limits ask for together, by the words of the documents."""
    asks = list(held.values())
    tier = max([OPERATIONS[operation], *(one["tier"] for one in asks if "tier" in one)], key=TIERS.index)
    close = [(len(one["when"]), one["writes_per_run"]) for one in asks if "writes_per_run" in one]
    nearest = max((depth for depth, _ in close), default=0)
    demanded = {
        one["requirement"] for one in asks if one.get("budget", {}).get("over") != "approve" and "requirement" in one
    }
    return {
        "tier": TIERS.index(tier),
        "requirement": demanded | ({"high"} if tier == "high" else set()),
        "quorum": max([one["quorum"] for one in asks if "quorum" in one], default=0),
        "exclude": {path for one in asks for path in one.get("exclude", ())},
        "sign_with": any("sign_with" in one for one in asks),
        "expires_in": min([HOURS[one["expires_in"]] for one in asks if "expires_in" in one], default=10**6),
        "execute": window([one["execute"] for one in asks if "execute" in one]),
        "writes_per_run": min((most for depth, most in close if depth == nearest), default=60),
        "budget": {name: one["budget"] for name, one in held.items() if "budget" in one},
    }


def window(windows: list[dict[str, Any]]) -> tuple[Any, ...] | str | None:
    """Return from when on, in which hours of which zone, and how long."""
    weeks = [(one["between"], one["time_zone"]) for one in windows if "between" in one]
    if any(one != weeks[0] for one in weeks):
        return "never"
    if not windows:
        return None
    begins = max(one.get("not_before", "") for one in windows)
    lasts = min(HOURS[one.get("within", "P1D")] for one in windows)
    return begins, hours(weeks[0][0]) if weeks else EVERY, weeks[0][1] if weeks else None, lasts


def hours(between: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, int]]:
    found = set()
    for one in between:
        since, until = int(one["from"][:2]), int(one["until"][:2])
        for day in one["days"]:
            first = WEEK.index((day, since))
            found |= {WEEK[(first + n) % len(WEEK)] for n in range((until - since) % 24)}
    return frozenset(found)


def lets_no_more(mine: Any, its: Any) -> bool:
    """Return whether one execution window lets nothing pass that the other does not."""
    if its is None or mine == "never":
        return True
    if mine is None or its == "never":
        return False
    is_in_zone = its[1] == EVERY or mine[2] == its[2]
    return bool(mine[0] >= its[0] and mine[1] <= its[1] and is_in_zone and mine[3] <= its[3])


def numbers(limit: Mapping[str, Any]) -> dict[tuple[Any, ...], float]:
    """Return the numbers of a budget, each by what makes it comparable."""
    budget = limit["budget"]
    asks = limit.get("requirement") if budget["over"] == "approve" else None
    key = (budget["by"], budget["per"], budget["over"], asks)
    found = {("count", *key): float(budget["count"])} if "count" in budget else {}
    return found | ({("sum", *key): float(budget["sum"]["at_most"])} if "sum" in budget else {})


Contained = Callable[[Mapping[str, Any], Mapping[str, Any]], bool]


def spends_no_more(mine: Mapping[str, Any], its: Mapping[str, Any], is_within: Contained) -> bool:
    """Return whether each number of the other's budgets is kept by one of mine that counts at least as much."""
    return all(
        any(numbers(one).get(what, 10**6) <= most and is_within(other, one) for one in mine.values())
        for other in its.values()
        for what, most in numbers(other).items()
    )


def judged(about: set[str], was: dict[str, Any], now: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return the direction of each member that differs, by asking every question."""
    asked = list(questions(about))
    found: dict[tuple[str, str], set[str]] = {}

    def is_within(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        return all(holds(other, question) for question in asked if holds(one, question))

    seen: set[tuple[str, frozenset[str], frozenset[str]]] = set()
    for question in asked:
        held = [{name: one for name, one in side.items() if holds(one, question)} for side in (was, now)]
        key = (question["operation"], frozenset(held[0]), frozenset(held[1]))
        if key in seen:
            continue
        seen.add(key)
        old, new = (asked_for(one, question["operation"]) for one in held)
        budgets = [{name: one for name, one in side.items() if "budget" in one} for side in held]
        for member in old:
            if member == "budget":
                less = not spends_no_more(budgets[1], budgets[0], is_within)
                more = not spends_no_more(budgets[0], budgets[1], is_within)
            else:
                less, more = not asks_as_much(member, new, old), not asks_as_much(member, old, new)
            said = {"wider"} if less else set()
            found.setdefault((question["operation"], member), set()).update(said | ({"narrower"} if more else set()))
    return {key: next(iter(said)) if len(said) == 1 else "other" for key, said in found.items() if said}


def asks_as_much(member: str, mine: Mapping[str, Any], its: Mapping[str, Any]) -> bool:
    one, other = mine[member], its[member]
    if member == "execute":
        return lets_no_more(one, other)
    if member in ("expires_in", "writes_per_run"):
        return bool(one <= other)
    return bool(one >= other)


@settings(max_examples=_FEW)
@given(worlds())
def test_directions_are_those_of_a_comparison_of_every_question(
    world: tuple[set[str], dict[str, Any], dict[str, Any]],
) -> None:
    about, was, now = world
    changes = limit_changes(config(was), config(now))
    assert changes is not None
    found = {(one.path[0].removeprefix("payments::"), one.path[1]): str(one.direction) for one in changes if one.path}
    assert found == judged(about, was, now)
