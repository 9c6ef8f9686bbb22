"""Weekly metrics of requests: those that were made in each week, by group and tier, and in all."""

from datetime import datetime
from typing import Any

from runtime.model.metrics import GroupWeek, WeeklyMetrics, WeekTotals
from runtime.store.database.pool import Conn
from runtime.store.metrics import ASKED, spread_of

_WEEK = "date_trunc('week', requested_at AT TIME ZONE 'UTC')::date"
_GROUPS = f"""{ASKED}
    SELECT {_WEEK} AS week, "group", tier, count(*) AS asked, count(*) FILTER (WHERE status = 'expired') AS expired,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY to_look) AS first_look,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY to_decide) AS decision,
           sum(reminders)::int AS reminders, sum(escalations)::int AS escalations,
           sum(break_glass_used)::int AS break_glass_used
      FROM each GROUP BY 1, 2, 3 ORDER BY 1, 2, array_position(ARRAY['low', 'medium', 'high'], tier)
"""  # noqa: S608 - our own clauses
_TOTALS = f"""{ASKED}
    SELECT {_WEEK} AS week, count(*) AS asked, sum(reminders)::int AS reminders, sum(escalations)::int AS escalations,
           sum(break_glass_used)::int AS break_glass_used, count(*) FILTER (WHERE status = 'expired') AS expired
      FROM asked GROUP BY 1 ORDER BY 1
"""  # noqa: S608 - our own clauses


async def count_weeks(conn: Conn, tenant: str, since: datetime, until: datetime) -> WeeklyMetrics:
    """Return the metrics of the requests made from one moment until before another, week by week."""
    given = {"tenant": tenant, "since": since, "until": until, "groups": None}
    groups = await conn.rows(_GROUPS, given)
    totals = await conn.rows(_TOTALS, given)
    return WeeklyMetrics([_group(row) for row in groups], [WeekTotals(**row) for row in totals])


def _group(row: dict[str, Any]) -> GroupWeek:
    return GroupWeek(**{**row, **{name: spread_of(row[name]) for name in ("first_look", "decision")}})
