"""The one place where the wall clock is read; everything else is handed the time."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Gives the present moment as an aware UTC datetime."""

    def __call__(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...


def utc_now() -> datetime:
    """Return the machine's clock, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the one place
