"""Charts of figures: to scale, without a line where there is nothing, bounded, and never told by colour alone."""

import re
from datetime import UTC, date, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from console.charts import HEIGHT, LOAD_LEFT, WIDTH, bar_chart, line_chart, load_of
from console.figure_pictures import MOST_GROUPS, MOST_PEOPLE, MOST_WEEKS, pictures_of, weeks_between
from console.scales import COUNTS, DURATIONS, pace_of
from runtime.model.metrics import GroupWeek, PersonMetrics, Spread, WeeklyMetrics, WeekTotals

MONDAY = date(2026, 1, 5)
WEEKS = [MONDAY + timedelta(weeks=number) for number in range(5)]
SINCE, UNTIL = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 2, 9, tzinfo=UTC)


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", path)]


def group_week(
    group: str = "compliance", tier: str = "high", week: date = MONDAY, asked: int = 1, p50: float = 60.0
) -> GroupWeek:
    return GroupWeek(week, group, tier, asked, 0, Spread(p50 / 2, p50), Spread(p50, p50), 0, 0, 0)


def person(name: str, waiting: int = 0, approved: int = 0, rejected: int = 0) -> PersonMetrics:
    return PersonMetrics(name, name, [], waiting, 0, approved, rejected, Spread(None, None))


def test_a_line_is_to_scale_and_has_a_corner_for_each_week() -> None:
    chart = line_chart("t", WEEKS[:3], {"look": {WEEKS[0]: 0, WEEKS[1]: 50, WEEKS[2]: 100}}, 100, str, COUNTS)
    (line,) = chart.lines
    (first, middle, last) = points(line.path)
    assert round(middle[0] - first[0], 1) == round(last[0] - middle[0], 1)
    assert round((first[1] - middle[1]) / (first[1] - last[1]), 2) == 0.5
    assert [says for _, says in chart.ticks] == ["0", "50", "100"]
    assert [y for y, _ in chart.ticks][-1] == last[1]


def test_a_line_is_broken_where_a_week_has_nothing_and_a_lonely_week_keeps_its_mark() -> None:
    chart = line_chart("t", WEEKS, {"look": {WEEKS[0]: 1, WEEKS[1]: 2, WEEKS[3]: 3}}, 3, str, COUNTS)
    (line,) = chart.lines
    parts = line.path.split("M ")[1:]
    assert [len(points(part)) for part in parts] == [2, 2]
    lonely = points(parts[1])
    assert lonely[0] == lonely[1]


def test_what_was_never_counted_has_no_bars_and_what_was_has_one_a_week() -> None:
    assert bar_chart("t", WEEKS, dict.fromkeys(WEEKS, 0), COUNTS).bars == ""
    assert bar_chart("t", WEEKS, {}, COUNTS).bars == ""
    assert bar_chart("t", WEEKS, {WEEKS[1]: 3, WEEKS[2]: 0, WEEKS[4]: 1}, COUNTS).bars.count("M ") == 2


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=53))
def test_nothing_stands_outside_of_a_chart(counts: list[int]) -> None:
    weeks = [MONDAY + timedelta(weeks=number) for number in range(len(counts))]
    values = dict(zip(weeks, counts, strict=True))
    lines = line_chart("t", weeks, {"look": values}, max(counts), str, DURATIONS)
    found = points(lines.lines[0].path) + points(bar_chart("t", weeks, values, COUNTS).bars)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in found)
    assert all(0 <= y <= HEIGHT for y, _ in lines.ticks)
    assert len(lines.ticks) <= 6


@given(st.floats(1, 1e10), st.integers(1, 10))
def test_ticks_are_few_unless_nothing_reaches_so_far(most: float, ticks: int) -> None:
    pace = pace_of(most, ticks, DURATIONS)
    assert most / pace <= ticks or pace == DURATIONS[-1]


def test_weeks_begin_on_mondays_and_are_no_more_than_their_bound() -> None:
    assert weeks_between(datetime(2026, 1, 7, 12, tzinfo=UTC), datetime(2026, 1, 19, tzinfo=UTC)) == WEEKS[:2]
    assert weeks_between(datetime(2026, 1, 7, tzinfo=UTC), datetime(2026, 1, 19, 1, tzinfo=UTC)) == WEEKS[:3]
    many = weeks_between(datetime(2000, 1, 1, tzinfo=UTC), UNTIL)
    assert (len(many), many[-1]) == (MOST_WEEKS, date(2026, 2, 2))
    assert {week.weekday() for week in many} == {0}


def test_a_group_has_a_chart_for_each_tier_with_the_same_scale() -> None:
    rows = [group_week(tier="high", p50=3600), group_week(tier="low", p50=60)]
    found = pictures_of(WeeklyMetrics(rows, []), [], SINCE, UNTIL)
    ((name, charts),) = found.groups
    assert (name, [chart.title for chart in charts]) == ("compliance", ["low tier", "high tier"])
    assert charts[0].ticks == charts[1].ticks
    assert [line.kind for line in charts[0].lines] == ["look", "decision"]


def test_groups_that_were_asked_most_come_first_and_the_others_are_counted() -> None:
    rows = [group_week(f"g{number}", asked=number + 1) for number in range(MOST_GROUPS + 2)]
    found = pictures_of(WeeklyMetrics(rows, []), [], SINCE, UNTIL)
    assert found.groups[0][0] == f"g{MOST_GROUPS + 1}"
    assert (len(found.groups), found.more_groups) == (MOST_GROUPS, 2)


def test_each_kind_of_event_has_a_chart_of_its_own() -> None:
    totals = [WeekTotals(MONDAY, asked=5, reminders=4, escalations=3, break_glass_used=0, expired=1)]
    found = pictures_of(WeeklyMetrics([], totals), [], SINCE, UNTIL)
    assert {chart.title: bool(chart.bars) for chart in found.totals} == {
        "Asked": True,
        "Reminders": True,
        "Escalations": True,
        "Break-glass": False,
        "Expired": True,
    }


def test_a_week_before_those_that_are_shown_is_left_out_of_pictures() -> None:
    early = group_week(week=date(2001, 1, 1), p50=10**9)
    found = pictures_of(WeeklyMetrics([early, group_week(p50=60)], []), [], datetime(2000, 1, 1, tzinfo=UTC), UNTIL)
    assert found.since == weeks_between(datetime(2000, 1, 1, tzinfo=UTC), UNTIL)[0]
    ((_, (chart,)),) = found.groups
    assert chart.ticks[-1][1] == "1 min"


def test_bars_of_a_person_stand_behind_each_other_to_one_scale() -> None:
    rows = load_of([("Ann", {"waiting": 1, "approved": 3}), ("Ben", {"rejected": 8})])
    ann, ben = rows
    assert [bar.kind for bar in ann.bars] == ["waiting", "approved"]
    assert ann.bars[0].x == LOAD_LEFT
    assert ann.bars[1].x == ann.bars[0].x + ann.bars[0].width
    assert round(ben.bars[0].width / ann.bars[1].width, 1) == round(8 / 3, 1)
    assert ben.bars[0].x + ben.bars[0].width <= WIDTH


def test_people_who_have_most_to_do_come_first_and_the_others_are_counted() -> None:
    people = [person(f"p{number:02}", approved=number) for number in range(MOST_PEOPLE + 3)]
    found = pictures_of(WeeklyMetrics([], []), people, SINCE, UNTIL)
    assert found.people[0].name == f"p{MOST_PEOPLE + 2:02}"
    assert (len(found.people), found.more_people) == (MOST_PEOPLE, 2)  # who has nothing to do is none of them
