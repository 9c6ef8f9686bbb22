"""Demands: what the limits that hold for a question ask for together, and which of two demands asks for more.

Means the same as `rego/countersign/limited.rego` and `strictest.rego`; tests ask both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from policy.execution_windows import ExecuteWhen
from policy.limit_model import TIERS, WHOLE_WEEK, Budget, Limit, Tier, open_minutes, seconds


@dataclass(frozen=True)
class Listed:
    """What a tenant's configuration says of an operation beside limits."""

    connector: str
    operation: str
    chat: bool
    tier: Tier
    execute: ExecuteWhen | None
    writes_per_run: int


@dataclass(frozen=True)
class Bound:
    """One number of a budget: the most of `what`, counted over all for which the limit at `place` holds."""

    place: int
    what: tuple[str | None, ...]
    at_most: Decimal
    said: Budget


class Never(NamedTuple):
    """Windows that name different times of the week: policy denies."""


Window = ExecuteWhen | Never | None


@dataclass(frozen=True)
class Demand:
    """What is asked for of one question. `by_limits` is what limits alone say of members that the list has, too."""

    tier: Tier
    requirement: frozenset[str]
    quorum: int | None
    exclude: frozenset[str]
    sign_with: str | None
    expires_in: str | None
    execute: Window
    writes_per_run: int
    notify: frozenset[str]
    budget: tuple[Bound, ...]
    by_limits: Mapping[str, Any]


MEMBERS = (
    *("tier", "requirement", "quorum", "exclude", "sign_with", "expires_in", "execute", "writes_per_run", "notify"),
    "budget",
)


def demand_of(limits: Sequence[tuple[int, Limit]], listed: Listed) -> Demand:
    """Return what is asked for where these limits hold, each with its place among all."""
    held = [limit for _, limit in limits]
    tier = _highest(limit.tier for limit in held)
    asked = frozenset(limit.demanded for limit in held if limit.demanded is not None)
    windows = _distinct(limit.execute for limit in held)
    writes = None if listed.chat else _closest(held)
    effective = max((listed.tier, tier or "low"), key=TIERS.index)
    signed = {_name_of_high(listed)} if effective == "high" else set()
    return Demand(
        tier=effective,
        requirement=asked | signed,
        quorum=max((limit.quorum for limit in held if limit.quorum is not None), default=None),
        exclude=frozenset(path for limit in held for path in limit.exclude),
        sign_with=next((limit.sign_with for limit in held if limit.sign_with), None),
        expires_in=_shortest(limit.expires_in for limit in held),
        execute=_narrowest(_distinct((*windows, listed.execute))),
        writes_per_run=listed.writes_per_run if writes is None else writes,
        notify=frozenset(group for limit in held for group in limit.notify),
        budget=() if listed.chat else tuple(bound for place, limit in limits for bound in _bounds(place, limit)),
        by_limits={
            "tier": (tier, asked),
            "requirement": (tier, asked),
            "execute": _narrowest(windows),
            "writes_per_run": writes,
        },
    )


def _highest(tiers: Iterable[Tier | None]) -> Tier | None:
    return max((tier for tier in tiers if tier), key=TIERS.index, default=None)


def _name_of_high(listed: Listed) -> str:
    """Return the requirement that the high tier asks for."""
    return f"policy_{listed.operation}" if listed.connector == "policy" else "high"


def _shortest(durations: Iterable[str | None]) -> str | None:
    return min((one for one in durations if one), key=lambda one: (seconds(one), one), default=None)


def _closest(held: Sequence[Limit]) -> int | None:
    """Return the most writes: of the limit with the most conditions, the least of several."""
    found = [(-len(limit.when.model_fields_set), limit.writes_per_run) for limit in held]
    return min(((depth, most) for depth, most in found if most is not None), default=(0, None))[1]


def _distinct(windows: Iterable[ExecuteWhen | None]) -> list[ExecuteWhen]:
    found: list[ExecuteWhen] = []
    for one in windows:
        if one is not None and one not in found:
            found.append(one)
    return found


def _narrowest(windows: Sequence[ExecuteWhen]) -> Window:
    """Return when all windows let it be carried out."""
    if not windows:
        return None
    weeks = [one for one in windows if one.between]
    if any((one.between, one.time_zone) != (weeks[0].between, weeks[0].time_zone) for one in weeks):
        return Never()
    return ExecuteWhen(
        not_before=max((one.not_before for one in windows if one.not_before), default=None),
        between=weeks[0].between if weeks else [],
        time_zone=weeks[0].time_zone if weeks else None,
        within=min((one.within for one in windows), key=seconds),
    )


def _bounds(place: int, limit: Limit) -> Iterable[Bound]:
    budget = limit.budget
    if budget is None:
        return
    asked = limit.requirement if budget.over == "approve" else None
    key = (budget.by, budget.per, budget.time_zone, budget.over, asked)
    if budget.count is not None:
        yield Bound(place, ("count", *key), Decimal(budget.count), budget)
    if budget.sum is not None:
        of = (budget.sum.field, budget.sum.currency_field, budget.sum.currency)
        yield Bound(place, ("sum", *key, *of), Decimal(budget.sum.at_most), budget)


Order = Callable[[Any, Any], bool]
"""Returns whether the first asks for at least as much as the second."""


def orders(contained: Callable[[int, int], bool]) -> dict[str, Order]:
    """Return the order of each member; `contained` says that a limit holds wherever another one (the first) does."""

    def budgets(one: Sequence[Bound], other: Sequence[Bound]) -> bool:
        return all(any(_is_tighter(mine, its, contained) for mine in one) for its in other)

    return {
        "tier": lambda one, other: TIERS.index(one) >= TIERS.index(other),
        "requirement": frozenset.issuperset,
        "quorum": lambda one, other: (one or 0) >= (other or 0),
        "exclude": frozenset.issuperset,
        "sign_with": lambda one, other: one is not None or other is None,
        "expires_in": lambda one, other: other is None or (one is not None and seconds(one) <= seconds(other)),
        "execute": _is_within,
        "writes_per_run": lambda one, other: one <= other,
        "notify": frozenset.issuperset,
        "budget": budgets,
    }


def _is_tighter(one: Bound, other: Bound, contained: Callable[[int, int], bool]) -> bool:
    """Return whether a bound lets no more pass: it counts all that the other counts, and is no greater."""
    return one.what == other.what and one.at_most <= other.at_most and contained(other.place, one.place)


def _is_within(one: Window, other: Window) -> bool:
    """Return whether whatever the first lets be carried out, the second lets be carried out, too."""
    if other is None or isinstance(one, Never):
        return True
    if one is None or isinstance(other, Never):
        return False
    is_no_earlier = (one.not_before or "") >= (other.not_before or "")
    return is_no_earlier and seconds(one.within) <= seconds(other.within) and _is_week_within(one, other)


def _is_week_within(one: ExecuteWhen, other: ExecuteWhen) -> bool:
    mine, its = (open_minutes(when.between) if when.between else WHOLE_WEEK for when in (one, other))
    return its == WHOLE_WEEK or (one.time_zone == other.time_zone and mine & ~its == 0)
