"""Figures of a period: how long people took with what they were asked, as a page and as a table for spreadsheets."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from console.runs import FilterError, day_of
from evidence.export.index import csv_of
from runtime.model.metrics import GROUP_COLUMNS, WEEK_COLUMNS, Metrics, WeeklyMetrics, table_row

USUAL = timedelta(days=30)
"""The period where an address names none."""

WEEK_ROWS = 100
"""Rows of the table of figures by week, group and tier on a page."""


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
    """Return the figures by group and tier as CSV."""
    return csv_of(GROUP_COLUMNS, [table_row(one) for one in found.groups])


def weeks_table_of(found: WeeklyMetrics) -> bytes:
    """Return the figures by week, group and tier as CSV."""
    return csv_of(WEEK_COLUMNS, [{**table_row(one), "week": f"{one.week:%Y-%m-%d}"} for one in found.groups])
