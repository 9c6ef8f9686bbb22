"""How fast we speak: about one message a second into a channel, a few at once, and not at all where Slack said wait."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from runtime.handlers import NotTakenError

PER_SECOND, BURST = 1.0, 5
PATIENCE = 5.0
"""Seconds that a call may wait for its turn; what has to wait longer comes back later."""

_IDLE = 600.0


@dataclass
class _Channel:
    """`level` messages may go at once, as of `at`; none before `closed_until`. Seconds of a monotonic clock."""

    level: float
    at: float
    closed_until: float = 0.0


class Pace:
    """The turns of one process's messages, by channel. What Slack says about one of them holds for all."""

    def __init__(self, now: Callable[[], float], sleep: Callable[[float], Awaitable[None]]) -> None:
        self._now = now
        self._sleep = sleep
        self._channels: dict[str, _Channel] = {}

    async def open(self, channel: str) -> None:
        """Wait until Slack lets anything into a channel; raise NotTakenError where that takes too long."""
        known = self._channels.get(channel)
        await self._wait(known.closed_until - self._now() if known else 0.0, "Slack asked to wait with this channel")

    async def turn(self, channel: str) -> None:
        """Wait for the turn to post into a channel; raise NotTakenError where that takes too long."""
        await self.open(channel)
        now = self._now()
        self._forget(now)
        turns = self._channels.setdefault(channel, _Channel(BURST, now))
        level = min(BURST, turns.level + (now - turns.at) * PER_SECOND)
        wait = (1 - level) / PER_SECOND
        if wait <= PATIENCE:
            turns.level, turns.at = level - 1, now  # this turn is taken, though its time may be still to come
        await self._wait(wait, "too many messages at once for this channel")

    async def _wait(self, seconds: float, why: str) -> None:
        if seconds > PATIENCE:
            raise NotTakenError(why, seconds)
        if seconds > 0:
            await self._sleep(seconds)

    def close(self, channel: str, seconds: float) -> None:
        """Take Slack's word that nothing may go into a channel for so long."""
        now = self._now()
        bucket = self._channels.setdefault(channel, _Channel(BURST, now))
        bucket.closed_until = max(bucket.closed_until, now + seconds)

    def _forget(self, now: float) -> None:
        """Drop channels that have been silent."""
        idle = [name for name, one in self._channels.items() if max(one.at, one.closed_until) < now - _IDLE]
        for name in idle:
            del self._channels[name]


def machine_pace() -> Pace:
    """Return the pace of this process, by the event loop's clock."""
    return Pace(lambda: asyncio.get_running_loop().time(), asyncio.sleep)
