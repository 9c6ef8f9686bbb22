"""What has to hold of budgets: none is exceeded, and what was reserved of one is used, released, or still in doubt.

What happened is counted by what the other side wrote down, and what that takes of budgets by the decisions that let it
begin; the totals that the program keeps are compared with both.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from tests.faults.checker.facts import Facts, Row

_ACCOUNT = ("tenant", "budget", "counted_by", "key", "period", "currency")
_ENDED = {"dispatched": "used", "rejected": "released", "failed": "released"}
"""What has become of what an effect held, by how the effect ended."""


def _account(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in _ACCOUNT)


def _terms(facts: Facts, decision_id: str) -> dict[str, Row]:
    """Return what a decision says that its effect takes of budgets, by their names; nothing where it is not there."""
    document = facts.decided.get(decision_id, {}).get("document", {})
    return {one["name"]: one for one in document.get("answer", {}).get("budgets", ())}


def _leaves(facts: Facts, event: str) -> Iterator[Row]:
    return (row["leaf"] for row in facts.tables["leaves"] if row["leaf"]["event"] == event)


def _is_beyond(terms: Row, count: int, total: Decimal) -> bool:
    return count > terms.get("count", count) or total > Decimal(terms.get("sum", total))


def budgets_are_not_exceeded(facts: Facts) -> Iterator[str]:
    """No more happened than a budget is for, and none was ever more reserved than that, as the chains tell."""
    uses = defaultdict(list)
    for row in facts.tables["budget_uses"]:
        uses[row["effect_id"]].append(row)
    count, total, of = Counter[Any](), defaultdict[Any, Decimal](Decimal), dict[Any, Row]()
    for line in facts.told("acted"):
        effect = facts.effects_by_key.get((line["operation"], line["key"]), {})
        held = [use for use in uses[effect.get("effect_id")] if use["status"] != "released"]
        for account, use in {_account(use): use for use in held}.items():
            terms = _terms(facts, use["decision_id"]).get(use["budget"], {})
            count[account] += 1
            total[account] += Decimal(terms.get("amount", 0))
            of[account] = terms
    for account, terms in of.items():
        if _is_beyond(terms, count[account], total[account]):
            yield f"{count[account]} effects of {total[account]} of budget {account} happened, and it is for {terms}"
    for leaf in _leaves(facts, "budget.reserved"):
        for one in leaf["data"]["budgets"]:
            terms = _terms(facts, leaf["data"]["decision_id"]).get(one["name"], {})
            if _is_beyond(terms, one["count"], Decimal(one.get("sum", 0))):
                yield f"{one} was reserved by {leaf['data']['decision_id']} where it counts: it is for {terms}"


def acts_take_of_budgets(facts: Facts) -> Iterator[str]:
    """What happened, by a decision that takes of budgets, holds or has used its part of each, once."""
    held = Counter(
        (row["effect_id"], row["budget"]) for row in facts.tables["budget_uses"] if row["status"] != "released"
    )
    for line in facts.told("acted"):
        effect = facts.effects_by_key.get((line["operation"], line["key"]), {})
        allows = [row for row in facts.of_effect[effect.get("effect_id", "")]["decisions"] if row["outcome"] == "allow"]
        for name in {name for row in allows for name in _terms(facts, row["decision_id"])}:
            if held[effect["effect_id"], name] != 1:
                times = held[effect["effect_id"], name]
                yield f"{line['operation']} under {line['key']} happened, and takes {times} times of budget {name}"


def budgets_lose_nothing(facts: Facts) -> Iterator[str]:
    """What was reserved is used if the effect was done, released if it was not, and held as long as nobody knows."""
    effects = {row["effect_id"]: row for row in facts.tables["effects"]}
    last: dict[tuple[str, str], Row] = {}
    for row in sorted(facts.tables["budget_uses"], key=lambda row: row["at"]):
        before = last.get((row["effect_id"], row["budget"]))
        if before is not None and before["status"] != "released":
            yield f"effect {row['effect_id']} counts twice of budget {row['budget']}"
        last[row["effect_id"], row["budget"]] = row
        terms = _terms(facts, row["decision_id"]).get(row["budget"], {})
        if Decimal(terms.get("amount", 0)) != row["amount"] or terms.get("key") != row["key"]:
            yield f"what {row['decision_id']} takes of budget {row['budget']} counts otherwise than it says"
    for (effect_id, name), row in last.items():
        status = effects[effect_id]["status"]
        if _ENDED.get(status, row["status"]) != row["status"]:
            yield f"effect {effect_id} is {status}, and what it counts of budget {name} is {row['status']}"


def totals_are_of_what_is_held_and_used(facts: Facts) -> Iterator[str]:
    """Each total counts exactly what is reserved, used, or released and not yet taken out; nothing counts nowhere."""
    count, total = Counter[Any](), defaultdict[Any, Decimal](Decimal)
    for row in facts.tables["budget_uses"]:
        if row["in_total"]:
            count[_account(row)] += 1
            total[_account(row)] += row["amount"]
    totals = {_account(row): (row["count"], row["sum"]) for row in facts.tables["budget_totals"]}
    for account in totals.keys() | count.keys():
        counts = count[account], total[account]
        if totals.get(account) != counts:
            yield f"budget {account} counts {totals.get(account)}, and {counts} is reserved, used, or to be taken out"


def uses_are_on_record(facts: Facts) -> Iterator[str]:
    """What was reserved, used and released stands in the chains, each as often as in the tables."""
    uses = facts.tables["budget_uses"]
    told = Counter(
        (leaf["data"]["decision_id"], one["name"])
        for leaf in _leaves(facts, "budget.reserved")
        for one in leaf["data"]["budgets"]
    )
    yield from _differences(told, Counter((row["decision_id"], row["budget"]) for row in uses), "reserved")
    for status in ("used", "released"):
        said = Counter(
            (leaf["correlation"]["effect_id"], name)
            for leaf in _leaves(facts, f"budget.{status}")
            for name in leaf["data"]["budgets"]
        )
        found = Counter((row["effect_id"], row["budget"]) for row in uses if row["status"] == status)
        yield from _differences(said, found, status)


def _differences(told: Counter[Any], found: Counter[Any], what: str) -> Iterator[str]:
    for one in sorted(told.keys() | found.keys()):
        if told[one] != found[one]:
            yield f"{one}: {what} {told[one]} times by the chain, and {found[one]} times by the table"


def count_budgets(facts: Facts) -> dict[str, int]:
    """Return what came of budgets, for the report."""
    statuses = Counter(row["status"] for row in facts.tables["budget_uses"])
    return {
        "parts of budgets that were reserved": len(facts.tables["budget_uses"]),
        **{f"of them {status}": statuses[status] for status in ("used", "released", "reserved")},
        "effects for which too little was left": len(list(_leaves(facts, "budget.spent"))),
    }


BUDGET_RULES: tuple[Callable[[Facts], Iterator[str]], ...] = (
    budgets_are_not_exceeded,
    acts_take_of_budgets,
    budgets_lose_nothing,
    totals_are_of_what_is_held_and_used,
    uses_are_on_record,
)
