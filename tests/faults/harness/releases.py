"""Those who want versions of the policy in force, one after another, or two at once, and sometimes the one before."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress

import psycopg

from runtime.services.policy_versions import VersionRefusedError
from tests.faults.harness.schedule import Move, Release
from tests.faults.world.policies import PolicyVersions
from tests.faults.world.world import World

_PATIENT = 8.0
"""Seconds after which nobody waits for a version any more, and something else is wished for."""
_AGAIN = 0.5
_OPEN = "SELECT 1 FROM runs WHERE definition_name LIKE 'countersign-%%-policy' AND finished_at IS NULL"
_OTHERS = """
    SELECT version FROM policy_versions
     WHERE version <> (SELECT version FROM policy_activations ORDER BY number DESC LIMIT 1)
     ORDER BY version DESC LIMIT 1
"""
_AWAY = (psycopg.Error, OSError, TimeoutError)


class Releases:
    """One after another, by the schedule; what the database does not take is not wished for again."""

    def __init__(self, world: World, versions: PolicyVersions) -> None:
        self._world, self._versions = world, versions
        self._does: dict[Move, Callable[[], Awaitable[None]]] = {
            Move.NEW: self._new,
            Move.OLD: self._old,
            Move.BACK: versions.rollback,
            Move.BOTH: self._both,
        }

    async def play(self, releases: Iterator[Release]) -> None:
        """Wish for what the schedule says, for ever."""
        for release in releases:
            await asyncio.sleep(release.pause)
            await self.do(release.move)

    async def do(self, move: Move, patience: float = _PATIENT) -> None:
        """Wish for something, and wait so many seconds at most until nothing is open."""
        with suppress(*_AWAY, VersionRefusedError):
            await self._does[move]()
        until = time.monotonic() + patience
        while time.monotonic() < until and await self._is_open():
            await asyncio.sleep(_AGAIN)

    async def _new(self) -> None:
        await self._versions.activate(await self._versions.propose())

    async def _old(self) -> None:
        for row in await self._world.rows(_OTHERS):
            await self._versions.activate(row["version"])

    async def _both(self) -> None:
        versions = [await self._versions.propose() for _ in range(2)]
        await asyncio.gather(*map(self._versions.activate, versions))

    async def _is_open(self) -> bool:
        """Return whether a change is under way; so it is where that cannot be seen just now."""
        with suppress(*_AWAY):
            await asyncio.sleep(_AGAIN)  # a wish becomes a run within a moment
            wishes = "SELECT 1 FROM notifications WHERE kind LIKE '%%_policy' AND status = 'received'"
            return bool(await self._world.rows(f"{_OPEN} UNION ALL {wishes}"))
        return True
