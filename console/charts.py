"""Charts of figures by week, and of people's load: where their lines, marks and bars stand, to be drawn as SVG.

Nothing is told by colour alone: lines have marks and patterns of their own, and each chart of bars shows one thing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from math import ceil

from console.scales import pace_of

WIDTH, HEIGHT = 326, 170
"""Of a chart by week; it fits beside others on a wide screen, and alone on a narrow one."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 24
_TICKS, _WORD = 4, 44
LOAD_LEFT, LOAD_ROW = 120, 24

Values = Mapping[date, float]


@dataclass(frozen=True)
class Line:
    """The values of one kind: a path with a corner for each, broken where weeks have none."""

    kind: str
    path: str


@dataclass(frozen=True)
class Bar:
    """A bar of one kind, and what it says."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    says: str


@dataclass(frozen=True)
class Chart:
    """A chart by week; `ticks` are (y, words), and `weeks` (x, words, side on which these stand).

    It has lines, or a path of bars, which is "" where nothing was counted.
    """

    title: str
    ticks: Sequence[tuple[float, str]]
    weeks: Sequence[tuple[float, str, str]]
    lines: Sequence[Line] = ()
    bars: str = ""


@dataclass(frozen=True)
class _Axes:
    """Where weeks and values stand in a chart."""

    weeks: Sequence[date]
    paces: Sequence[int]
    most: float
    words: Callable[[float], str]

    @property
    def pace(self) -> int:
        return pace_of(max(self.most, 1), _TICKS, self.paces)

    @property
    def top(self) -> float:
        return max(ceil(self.most / self.pace), 1) * self.pace

    @property
    def step(self) -> float:
        return (WIDTH - _LEFT - _RIGHT) / len(self.weeks)

    def x(self, week: date) -> float:
        """Return the middle of a week."""
        return round(_LEFT + self.step * (self.weeks.index(week) + 0.5), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - _BOTTOM - value / self.top * (HEIGHT - _TOP - _BOTTOM), 1)

    def chart(self, title: str, lines: Sequence[Line] = (), bars: str = "") -> Chart:
        """Return a chart with its ticks, and with the first and the last week named."""
        values = [self.pace * number for number in range(int(self.top / self.pace) + 1)]
        ends = [(self.x(week), day_words(week)) for week in dict.fromkeys((self.weeks[0], self.weeks[-1]))]
        sides = [(x, words, "end" if x > WIDTH - _WORD / 2 else "middle") for x, words in ends]
        return Chart(title, [(self.y(value), self.words(value)) for value in values], sides, lines, bars)


def day_words(day: date) -> str:
    """Return a day as charts have it."""
    return f"{day.day} {day:%b}"


def line_chart(
    title: str,
    weeks: Sequence[date],
    values: Mapping[str, Values],
    most: float,
    words: Callable[[float], str],
    paces: Sequence[int],
) -> Chart:
    """Return a chart with a line for each kind of values, which reaches up to the `most`."""
    axes = _Axes(weeks, paces, most, words)
    return axes.chart(title, lines=[_line(axes, kind, own) for kind, own in values.items()])


def _line(axes: _Axes, kind: str, values: Values) -> Line:
    parts = [list(own) for has, own in groupby(axes.weeks, key=lambda week: week in values) if has]
    points = [[f"{axes.x(week):g},{axes.y(values[week]):g}" for week in part] for part in parts]
    # a value between weeks without any is a line of no length, so that it has a mark
    return Line(kind, " ".join(f"M {part[0]} L {' '.join(part[1:] or part)}" for part in points))


def bar_chart(title: str, weeks: Sequence[date], values: Values, paces: Sequence[int]) -> Chart:
    """Return a chart with a bar for each week in which something was counted."""
    axes = _Axes(weeks, paces, max(values.values(), default=0), lambda value: f"{value:g}")
    width = round(max(axes.step * 0.7, 2), 1)
    bars = [
        f"M {axes.x(week) - width / 2:.1f},{axes.y(0):g} V {axes.y(values[week]):g} h {width:g} V {axes.y(0):g} Z"
        for week in weeks
        if values.get(week)
    ]
    return axes.chart(title, bars=" ".join(bars))


@dataclass(frozen=True)
class Load:
    """A person's load: a row of bars, one for each kind of count."""

    y: float
    name: str
    total: int
    bars: Sequence[Bar]


def load_of(people: Sequence[tuple[str, Mapping[str, int]]]) -> list[Load]:
    """Return the rows of people by the counts of their load; the bars of a row stand behind each other."""
    most = max((sum(counts.values()) for _, counts in people), default=0) or 1
    scale = (WIDTH - LOAD_LEFT - 34) / most
    rows = []
    for number, (name, counts) in enumerate(people):
        x, bars = float(LOAD_LEFT), []
        for kind, count in counts.items():
            width = count * scale
            bars.append(Bar(round(x, 1), LOAD_ROW * number + 5, round(width, 1), 14, kind, f"{count} {kind}"))
            x += width
        rows.append(Load(LOAD_ROW * number, name, sum(counts.values()), bars))
    return rows
