"""The one place where the wall clock is read; everything else is handed the time."""

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


class SharedClock:
    """The machine's clock, set right by the database's: processes on many machines agree about leases and deadlines."""

    def __init__(self, machine: Clock = utc_now) -> None:
        self.machine = machine
        self._offset = timedelta(0)

    def __call__(self) -> datetime:
        """Return the present moment as the database would tell it."""
        return self.machine() + self._offset

    def correct(self, asked: datetime, told: datetime, answered: datetime) -> None:
        """Take over the time `told` for a question that was `asked` and `answered` at these moments of the machine."""
        self._offset = told - (asked + (answered - asked) / 2)
