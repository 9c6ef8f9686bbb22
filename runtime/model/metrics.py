"""Metrics: how long people take to decide requests, how often they are reminded, and what waits for each."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


class Mark(StrEnum):
    """What happens to a request beside votes, and is counted."""

    LOOKED = "looked"  # a person opened its details or the form of a vote, each once
    REMINDED = "reminded"
    ESCALATED = "escalated"


def duration_words(seconds: float) -> str:
    """Return a duration as people say it, in its largest unit."""
    for unit, word in ((_DAY, "days"), (_HOUR, "h"), (_MINUTE, "min")):
        if seconds >= 2 * unit or (seconds >= unit and unit < _DAY):
            return f"{seconds / unit:.1f}".removesuffix(".0") + f" {word}"
    return f"{seconds:.0f} s"


@dataclass(frozen=True)
class Spread:
    """Seconds of the middle one, and of the one that nine in ten do not exceed; None where there is none."""

    p50: float | None
    p90: float | None

    @property
    def words(self) -> str:
        """Return it in words."""
        if self.p50 is None or self.p90 is None:
            return "none yet"
        return f"{duration_words(self.p50)} (nine in ten within {duration_words(self.p90)})"


@dataclass(frozen=True)
class GroupMetrics:
    """Requests of a period that asked one group, of one tier. A request that asks two groups counts for each.

    `first_look` is until somebody opened one or voted on it, `decision` until it was approved or rejected.
    """

    group: str
    tier: str
    asked: int
    approved: int
    rejected: int
    expired: int
    canceled: int
    open: int
    late: int  # open although their time is over, or expired
    first_look: Spread
    decision: Spread
    reminders: int
    escalations: int
    break_glass_used: int


@dataclass(frozen=True)
class PersonMetrics:
    """What waits for a person now, and what they decided in a period; `answer` is from the request to their vote.

    `waiting` are open requests to groups of theirs on which they have not voted, and of which none excludes them.
    """

    person: str
    name: str
    groups: Sequence[str]
    waiting: int
    looked: int
    approved: int
    rejected: int
    answer: Spread


@dataclass(frozen=True)
class Metrics:
    """The metrics of a tenant from one moment until before another."""

    since: datetime
    until: datetime
    groups: Sequence[GroupMetrics]
    people: Sequence[PersonMetrics]


@dataclass(frozen=True)
class GroupWeek:
    """Requests of one week, which begins on a Monday in UTC, that asked one group, of one tier."""

    week: date
    group: str
    tier: str
    asked: int
    expired: int
    first_look: Spread
    decision: Spread
    reminders: int
    escalations: int
    break_glass_used: int


@dataclass(frozen=True)
class WeekTotals:
    """Requests of one week, each counted once however many groups it asks."""

    week: date
    asked: int
    reminders: int
    escalations: int
    break_glass_used: int
    expired: int


@dataclass(frozen=True)
class WeeklyMetrics:
    """The metrics of a tenant by week; weeks in which nobody was asked are not there."""

    groups: Sequence[GroupWeek]
    totals: Sequence[WeekTotals]


WEEK_COLUMNS = (
    *("week", "group", "tier", "asked", "first_look_p50", "first_look_p90", "decision_p50", "decision_p90"),
    *("reminders", "escalations", "break_glass_used", "expired"),
)
"""The columns of the metrics by week, group and tier as a table; times are in seconds."""

GROUP_COLUMNS = (
    *("group", "tier", "asked", "approved", "rejected", "expired", "canceled", "open", "late"),
    *("first_look_p50", "first_look_p90", "decision_p50", "decision_p90"),
    *("reminders", "escalations", "break_glass_used"),
)
"""The columns of the metrics by group and tier as a table; times are in seconds."""


def table_row(of: GroupMetrics | GroupWeek | PersonMetrics) -> dict[str, Any]:
    """Return metrics as a row of a table, with each spread as two columns."""
    flat: dict[str, Any] = {}
    for name, value in asdict(of).items():
        flat |= {f"{name}_{part}": at for part, at in value.items()} if isinstance(value, dict) else {name: value}
    return flat
