"""The one place where the wall clock is read; everything else is handed the time."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Gives the present moment as an aware UTC datetime."""

    def __call__(self) -> datetime:
        """Return the present moment, aware, in UTC."""
        ...


def utc_now() -> datetime:
    """Return the machine's clock, aware, in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - this is the one place


def since_boot() -> float:
    """Return seconds that no setting of the wall clock changes; time asleep counts where the system can tell it."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SharedClock:
    """The database's time, carried on by this machine's time since boot.

    Processes on many machines agree about leases and deadlines, and setting a wall clock by minutes changes nothing.
    """

    def __init__(self, wall: Clock, since_boot: Callable[[], float]) -> None:
        self.since_boot = since_boot
        self._at = wall()  # until the database was asked
        self._since = since_boot()

    def __call__(self) -> datetime:
        """Return the present moment as the database would tell it."""
        return self._at + timedelta(seconds=self.since_boot() - self._since)

    def correct(self, asked: float, told: datetime, answered: float) -> None:
        """Take over the time `told` for a question that was `asked` and `answered` at these seconds since boot."""
        self._at, self._since = told, (asked + answered) / 2
