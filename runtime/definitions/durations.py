"""ISO 8601 durations of fixed length."""

import re
from datetime import timedelta

import isodate

LONGEST = timedelta(days=36525)

_FIXED = re.compile(
    r"P(?:\d{1,5}W|(?=[\dT])(?:\d{1,6}D)?(?:T(?=\d)(?:\d{1,6}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:\.\d{1,3})?S)?)?)"
)
_CALENDAR = re.compile(r"P[^T]*\d[YM].*")


def parse_duration(text: str) -> timedelta:
    """Return the duration that `text` says, or raise ValueError saying what is wrong with it."""
    if not _FIXED.fullmatch(text):
        why = "years and months have no fixed length" if _CALENDAR.fullmatch(text) else "write it like P14D or PT30S"
        raise ValueError(f"'{text}' is not a duration: {why}")
    duration = isodate.parse_duration(text)
    if not timedelta(0) < duration <= LONGEST:
        raise ValueError(f"'{text}' is not a duration: it must be longer than nothing and at most a century")
    return timedelta(seconds=duration.total_seconds())


def parse_days(text: str) -> int:
    """Return the whole days that a duration lasts, or raise ValueError saying what is wrong with it."""
    duration = parse_duration(text)
    if duration % timedelta(days=1):
        raise ValueError(f"'{text}' is not a number of days: write it like P90D or P52W")
    return duration.days


def format_duration(duration: timedelta) -> str:
    """Return the one way in which `duration` is written in a canonical definition."""
    return str(isodate.duration_isoformat(duration))
