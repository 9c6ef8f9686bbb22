"""Pictures of the figures: how fast groups answer, what happened by week, and what each person has to do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from console.charts import Chart, Load, bar_chart, line_chart, load_of
from console.scales import COUNTS, DURATIONS
from runtime.model.action import Tier
from runtime.model.metrics import GroupWeek, PersonMetrics, WeeklyMetrics, WeekTotals, duration_words

MOST_WEEKS, MOST_GROUPS, MOST_PEOPLE = 53, 8, 20
"""What pictures show: the last weeks, the groups that were asked most, the people who have most to do."""

_TOTALS: Mapping[str, Callable[[WeekTotals], int]] = {
    "Asked": lambda week: week.asked,
    "Reminders": lambda week: week.reminders,
    "Escalations": lambda week: week.escalations,
    "Break-glass": lambda week: week.break_glass_used,
    "Expired": lambda week: week.expired,
}


@dataclass(frozen=True)
class Pictures:
    """Charts of groups (their name, and one for each tier) and of all requests, and people's load.

    `since` is the first week that is shown; of groups and people that many `more` there are.
    """

    since: date
    groups: Sequence[tuple[str, Sequence[Chart]]]
    more_groups: int
    totals: Sequence[Chart]
    people: Sequence[Load]
    more_people: int


def weeks_between(since: datetime, until: datetime) -> list[date]:
    """Return the Mondays of the last weeks of a period."""
    last = (until - timedelta(microseconds=1)).date()
    first = max(_monday(since.date()), _monday(last) - timedelta(weeks=MOST_WEEKS - 1))
    return [first + timedelta(weeks=number) for number in range((_monday(last) - first).days // 7 + 1)]


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def pictures_of(found: WeeklyMetrics, people: Sequence[PersonMetrics], since: datetime, until: datetime) -> Pictures:
    """Return the pictures of a period."""
    weeks = weeks_between(since, until)
    asked: dict[str, int] = {}
    for one in found.groups:
        asked[one.group] = asked.get(one.group, 0) + one.asked
    groups = sorted(asked, key=lambda group: (-asked[group], group))
    busy = sorted((one for one in people if _load(one)), key=lambda one: -sum(_load(one).values()))
    return Pictures(
        since=weeks[0],
        groups=[(group, _speeds(group, weeks, found.groups)) for group in groups[:MOST_GROUPS]],
        more_groups=max(0, len(groups) - MOST_GROUPS),
        totals=[_total(title, weeks, found.totals) for title in _TOTALS],
        people=load_of([(one.name or one.person, _load(one)) for one in busy[:MOST_PEOPLE]]),
        more_people=max(0, len(busy) - MOST_PEOPLE),
    )


def _speeds(group: str, weeks: Sequence[date], rows: Sequence[GroupWeek]) -> list[Chart]:
    """Return the charts of a group's tiers, which have the same scale."""
    tiers: dict[str, dict[str, dict[date, float]]] = {}
    for one in (one for one in rows if one.group == group and one.week in weeks):
        own = tiers.setdefault(one.tier, {"look": {}, "decision": {}})
        for kind, seconds in (("look", one.first_look.p50), ("decision", one.decision.p50)):
            if seconds is not None:
                own[kind][one.week] = seconds
    most = max((value for own in tiers.values() for kind in own.values() for value in kind.values()), default=0)
    return [
        line_chart(
            f"{tier} tier", weeks, tiers[tier], most, lambda value: duration_words(value) if value else "0", DURATIONS
        )
        for tier in Tier
        if tier in tiers
    ]


def _total(title: str, weeks: Sequence[date], rows: Sequence[WeekTotals]) -> Chart:
    return bar_chart(title, weeks, {one.week: _TOTALS[title](one) for one in rows if one.week in weeks}, COUNTS)


def _load(one: PersonMetrics) -> dict[str, int]:
    """Return what waits for a person and what they did, without what is nothing."""
    counts = {"waiting": one.waiting, "approved": one.approved, "rejected": one.rejected}
    return {kind: count for kind, count in counts.items() if count}
