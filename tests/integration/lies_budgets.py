"""What somebody tells of budgets who holds the signing key: each lie bends a genuine run, and one rule names it."""

from typing import Any

from tests.integration.forger import Bend, Forged, Lie, change, change_leaf

_RESERVED, _USED, _RELEASED, _SPENT = "budget.reserved", "budget.used", "budget.released", "budget.spent"
_BUDGETS = "answer.budgets.0"


def _decided(path: str, value: Any) -> Bend:
    """Return what changes the first decision that allows a refund."""
    return lambda f: change(path, value)(f.decision("allow", "refund"))


def _dropped(event: str) -> Bend:
    return lambda f: f.drop(f.leaf(event))


def _renamed(event: str, into: str) -> Bend:
    def bend(forged: Forged) -> None:
        forged.leaf(event)["event"] = into

    return bend


def _unasked(forged: Forged) -> None:
    """Let policy have been told nothing of a budget beyond which people let it go."""
    for decision in forged.decisions.values():
        decision["input"]["counters"].pop("over", None)


def _elsewhere(forged: Forged) -> None:
    """Let the days have been those of another zone."""
    for decision in forged.decisions.values():
        for budget in decision["answer"].get("budgets", []):
            budget["time_zone"] = "Pacific/Pago_Pago"


def _twice(forged: Forged) -> None:
    """Let the same attempt have taken of its budgets a second time."""
    used = forged.leaf(_USED)
    told = forged.leaf(_RESERVED)
    forged.add(_RESERVED, used, dict(told["data"]), **_about(told))


def _about(leaf: dict[str, Any]) -> dict[str, Any]:
    return {name: leaf["correlation"][name] for name in ("step", "effect_id")}


def _begun_without(forged: Forged) -> None:
    """Let nothing have been reserved, and nothing used."""
    forged.drop(forged.leaf(_RESERVED), forged.leaf(_USED))


def _taken_again(forged: Forged) -> None:
    """Let a further attempt in doubt have taken of the budgets, too."""
    first, again = forged.all(_RESERVED)
    again["data"].update(budgets=list(first["data"]["budgets"]), kept=[])


def _all_left(forged: Forged) -> None:
    """Let as much be left as it takes."""
    forged.leaf(_SPENT)["data"]["budgets"][0].update(count=3, sum="42.50")


RESERVATIONS: dict[str, Lie] = {
    "by another decision": (
        *("budgets.reserved", "budgeted"),
        change_leaf(_RESERVED, "data.decision_id", "dec_x"),
    ),
    "of another effect": (
        *("budgets.reserved", "budget_waited"),
        lambda f: change("data.decision_id", f.leaf(_SPENT)["data"]["decision_id"])(f.leaf(_RESERVED)),
    ),
    "of one budget alone": ("budgets.reserved", "budgeted", lambda f: f.leaf(_RESERVED)["data"]["budgets"].pop()),
    "of another budget": (
        *("budgets.reserved", "budgeted"),
        change_leaf(_RESERVED, "data.budgets.0.name", "other"),
    ),
    "of another day": (
        *("budgets.reserved", "budgeted"),
        change_leaf(_RESERVED, "data.budgets.0.period", "2026-01-06"),
    ),
    "of the day of another zone": ("budgets.reserved", "budgeted", _elsewhere),
    "in a zone that nobody knows": (
        "budgets.reserved",
        "budgeted",
        _decided(f"{_BUDGETS}.time_zone", "Europe/Nowhere"),
    ),
    "of more effects than there are": (
        "budgets.reserved",
        "budgeted",
        change_leaf(_RESERVED, "data.budgets.0.count", 5),
    ),
    "of a larger sum than there is": (
        *("budgets.reserved", "budgeted"),
        change_leaf(_RESERVED, "data.budgets.0.sum", "100.000000000000000000001"),
    ),
    "of less than it takes": ("budgets.reserved", "budgeted", change_leaf(_RESERVED, "data.budgets.0.sum", "12.4")),
    "of no effect": ("budgets.reserved", "budgeted", change_leaf(_RESERVED, "data.budgets.0.count", 0)),
    "without its sum": (
        *("budgets.reserved", "budgeted"),
        lambda f: f.leaf(_RESERVED)["data"]["budgets"][0].pop("sum"),
    ),
    "beyond what was left, unasked": ("budgets.reserved", "budget_signed", _unasked),
    "a second time": ("budgets.reserved", "budgeted", _twice),
    "of nothing": ("budgets.of-acts", "budgeted", _begun_without),
}

ENDS: dict[str, Lie] = {
    "kept, though nothing is held": (
        *("budgets.ended", "budgeted"),
        lambda f: f.leaf(_RESERVED)["data"].update(
            kept=[f.leaf(_RESERVED)["data"]["budgets"].pop()["name"]],
        ),
    ),
    "taken, though it is held": ("budgets.ended", "budget_doubt", _dropped(_RELEASED)),
    "taken again, though it is kept": ("budgets.ended", "budget_kept", _taken_again),
    "released after a success": ("budgets.ended", "budgeted", _renamed(_USED, _RELEASED)),
    "used without a success": ("budgets.ended", "budget_failed", _renamed(_RELEASED, _USED)),
    "used after a doubt that was cleared": ("budgets.ended", "budget_asked", _renamed(_USED, _RELEASED)),
    "never used": ("budgets.ended", "budgeted", _dropped(_USED)),
    "never released": ("budgets.ended", "budget_failed", _dropped(_RELEASED)),
    "one budget used alone": ("budgets.ended", "budgeted", lambda f: f.leaf(_USED)["data"]["budgets"].pop()),
    "none used": ("budgets.ended", "budgeted", change_leaf(_USED, "data.budgets", [])),
}

SPENT: dict[str, Lie] = {
    "by another decision": ("budgets.spent", "budget_waited", change_leaf(_SPENT, "data.decision_id", "dec_x")),
    "of another day": ("budgets.spent", "budget_waited", change_leaf(_SPENT, "data.budgets.0.period", "2026-01-04")),
    "though enough is left": ("budgets.spent", "budget_waited", _all_left),
    "until another moment": (
        *("budgets.spent", "budget_waited"),
        change_leaf(_SPENT, "data.opens_at", "2026-01-05T22:59:00.000000Z"),
    ),
    "waits, and does not say until when": (
        *("budgets.spent", "budget_waited"),
        lambda f: f.leaf(_SPENT)["data"].pop("opens_at"),
    ),
    "waits for what does not let it wait": (
        *("budgets.spent", "budget_refused"),
        lambda f: (
            f.leaf(_SPENT)["data"].update(opens_at="2026-01-05T23:00:00.000000Z"),
            change(f"{_BUDGETS}.over", "deny")(f.decision("allow", "refund")),
        ),
    ),
    "and acted": (
        *("budgets.spent", "budgeted"),
        lambda f: f.add(
            _SPENT,
            f.leaf(_RESERVED),
            {
                "decision_id": f.leaf(_RESERVED)["data"]["decision_id"],
                "budgets": [{"name": "all", "period": "2026-01-05", "count": 4, "sum": "0"}],
            },
            **_about(f.leaf(_RESERVED)),
        ),
    ),
}

BUDGET_GROUPS = {"reservations": RESERVATIONS, "ends of reservations": ENDS, "spent budgets": SPENT}
