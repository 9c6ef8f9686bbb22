"""What limits ask for, and examples of questions, as people and programs are shown them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policy.differences import shown_value
from policy.execution_windows import ExecuteWhen
from policy.limit_demand import Bound, Never
from policy.limit_space import FIELD, Option

_LONGEST = 500
"""Characters of an example."""


def as_json(value: Any) -> Any:
    """Return a member of a demand as JSON."""
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, Never):
        return "never"
    if isinstance(value, ExecuteWhen):
        return value.model_dump(mode="json")
    if isinstance(value, tuple):
        return [one.model_dump(mode="json", exclude_none=True) for one in _budgets(value)] or None
    return value


def _budgets(bounds: Iterable[Bound]) -> Iterable[Any]:
    return {bound.place: bound.said for bound in bounds}.values()


def was_and_is(member: str, old: Any, new: Any) -> str:
    """Return the old and the new value of a member, as JSON, in words."""
    was, now = (_said(member, one) for one in (old, new))
    return f"was {was}, now {now if was != now else 'the same, but counted with other effects'}"


def _said(member: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if not value and value != 0:
        return "nobody" if member == "requirement" else "nothing"
    if isinstance(value, list):
        return shortened(" and ".join(one if isinstance(one, str) else _budget(one) for one in value), 200)
    return shown_value(value)


def _budget(budget: Mapping[str, Any]) -> str:
    """Return a budget in words, such as `50 effects and 500.00 EUR of amount a day by requester (deny)`."""
    most = [f"{budget['count']} effect{'s' if budget['count'] > 1 else ''}"] if "count" in budget else []
    if of := budget.get("sum"):
        most.append(f"{of['at_most']} {of['currency']} of {of['field']}")
    return f"{' and '.join(most)} a {budget['per']} by {budget['by']} ({budget['over']}, {budget['time_zone']})"


def asked(operation: str, options: Sequence[Option]) -> str:
    """Return a question in words, such as `payments::refund with amount 5000.01, runbook "campaign"`."""
    said = [(name, value.words) for option in options for name, value in option.sets.items()]
    fields = [f"{name.removeprefix(FIELD)} {words}" for name, words in said if name.startswith(FIELD)]
    others = [f", {name} {words}" for name, words in said if not name.startswith(FIELD)]
    return f"{operation}{' with ' if fields else ''}{' and '.join(fields)}{''.join(others)}"


def shortened(text: str, most: int = _LONGEST) -> str:
    """Return a text, cut off where it is long."""
    return text if len(text) <= most else f"{text[:most]}…"
