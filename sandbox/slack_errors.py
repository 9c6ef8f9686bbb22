"""Slack errors and rate limits: how the Web API says no.

Rate tiers are token buckets on a clock that is handed in.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from runtime.clock import Clock


class SlackError(Exception):
    """A method refused: HTTP 200 with ``ok: false``, a code, and messages that name the places."""

    def __init__(self, code: str, *messages: str, **extra: str) -> None:
        super().__init__(code)
        self.code = code
        self.messages = messages
        self.extra = extra


class RateLimitedError(Exception):
    """A method was called too often: HTTP 429 with Retry-After in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"ratelimited for {retry_after} s")
        self.retry_after = retry_after


class WorkspaceError(Exception):
    """A workspace file cannot be used; the text names the file and every place in it."""


TIER_1, TIER_2, TIER_3, TIER_4, GENEROUS = 1, 20, 50, 100, 600


@dataclass(frozen=True)
class Limits:
    """How much is allowed.

    `per_minute` overrides a method's tier. A bucket holds a minute's worth, at least `burst` calls, because Slack
    tolerates short bursts. Posting has a second bucket per channel: one a second, `channel_burst` at once.
    """

    per_minute: Mapping[str, int] = field(default_factory=dict)
    burst: int = 10
    channel_per_second: float = 1.0
    channel_burst: int = 10


@dataclass
class _Bucket:
    level: float
    at: datetime

    def take(self, now: datetime, per_second: float, capacity: float) -> float:
        """Take one token; return 0, or the seconds until there is one."""
        self.level = min(capacity, self.level + (now - self.at).total_seconds() * per_second)
        self.at = now
        if self.level < 1:
            return (1 - self.level) / per_second
        self.level -= 1
        return 0.0


class RateLimiter:
    """Counts calls per method, and posts per channel."""

    def __init__(self, limits: Limits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def call(self, method: str, tier: int) -> None:
        """Count one call of a method or refuse it."""
        per_minute = self._limits.per_minute.get(method, tier)
        self._take(method, per_minute / 60, max(per_minute, self._limits.burst))

    def post(self, channel: str) -> None:
        """Count one message into a channel or refuse it."""
        self._take(f"post:{channel}", self._limits.channel_per_second, self._limits.channel_burst)

    def _take(self, key: str, per_second: float, capacity: float) -> None:
        now = self._clock()
        wait = self._buckets.setdefault(key, _Bucket(capacity, now)).take(now, per_second, capacity)
        if wait:
            raise RateLimitedError(math.ceil(wait))
