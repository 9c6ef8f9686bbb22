"""Moments between which the times of limits can tell: of the week, and before and after a limit begins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from policy.limit_model import DAY, DAYS, Limit, TimeOfWeek, open_minutes
from policy.limit_values import TooManyCellsError, Value

_EPOCH = datetime(2026, 1, 5, tzinfo=UTC)
_LONG = timedelta(days=17)
"""Within it every time of the week comes, even if one is left out where clocks change."""
MOST_MOMENTS = 20_000


@dataclass(frozen=True)
class _Period:
    """From one moment, inclusive, until another: all limits that begin have begun by then, or none within it does."""

    start: datetime
    end: datetime | None
    words: str


def moments(limits: Sequence[Limit]) -> Iterator[tuple[Value, list[bool]]]:
    """Yield moments, each with whether it lets these limits hold, in their order; none if time does not matter."""
    times = [limit.when.time for limit in limits]
    begins = sorted({limit.effective_from for limit in limits if limit.effective_from})
    if not begins and not any(times):
        return
    zones = sorted({one.time_zone for one in times if one})
    opened = [open_minutes(one.between) if one else 0 for one in times]
    cuts = {zone: _cuts(zone, times) for zone in zones}
    if sum(map(len, cuts.values())) * _LONG.days * (len(begins) + 1) > MOST_MOMENTS:
        raise TooManyCellsError
    for period in _periods(begins):
        for at, zone in _within(period, cuts):
            text = at.strftime("%Y-%m-%dT%H:%M:%SZ")
            clocks = {name: _minute(at.astimezone(ZoneInfo(name))) for name in zones}
            held = [
                (limit.effective_from or "") <= text and (one is None or bool(minutes >> clocks[one.time_zone] & 1))
                for limit, one, minutes in zip(limits, times, opened, strict=True)
            ]
            yield Value(text, " ".join(filter(None, (_clock(at, zone), period.words)))), held


def _periods(begins: Sequence[str]) -> Iterator[_Period]:
    cuts = [datetime.fromisoformat(one) for one in begins]
    if not cuts:
        yield _Period(_EPOCH, None, "")
        return
    for before, after, end in zip([None, *begins], [*begins, None], [*cuts, None], strict=True):
        start = datetime.fromisoformat(before) if before else cuts[0] - _LONG
        words = [f"from {before} on"] if before else []
        yield _Period(start, end, " and ".join([*words, *([f"before {after}"] if after else [])]))


def _within(period: _Period, cuts: Mapping[str, Sequence[time]]) -> Iterator[tuple[datetime, str]]:
    """Yield the first moment of a period, and each at which a window begins or ends, with the zone of its clock."""
    yield period.start, next(iter(cuts), "")
    end = min(period.end or period.start + _LONG, period.start + _LONG)
    for zone, clocks in cuts.items():
        first = period.start.astimezone(ZoneInfo(zone)).date()
        for day in range(_LONG.days + 1):
            for cut in clocks:
                at = datetime.combine(first + timedelta(days=day), cut, ZoneInfo(zone)).astimezone(UTC)
                if period.start < at < end:
                    yield at, zone


def _cuts(zone: str, times: Sequence[TimeOfWeek | None]) -> list[time]:
    """Return the times of the day at which a window begins or ends; windows until 24:00 end with the day."""
    windows = [window for one in times if one and one.time_zone == zone for window in one.between]
    named = {text for window in windows for text in (window.since, window.until)}
    return sorted({time.fromisoformat(text) for text in named - {"24:00"}} | {time(0)})


def _minute(clock: datetime) -> int:
    """Return the minute of the week."""
    return clock.weekday() * DAY + clock.hour * 60 + clock.minute


def _clock(at: datetime, zone: str) -> str:
    if not zone:
        return ""
    clock = at.astimezone(ZoneInfo(zone))
    return f"{DAYS[clock.weekday()]} {clock:%H:%M} {zone}"
