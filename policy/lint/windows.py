"""Times of the week in which an effect may begin, as the configuration has them: how long they are, and how far apart.

They are counted by the clock on the wall: a change of the clock, which lasts an hour, is not looked at.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = 24 * 60
WEEK = 7 * _DAY
"""Minutes of a week."""
_UNITS = {"D": 86400, "H": 3600, "M": 60, "S": 1}


def seconds(duration: str) -> int:
    """Return how long a duration of the configuration is: `P3D`, `PT8H`, `PT30M` or `PT10S`."""
    return int(duration.strip("PTDHMS")) * _UNITS[duration[-1]]


def spoken(minutes: int) -> str:
    """Return so many minutes in words."""
    parts = (minutes // _DAY, "days"), (minutes % _DAY // 60, "hours"), (minutes % 60, "minutes")
    said = [f"{count} {unit if count > 1 else unit[:-1]}" for count, unit in parts if count]
    return " and ".join(said) or "0 minutes"


def open_minutes(between: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the minutes of the week, from Monday on, in which some window is open."""
    found: set[int] = set()
    for window in between:
        begins, ends = _minute(window["from"]), _minute(window["until"])
        lasts = (ends - begins) if ends > begins else ends - begins + _DAY
        for day in map(_DAYS.index, window["days"]):
            found.update((day * _DAY + begins + after) % WEEK for after in range(lasts))
    return found


def longest_wait(minutes: set[int]) -> int:
    """Return for how many minutes at most no window is open; there is one."""
    places = sorted(minutes)
    following = [*places[1:], places[0] + WEEK]
    return max(after - before - 1 for before, after in zip(places, following, strict=True))


def _minute(clock: str) -> int:
    hours, minutes = clock.split(":")
    return int(hours) * 60 + int(minutes)
