"""Timeline sentences about budgets: what an attempt reserved, what became of that, and where too little was left."""

from collections.abc import Callable

from evidence.reading.markdown import prose, quoted
from evidence.reading.material import Material, Record, number, records, text, texts
from evidence.reading.words import counted, listed, moment

_NAME = 120
"""Characters of a name."""
_MOST = 9
"""Budgets that are named."""


def _named(names: list[str]) -> str:
    few = "budget" if len(names) == 1 else "budgets"
    return f"the {few} {listed([quoted(name, _NAME) for name in names[:_MOST]])}"


def _totals(material: Material, leaf: Record) -> str:
    """Return of each budget that a leaf names whose it is, for which day or month, and how much of it is taken."""
    decision = material.decisions.get(text(leaf, "data", "decision_id"), {})
    terms = {text(one, "name"): one for one in records(decision, "answer", "budgets")}
    told = [_total(one, terms.get(text(one, "name"), {})) for one in records(leaf, "data", "budgets")[:_MOST]]
    return "; ".join(told)


def _total(taken: Record, terms: Record) -> str:
    whose = f" of {quoted(text(terms, 'key'), _NAME)}" if text(terms, "key") else ""
    most, at_most, currency = number(terms, "count"), text(terms, "sum"), text(terms, "currency")
    count = f"{number(taken, 'count'):,} of {counted(most, 'effect')}" if most else ""
    total = " ".join(prose(part, _NAME) for part in (text(taken, "sum"), "of", at_most, currency)) if at_most else ""
    amounts = " and ".join(filter(None, [count, total])) or counted(number(taken, "count"), "effect")
    return f"{quoted(text(taken, 'name'), _NAME)}{whose}, {prose(text(taken, 'period'), _NAME)}: {amounts} taken"


def _reserved(material: Material, leaf: Record) -> str:
    kept, new = texts(leaf, "data", "kept"), records(leaf, "data", "budgets")
    held = f"What was reserved of {_named(kept)} is kept" if kept else ""
    taken = f"Reserved of the {'budget' if len(new) == 1 else 'budgets'} {_totals(material, leaf)}" if new else ""
    return ". ".join(filter(None, [taken, held])) or "Nothing more was reserved of budgets"


def _used(_: Material, leaf: Record) -> str:
    return f"What was reserved of {_named(texts(leaf, 'data', 'budgets'))} is used"


def _released(_: Material, leaf: Record) -> str:
    return f"What was reserved of {_named(texts(leaf, 'data', 'budgets'))} is released, since it did not happen"


def _spent(material: Material, leaf: Record) -> str:
    until = moment(text(leaf, "data", "opens_at"))
    then = f"; waits until {until}" if until else "; does not wait"
    which = "budget" if len(records(leaf, "data", "budgets")) == 1 else "budgets"
    return f"Too little is left of the {which} {_totals(material, leaf)}{then}"


BUDGETS: dict[str, Callable[[Material, Record], str]] = {
    "budget.reserved": _reserved,
    "budget.used": _used,
    "budget.released": _released,
    "budget.spent": _spent,
}
