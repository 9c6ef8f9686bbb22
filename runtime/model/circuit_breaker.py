"""Circuit breakers: after failures in a row a target is left alone for a while, then tried with one call."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

FAILURES = 5
"""Failures in a row that open it."""
FORGOTTEN = timedelta(minutes=5)
"""A failure that long ago is not in a row with one of now."""
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(seconds=30)


class BreakerState(StrEnum):
    """Closed lets everything through, open nothing, half-open one call at a time."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True)
class Breaker:
    """Failures in a row, and until when the other side is left alone; None while it is closed."""

    failures: int
    failed_at: datetime
    open_until: datetime | None

    def state(self, now: datetime) -> BreakerState:
        """Return where it stands."""
        if self.open_until is None:
            return BreakerState.CLOSED
        return BreakerState.OPEN if now < self.open_until else BreakerState.HALF_OPEN


def after_failure(before: Breaker | None, now: datetime) -> Breaker:
    """Return the breaker after one more failure; a success needs none."""
    in_row = before is not None and now - before.failed_at < FORGOTTEN
    failures = before.failures + 1 if before is not None and in_row else 1
    if failures < FAILURES:
        return Breaker(failures, now, None)
    pause = min(FIRST_PAUSE * 2 ** min(failures - FAILURES, 10), LONGEST_PAUSE)
    return Breaker(failures, now, now + pause)
