"""The rule of windows: whether an effect may begin at a moment, and when it next may. Values in, values out.

A moment is in a window where the clock on the wall of the zone shows a time in it. So a time that the clock leaves out
on a day is in no window that day, and one that it shows twice is in it both times.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta, tzinfo

from runtime.model.delivery import Quiet
from runtime.model.requirement import ExecuteWhen

_DAYS_AHEAD = 15
"""Each day of the week comes twice in so many days: what one change of the clock leaves out is found a week later."""
_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)


def is_open(when: ExecuteWhen, moment: datetime) -> bool:
    """Return whether an effect may begin at a moment, however long ago it was approved."""
    if when.not_before is not None and moment < when.not_before:
        return False
    return when.zone is None or any(_shows(window, moment.astimezone(when.zone)) for window in when.between)


def next_opening(when: ExecuteWhen, moment: datetime) -> datetime | None:
    """Return the first moment, not before this one, at which an effect may begin; None where there is none."""
    start = max(moment, when.not_before or moment)
    if when.zone is None or is_open(when, start):
        return start
    found = (one for one in _edges(when, start, when.zone) if one > start and is_open(when, one))
    return min(found, default=None)


def _shows(window: Quiet, shown: datetime) -> bool:
    day, minute = shown.weekday(), shown.hour * 60 + shown.minute
    if window.begins < window.ends:
        return day in window.days and window.begins <= minute < window.ends
    eve = (day - 1) % 7
    return (day in window.days and minute >= window.begins) or (eve in window.days and minute < window.ends)


def _edges(when: ExecuteWhen, start: datetime, zone: tzinfo) -> Iterator[datetime]:
    """Yield the moments at which a window may open: where the clock shows when it begins, and where it is changed."""
    today = start.astimezone(zone).date()
    for day in (today + timedelta(days=ahead) for ahead in range(_DAYS_AHEAD)):
        for window in when.between:
            shown = datetime.combine(day, time(window.begins // 60, window.begins % 60), tzinfo=zone)
            yield from (shown.replace(fold=fold).astimezone(UTC) for fold in (0, 1))
    yield from _changes(start, zone)


def _changes(start: datetime, zone: tzinfo) -> Iterator[datetime]:
    """Yield the minutes from which on the clock of the zone is another hour ahead than in the minute before."""
    hour = start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    for later in (hour + _HOUR * ahead for ahead in range(_DAYS_AHEAD * 24)):
        if _ahead(later, zone) != _ahead(later + _HOUR, zone):
            minutes = (later + _MINUTE * nth for nth in range(1, 61))
            yield next(one for one in minutes if _ahead(one, zone) != _ahead(one - _MINUTE, zone))


def _ahead(moment: datetime, zone: tzinfo) -> timedelta | None:
    return moment.astimezone(zone).utcoffset()
