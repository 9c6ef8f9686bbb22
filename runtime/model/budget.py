"""Budgets: what an effect takes of them, in which day or month, and what is left. Values in, values out.

A day begins, and a month, where the clock on the wall of the budget's zone first shows its date. Sums are exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Context, Decimal
from enum import StrEnum
from zoneinfo import ZoneInfo

from policy.contract import BudgetUse
from receipts.fields import timestamp

_EXACT = Context(prec=200)
"""Digits of the longest sums, and more."""
_DAY = timedelta(days=1)
_LONGEST_MONTH = 31


class UseStatus(StrEnum):
    """What became of what an attempt took of a budget."""

    RESERVED = "reserved"
    USED = "used"
    RELEASED = "released"


class Over(StrEnum):
    """What follows where too little of a budget is left, the strictest first."""

    DENY = "deny"
    WAIT = "wait"
    APPROVE = "approve"


@dataclass(frozen=True)
class Use:
    """What an effect takes of a budget in a period: one of `most` effects, and `amount` of a sum `at_most`."""

    name: str
    comment: str
    by: str
    key: str
    period: str
    ends_at: datetime  # the period
    over: Over
    most: int | None = None
    at_most: Decimal | None = None
    currency: str = ""
    amount: Decimal = Decimal(0)


@dataclass(frozen=True)
class Total:
    """How much of a budget is taken in a period."""

    count: int
    sum: Decimal


@dataclass(frozen=True)
class HeldUse:
    """What an attempt has taken of a budget, with the decision that let it begin."""

    decision_id: str
    budget: str


@dataclass(frozen=True)
class SpentUse:
    """What cannot be taken, and how much is taken already."""

    use: Use
    total: Total

    @property
    def left(self) -> str:
        """Return in words how much is left."""
        use, parts = self.use, []
        if use.most is not None:
            parts.append(f"{max(use.most - self.total.count, 0)} of {use.most}")
        if use.at_most is not None:
            left = max(_EXACT.subtract(use.at_most, self.total.sum), Decimal(0))
            parts.append(f"{left:f} of {use.at_most:f} {use.currency}")
        return " and ".join(parts)

    @property
    def fits_ever(self) -> bool:
        """Return whether it could be taken if nothing else were."""
        return self.use.at_most is None or self.use.amount <= self.use.at_most

    @property
    def sentence(self) -> str:
        """Return in one sentence whose budget leaves too little, and how much."""
        use = self.use
        takes = "" if use.at_most is None else f", and this takes {use.amount:f} {use.currency}"
        left = f"{use.by} {use.key} has {self.left} left until {timestamp(use.ends_at)}{takes}"
        return f"budget {use.name} ({use.comment}): {left}"


class BudgetSpentError(Exception):
    """Of some budgets too little is left; nothing is taken."""

    def __init__(self, spent: Sequence[SpentUse]) -> None:
        super().__init__("; ".join(one.sentence for one in spent))
        self.spent = tuple(spent)

    @property
    def over(self) -> Over:
        """Return what follows: the strictest of what the budgets say."""
        return min((one.use.over for one in self.spent), key=list(Over).index)

    @property
    def names(self) -> list[str]:
        """Return the names of the budgets."""
        return [one.use.name for one in self.spent]

    @property
    def waited_for(self) -> SpentUse:
        """Return the budget that begins again last, of those that let it wait."""
        return max((one for one in self.spent if one.use.over is Over.WAIT), key=lambda one: one.use.ends_at)

    @property
    def opens_at(self) -> datetime:
        """Return when all the budgets that let it wait have begun again."""
        return self.waited_for.use.ends_at

    @property
    def fits_later(self) -> bool:
        """Return whether none of those budgets would be too small even if nothing else were taken of it."""
        return all(one.fits_ever for one in self.spent if one.use.over is Over.WAIT)


def uses_of(budgets: Sequence[BudgetUse], moment: datetime) -> list[Use]:
    """Return what an effect that begins at a moment takes of budgets."""
    return [_use_of(budget, moment) for budget in budgets]


def _use_of(budget: BudgetUse, moment: datetime) -> Use:
    zone = ZoneInfo(budget.time_zone)
    return Use(
        name=budget.name,
        comment=budget.comment,
        by=budget.by,
        key=budget.key,
        period=period_of(moment, budget.per, zone),
        ends_at=period_end(moment, budget.per, zone),
        over=Over(budget.over),
        most=budget.count,
        at_most=None if budget.sum is None else Decimal(budget.sum),
        currency=budget.currency or "",
        amount=Decimal(budget.amount or 0),
    )


def period_of(moment: datetime, per: str, zone: ZoneInfo) -> str:
    """Return the name of the day, or month, that a zone has at a moment: 2026-03-29, or 2026-03."""
    return f"{moment.astimezone(zone):{'%Y-%m-%d' if per == 'day' else '%Y-%m'}}"


def period_end(moment: datetime, per: str, zone: ZoneInfo) -> datetime:
    """Return the first moment of the next day, or month, in a zone, in UTC.

    Where the clock leaves out midnight, that is the moment at which it is changed.
    """
    day = moment.astimezone(zone).date()
    following = day + _DAY if per == "day" else (day.replace(day=1) + _DAY * _LONGEST_MONTH).replace(day=1)
    return datetime.combine(following, time(), tzinfo=zone).astimezone(UTC)
