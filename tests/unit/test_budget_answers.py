"""What policy answers about budgets: read strictly, and compared with what another policy answers."""

from typing import Any

import pytest

from policy.answer import parse_answer
from policy.contract import Answer, Counters, PolicyUnavailableError
from policy.differences import differences

ALLOWED: dict[str, Any] = {"outcome": "allow", "tier": "low", "requirement": None, "reasons": [], "obligations": []}
BUDGET: dict[str, Any] = {
    "name": "refunds",
    "comment": "Few",
    "by": "agent",
    "key": "bot",
    "per": "day",
    "time_zone": "UTC",
    "count": 5,
    "sum": "50.00",
    "currency": "EUR",
    "amount": "1",
    "over": "wait",
}
NINES = "9" * 30
FREE = {name: value for name, value in BUDGET.items() if name not in ("sum", "currency", "amount")}


def _answer(*budgets: dict[str, Any]) -> Answer:
    return parse_answer({**ALLOWED, **({"budgets": list(budgets)} if budgets else {})}, "answer")


@pytest.mark.parametrize("budget", [BUDGET, FREE, {**BUDGET, "amount": "0"}, {**BUDGET, "sum": f"{NINES}.{NINES}"}])
def test_an_exact_budget_is_understood_and_stays_as_it_is_written(budget: dict[str, Any]) -> None:
    assert _answer(budget).model_dump(mode="json")["budgets"] == [budget]


def test_an_answer_without_budgets_is_written_as_before() -> None:
    assert _answer().model_dump(mode="json") == ALLOWED
    assert Counters(writes=0).model_dump() == {"writes": 0}


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Refunds"},
        {"by": "everybody"},
        {"key": ""},
        {"key": "x" * 401},
        {"per": "week"},
        {"time_zone": "Europe/Nowhere"},
        {"count": 0},
        {"count": True},
        {"count": "5"},
        {"sum": 50},
        {"sum": "5e1"},
        {"sum": "-1"},
        {"sum": "050"},
        {"sum": "50.00\n"},
        {"amount": "1."},
        {"amount": "\N{ARABIC-INDIC DIGIT ONE}"},
        {"amount": 1.5},
        {"currency": "eur"},
        {"over": "ask"},
        {"also": 1},
    ],
    ids=str,
)
def test_a_budget_of_another_form_is_unavailable(changed: dict[str, Any]) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^answer\.budgets\.0"):
        _answer({**BUDGET, **changed})


@pytest.mark.parametrize("member", sorted(BUDGET.keys() - {"count"}))
def test_a_budget_without_a_member_that_it_needs_is_unavailable(member: str) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^answer\.budgets\.0"):
        _answer({name: value for name, value in BUDGET.items() if name != member})


def test_a_budget_of_nothing_is_unavailable() -> None:
    with pytest.raises(PolicyUnavailableError, match="has a `count`, a `sum`, or both"):
        _answer({name: value for name, value in FREE.items() if name != "count"})


@pytest.mark.parametrize("outcome", ["deny", "needs_approval"])
def test_only_what_is_allowed_takes_of_budgets(outcome: str) -> None:
    asked = {"quorum": 1, "groups": ["g"], "all_groups": False, "exclude": [], "expires_in": "PT1H"}
    requirement = {**asked, "reason_required": False, "escalate_to": []} if outcome == "needs_approval" else None
    document = {**ALLOWED, "outcome": outcome, "requirement": requirement, "budgets": [BUDGET]}
    with pytest.raises(PolicyUnavailableError, match=rf"^answer\.budgets: outcome {outcome} takes of no budget"):
        parse_answer(document, "answer")


@pytest.mark.parametrize("names", [["b", "a"], ["a", "a"]])
def test_each_budget_stands_once_in_order(names: list[str]) -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^answer\.budgets: not each once, in order"):
        _answer(*({**BUDGET, "name": name} for name in names))


def test_no_budgets_are_left_out() -> None:
    with pytest.raises(PolicyUnavailableError, match=r"^answer\.budgets"):
        parse_answer({**ALLOWED, "budgets": []}, "answer")


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ([], [BUDGET], "stricter"),
        ([BUDGET], [], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "comment": "Fewer"}], None),
        ([BUDGET], [{**BUDGET, "count": 4}], "stricter"),
        ([BUDGET], [{**BUDGET, "count": 6}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "sum": "49.999"}], "stricter"),
        ([BUDGET], [{**BUDGET, "sum": "100.00"}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "count": 4, "sum": "60"}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "currency": "USD"}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "amount": "0.5"}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "over": "deny"}], "stricter"),
        ([BUDGET], [{**BUDGET, "over": "approve"}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "per": "month"}], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "by": "target"}], "weaker-terms"),
        ([FREE], [BUDGET], "stricter"),
        ([BUDGET], [FREE], "weaker-terms"),
        ([BUDGET], [{**BUDGET, "count": 4, "name": "other"}], "weaker-terms"),
    ],
)
def test_a_budget_that_leaves_less_is_stricter_and_any_other_change_of_it_weaker(
    was: list[Any], now: list[Any], expected: str | None
) -> None:
    found = differences(_answer(*was), _answer(*now))
    assert (str(found[0].kind) if found else None) == expected
