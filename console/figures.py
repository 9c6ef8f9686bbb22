"""Figures of a period: how long people took with what they were asked, as a page and as a table for spreadsheets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

from console.runs import FilterError, day_of
from evidence.export.index import csv_of
from runtime.model.metrics import Metrics, Spread

USUAL = timedelta(days=30)
"""The period where an address names none."""

COLUMNS = (
    *("group", "tier", "asked", "approved", "rejected", "expired", "canceled", "open", "late"),
    *("first_look_p50", "first_look_p90", "decision_p50", "decision_p90"),
    *("reminders", "escalations", "break_glass_used"),
)


@dataclass(frozen=True)
class Period:
    """The days of figures, both included, in UTC; "" is 30 days ago, or today."""

    since: str = ""
    until: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Period":
        """Read an address's query; raise FilterError."""
        if strange := set(query).difference(cls.__dataclass_fields__):
            raise FilterError(f"{min(strange)}: there is no such filter")
        return cls(**query)

    def moments(self, now: datetime) -> tuple[datetime, datetime]:
        """Return its first moment, and the one that ends it; raise FilterError."""
        until = day_of("until", self.until, timedelta(days=1)) or now
        since = day_of("since", self.since) or datetime.combine((until - USUAL).date(), time(), UTC)
        if since >= until:
            raise FilterError("since: it is not before the end")
        return since, until


def table_of(found: Metrics) -> bytes:
    """Return the figures by group and tier as CSV; times are in seconds."""
    return csv_of(COLUMNS, [_flat(asdict(one)) for one in found.groups])


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with each spread as two columns."""
    spreads = {name: value for name, value in row.items() if isinstance(value, dict)}
    parts = {f"{name}_{part}": at for name, value in spreads.items() for part, at in value.items()}
    return {**{name: value for name, value in row.items() if name not in spreads}, **parts}


def spread(of: Spread) -> str:
    """Return the middle one of some times, and the one that nine in ten do not exceed; "" where there is none."""
    return "" if of.p50 is None or of.p90 is None else f"{_short(of.p50)} / {_short(of.p90)}"


def _short(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s"
