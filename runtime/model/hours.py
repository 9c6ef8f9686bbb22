"""Quiet hours: times of the week, by somebody's own clock, in which nobody writes to them. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_DAY = 24 * 60
_WEEK = 7 * _DAY


@dataclass(frozen=True)
class Quiet:
    """On these days from a minute of the day until another; one that is not later is on the day after.

    Minutes count from midnight, 0 to 1440, by the clock on the wall.
    """

    days: tuple[int, ...]  # 0 is Monday
    begins: int
    ends: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Quiet":
        """Read a period that is sound, as a directory says it: `days`, `from` and `until` as HH:MM."""
        days = tuple(DAYS.index(day) for day in document["days"])
        return cls(days, minutes(document["from"]), minutes(document["until"]))

    @property
    def lasts(self) -> int:
        """Return how many minutes of the clock on the wall it takes."""
        return self.ends - self.begins + (_DAY if self.ends <= self.begins else 0)


@dataclass(frozen=True)
class Hours:
    """Somebody's quiet hours, by the clock of a zone."""

    zone: ZoneInfo
    quiet: Sequence[Quiet]

    def open_at(self, moment: datetime) -> datetime:
        """Return the first moment, not before this one, that is in no quiet hours; there is one in every week."""
        while ends := [end for begin, end in self._near(moment) if begin <= moment < end]:
            moment = max(ends)
        return moment

    def _near(self, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the periods that begin on the day of a moment, or on the day before, or after, by that clock."""
        today = moment.astimezone(self.zone).date()
        for day in (today + timedelta(days=shift) for shift in (-1, 0, 1)):
            for one in self.quiet:
                if day.weekday() in one.days:
                    yield min(self._moments(day, one.begins)), max(self._moments(day, one.begins + one.lasts))

    def _moments(self, day: date, minute: int) -> list[datetime]:
        """Return when the clock shows that minute: on a day that it is changed, that may be twice, or between two.

        Quiet hours take in both, so that a change of the clock never makes them shorter.
        """
        day, minute = day + timedelta(days=minute // _DAY), minute % _DAY
        shown = datetime.combine(day, time(minute // 60, minute % 60), tzinfo=self.zone)
        return [shown.replace(fold=fold).astimezone(UTC) for fold in (0, 1)]


def minutes(text: str) -> int:
    """Return the minute of the day that HH:MM names; raise ValueError. 24:00 is the end of the day."""
    if text == "24:00":
        return _DAY
    moment = time.fromisoformat(text)
    if len(text) != len("HH:MM"):
        raise ValueError(f"{text} is not HH:MM")
    return moment.hour * 60 + moment.minute


def leaves_room(quiet: Sequence[Quiet]) -> bool:
    """Return whether there is an hour in a week that is in none of the periods: somebody can be told something."""
    taken = {
        (day * _DAY + minute) % _WEEK
        for one in quiet
        for day in one.days
        for minute in range(one.begins, one.begins + one.lasts)
    }
    return _WEEK - len(taken) >= 60  # noqa: PLR2004 - minutes of an hour
