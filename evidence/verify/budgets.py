"""Budgets: an attempt took no more than was left, for the day or month in which it began, and what it took has its end.

The verifier looks for the end of a period hour by hour: what the clock on the wall of a zone shows.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Context, Decimal
from functools import partial
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from evidence.records import BudgetRecord
from evidence.verify.contents import BrokenError
from evidence.verify.facts import ACTED, Decided, Facts
from evidence.verify.forms import Reserved, Returned, Spent, Taken
from evidence.verify.rules import Rule, agree, broken_leaf, counted, data_of, moment, rule
from receipts.chain import RECEIPT_WRITTEN, Leaf
from receipts.fields import timestamp

RESERVED, USED, RELEASED, SPENT = "budget.reserved", "budget.used", "budget.released", "budget.spent"
_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)
_EXACT = Context(prec=200)


def period_of(member: str, budget: BudgetRecord, at: datetime) -> str:
    """Return the name of the day, or month, that the clock of a budget's zone shows."""
    shown = at.astimezone(_zone(member, budget))
    return f"{shown:%Y-%m-%d}" if budget.per == "day" else f"{shown:%Y-%m}"


def period_end(member: str, budget: BudgetRecord, at: datetime) -> datetime:
    """Return the first moment at which that clock shows the next one."""
    name = partial(period_of, member, budget)
    hour, now = at.replace(minute=0, second=0, microsecond=0), name(at)
    while name(hour + _HOUR) == now:
        hour += _HOUR
    minutes = (hour + _MINUTE * nth for nth in range(1, 61))
    return next(one for one in minutes if one > at and name(one) != now)


def _zone(member: str, budget: BudgetRecord) -> ZoneInfo:
    try:
        return ZoneInfo(budget.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise BrokenError(member, f"{budget.time_zone!r} is no time zone that is known here") from error


def _taking(facts: Facts, leaf: Leaf, decision_id: str) -> Decided:
    """Return the decision by which an effect takes of budgets, on record at the same moment as a leaf about it."""
    decision = facts.decided.get(decision_id)
    if decision is None or decision.record.outcome != "allow" or not decision.record.answer.budgets:
        raise broken_leaf(leaf, f"no decision {decision_id} takes of budgets")
    agree(
        decision.name,
        f"line {leaf.seq}",
        effect_id=(decision.record.effect_id, leaf.correlation.effect_id),
        place=((decision.leaf.seq < leaf.seq, decision.leaf.at), (True, leaf.at)),
    )
    return decision


def _of_decision(decision: Decided, leaf: Leaf, taken: list[Taken]) -> Iterator[tuple[BudgetRecord, Taken]]:
    """Yield each budget that a leaf names, as the decision has it, in the period of that moment."""
    named = {budget.name: budget for budget in decision.record.answer.budgets}
    for one in taken:
        budget = named.pop(one.name, None)
        if budget is None or one.period != period_of(decision.name, budget, moment(leaf.at)):
            raise broken_leaf(leaf, f"{one.name} of {one.period} is none of the budgets of {decision.record.id}")
        if (budget.sum is None) != (one.sum is None):
            raise broken_leaf(leaf, f"{one.name} has a sum, or has none")
        yield budget, one


def _is_beyond(budget: BudgetRecord, count: int, total: Decimal) -> bool:
    return (budget.count is not None and count > budget.count) or (
        budget.sum is not None and total > Decimal(budget.sum)
    )


@rule(
    "budgets.reserved",
    "A `budget.reserved` follows a decision that allows that effect and takes of `budgets`, named by `decision_id` and"
    " on record at the same moment, once for each. Its `budgets` and `kept` are these, each once. Of each of `budgets`"
    " it says the day or month that the clock of its `time_zone` showed (`period`), and how much was taken with it:"
    " one effect at least (`count`), and its `amount` at least (`sum`); no more than there is, unless policy was told"
    " that too little is left (`counters.over`), and of a vote to approve.",
)
def _reserved(facts: Facts) -> str:
    leaves, seen = facts.contents.leaves_of(RESERVED), set[str]()
    for leaf in leaves:
        told = data_of(Reserved, leaf)
        decision = _taking(facts, leaf, told.decision_id)
        if told.decision_id in seen:
            raise broken_leaf(leaf, f"decision {told.decision_id} takes of its budgets a second time")
        seen.add(told.decision_id)
        named = sorted([*told.kept, *(one.name for one in told.budgets)])
        if named != sorted(budget.name for budget in decision.record.answer.budgets):
            raise broken_leaf(leaf, f"{named} are not the budgets of decision {told.decision_id}")
        for budget, taken in _of_decision(decision, leaf, told.budgets):
            _check_taken(decision, leaf, budget, taken)
    return counted(len(leaves), "reservation")


def _check_taken(decision: Decided, leaf: Leaf, budget: BudgetRecord, taken: Taken) -> None:
    total, amount = Decimal(taken.sum or 0), Decimal(budget.amount or 0)
    if taken.count < 1 or total < amount:
        raise broken_leaf(leaf, f"takes less of {budget.name} than decision {decision.record.id} says")
    asked = decision.record.input
    may = budget.name in asked.over and any(vote.verdict == "approve" for vote in asked.votes)
    if _is_beyond(budget, taken.count, total) and not may:
        raise broken_leaf(leaf, f"takes more of {budget.name} than there is, and nobody has signed that")


@rule(
    "budgets.of-acts",
    "What acted by a decision that takes of `budgets` has a `budget.reserved` that names that decision.",
)
def _of_acts(facts: Facts) -> str:
    begun = {str(leaf.data.get("decision_id")) for leaf in facts.contents.leaves_of(RESERVED)}
    acts = 0
    for receipt in (one for one in facts.receipts if one.record.outcome in ACTED):
        decision = facts.decided[str(receipt.record.decision_id)]
        if decision.record.answer.budgets and decision.record.id not in begun:
            raise BrokenError(receipt.name, f"acted, and took nothing of the budgets of {decision.record.id}")
        acts += bool(decision.record.answer.budgets)
    return counted(acts, "act") + " within budgets"


@dataclass
class _Course:
    """What effects hold of budgets as the chain goes on, and what became of their attempts at which moment."""

    facts: Facts
    held: dict[str, set[str]] = field(default_factory=dict)  # names of budgets

    def __post_init__(self) -> None:
        told = self.facts.receipts
        self.done = {(one.record.effect_id, one.leaf.at) for one in told if one.record.outcome == "success"}
        self.done |= self._moments("effect.repeated")
        self.cleared = self._moments("effect.cleared")
        waited = {str(leaf.data.get("decision_id")) for leaf in self.facts.contents.leaves_of("effect.waiting", SPENT)}
        begun = [one for one in self.facts.decisions if one.record.outcome == "allow" and one.record.id not in waited]
        self.first = {one.record.effect_id: one.record.id for one in reversed(begun)}
        self.failed = {
            (one.record.effect_id, one.leaf.at): one.record.decision_id
            for one in told
            if one.record.outcome == "failure"
        }

    def _moments(self, event: str) -> set[tuple[str, str]]:
        """Return of which effects an event tells, each with the moment."""
        return {(str(leaf.correlation.effect_id), leaf.at) for leaf in self.facts.contents.leaves_of(event)}

    def reserve(self, effect: str, leaf: Leaf) -> None:
        """Take what an attempt reserves; what it keeps the effect must hold."""
        told = data_of(Reserved, leaf)
        holds, taken = self.held.setdefault(effect, set()), {one.name for one in told.budgets}
        if set(told.kept) - holds or taken & holds:
            raise broken_leaf(leaf, "keeps what its effect does not hold, or takes what it holds")
        holds |= taken

    def give(self, effect: str, leaf: Leaf) -> None:
        """Take the end of what is held, all of it, as the attempt ended."""
        names, holds = data_of(Returned, leaf).budgets, self.held.get(effect, set())
        if sorted(names) != sorted(holds):
            raise broken_leaf(leaf, f"ends {', '.join(sorted(names))}, and its effect holds others")
        is_used, now = leaf.event == USED, (effect, leaf.at)
        if is_used != (now in self.done) and (is_used or now not in self.cleared):
            raise broken_leaf(leaf, f"{leaf.event} is not what became of the effect at that moment")
        self.held[effect] = set()

    def end(self, effect: str, leaf: Leaf) -> None:
        """Look, at the end of a moment, whether anything is held that had to be given by then."""
        first, holds = self.first.get(effect), self.held.get(effect)
        has_failed = first is not None and self.failed.get((effect, leaf.at)) == first
        if holds and (has_failed or (effect, leaf.at) in self.done):
            raise broken_leaf(leaf, f"its effect holds {', '.join(sorted(holds))} after that")


@rule(
    "budgets.ended",
    "What an effect has reserved of budgets, it holds until a `budget.used` or `budget.released` about it, which names"
    " all that it holds; what is `kept`, and no other, it holds already when an attempt begins. It is `budget.used`"
    " if a receipt of its success, or an `effect.repeated`, stands at the same moment, and only then; what was found"
    " not to have happened (`effect.cleared`) is released. Nothing is held after a success, nor after the failure of an"
    " effect's first attempt.",
)
def _ended(facts: Facts) -> str:
    course, ends = _Course(facts), 0
    for leaf in facts.contents.leaves_of(RESERVED, USED, RELEASED, RECEIPT_WRITTEN):
        effect = str(leaf.correlation.effect_id)
        if leaf.event == RESERVED:
            course.reserve(effect, leaf)
        elif leaf.event == RECEIPT_WRITTEN:
            course.end(effect, leaf)
        else:
            course.give(effect, leaf)
            ends += 1
    return counted(ends, "end")


@rule(
    "budgets.spent",
    "A `budget.spent` follows a decision that allows that effect and takes of `budgets`, named by `decision_id` and on"
    " record at the same moment, with which nothing acted. It names budgets of that decision, in the day or month that"
    " the clock of their `time_zone` showed, of which less is left than it takes. `opens_at` is when the last of those"
    " that let it wait (`over`) begins again; where it is missing, a receipt of that moment says that it was refused,"
    " or people are asked what had become of it.",
)
def _spent(facts: Facts) -> str:
    leaves = facts.contents.leaves_of(SPENT)
    acted = {one.record.decision_id for one in facts.receipts if one.record.outcome in ACTED}
    for leaf in leaves:
        told = data_of(Spent, leaf)
        decision = _taking(facts, leaf, told.decision_id)
        if told.decision_id in acted:
            raise broken_leaf(leaf, f"the effect acted by decision {told.decision_id}")
        waits = list[datetime]()
        for budget, taken in _of_decision(decision, leaf, told.budgets):
            total = _EXACT.add(Decimal(taken.sum or 0), Decimal(budget.amount or 0))
            if not _is_beyond(budget, taken.count + 1, total):
                raise broken_leaf(leaf, f"enough is left of {budget.name}")
            if budget.over == "wait":
                waits.append(period_end(decision.name, budget, moment(leaf.at)))
        if told.opens_at is not None and (not waits or told.opens_at != timestamp(max(waits))):
            raise broken_leaf(leaf, f"its budgets do not begin again at {told.opens_at}")
        if told.opens_at is None and not _is_refused(facts, leaf):
            raise broken_leaf(leaf, "was neither refused nor is it to wait")
    return counted(len(leaves), "time")


def _is_refused(facts: Facts, leaf: Leaf) -> bool:
    """Return whether the effect was refused at that moment, or could not be since it may have acted before."""
    effect, decision = leaf.correlation.effect_id, facts.decided[str(leaf.data.get("decision_id"))]
    told = [one for one in facts.receipts if one.record.effect_id == effect]
    refused = any(one.record.outcome == "refusal" and one.leaf.at == leaf.at for one in told)
    earlier = [
        one
        for one in facts.decisions
        if one.record.effect_id == effect and one.record.outcome == "allow" and one.leaf.seq < decision.leaf.seq
    ]
    return refused or bool(earlier)


RULES: tuple[Rule[Facts], ...] = (_reserved, _of_acts, _ended, _spent)
