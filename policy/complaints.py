"""Word on the log of what goes wrong again and again: at once, and then once a minute with its count."""

import logging
import time
from collections.abc import Callable

EVERY = 60.0
"""Seconds between two lines."""


class Complaints:
    """One kind of trouble. `clock` gives seconds that only ever grow."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._said_at = float("-inf")
        self._since = 0

    def say(self, what: str) -> None:
        """Log it, or count it where the last line is less than a minute old."""
        self._since += 1
        now = self._clock()
        if now - self._said_at < EVERY:
            return
        times = f" ({self._since} times since this was last said)" if self._since > 1 else ""
        self._log.warning("%s%s", what, times)
        self._said_at, self._since = now, 0
