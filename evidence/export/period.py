"""Periods of whole days in UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from evidence.errors import EvidenceError

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class PeriodError(EvidenceError):
    """What was given is no day, or no period; the message says what and why."""


@dataclass(frozen=True)
class Period:
    """From the first day to the last, both included."""

    first: date
    last: date

    @property
    def since(self) -> datetime:
        """Return the first moment."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def until(self) -> datetime:
        """Return the first moment after it."""
        return end_of(self.last)


def period(first: str, last: str) -> Period:
    """Return the period from one day to another, or raise PeriodError."""
    found = Period(day(first), day(last))
    if found.first > found.last:
        raise PeriodError(f"{first} is after {last}")
    return found


def day(text: str) -> date:
    """Return the day that is written as YYYY-MM-DD, or raise PeriodError."""
    if not _DAY.fullmatch(text):
        raise PeriodError(f"{text!r} is not written as a day: YYYY-MM-DD, such as 2026-03-31")
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise PeriodError(f"there is no day {text}: {error}") from error


def end_of(last: date) -> datetime:
    """Return the first moment after a day; raise PeriodError after the last day that there is."""
    try:
        return datetime.combine(last + timedelta(days=1), time(), UTC)
    except OverflowError as error:
        raise PeriodError(f"there is no day after {last}") from error
