"""Whether a process can do its work just now, for the probe: the details are for the log, not for whoever asks."""

import asyncio
import logging
from collections.abc import Callable

import psycopg

from countersign.doctor.database import TOO_FAR, examined
from countersign.system import System
from policy.contract import PolicyUnavailableError
from runtime.model.limits import first_line
from runtime.services import health as inspection
from runtime.services import policy_versions

PATIENCE = 3.0
FRESH = 0.5
"""Seconds for which an answer is given again: whoever asks is not known, and must not make work for the parts."""

log = logging.getLogger(__name__)


class Readiness:
    """Looks at database, policy and Slack; `slack` says what is wrong there, and nothing where this process has none.

    Whether it is ready is logged when it changes, not when it is asked.
    """

    def __init__(self, system: System, slack: Callable[[], list[str]]) -> None:
        self._system = system
        self._slack = slack
        self._faults: dict[str, str] = {}
        self._passed = ""  # the digest of the policy that was examined last, and answered
        self._looked_at = float("-inf")
        self._round_trip = 0.0  # seconds to the database and back, when it was looked at last
        self._looking = asyncio.Lock()

    async def __call__(self) -> list[str]:
        """Return the names of the parts that are not in order."""
        async with self._looking:
            now = asyncio.get_running_loop().time()
            if now - self._looked_at > FRESH:
                self._tell(await self._look())
                self._looked_at = now
        return list(self._faults)

    def counts(self) -> dict[str, int]:
        """Return the milliseconds to the database and back, where clicks cannot be counted in time because of them."""
        return {"database_round_trip_ms": round(self._round_trip * 1000)} if self._round_trip >= TOO_FAR else {}

    async def _look(self) -> dict[str, str]:
        database, policy = await asyncio.gather(self._database(), self._policy())
        why = {"database": database, "policy": policy, "slack": "; ".join(self._slack())}
        return {part: text for part, text in why.items() if text}

    async def _database(self) -> str:
        try:
            async with self._system.engine.pool.connection(timeout=PATIENCE) as conn, asyncio.timeout(PATIENCE):
                await inspection.try_write(conn)
                self._note(await inspection.measure_round_trip(conn))
        except (psycopg.Error, OSError) as error:
            return first_line(error) or type(error).__name__
        return ""

    def _note(self, took: float) -> None:
        """Keep how far away the database is; say so in the log when it has become too far."""
        if took >= TOO_FAR > self._round_trip:
            log.warning("the database is too far away for clicks to be counted in time: %d ms", took * 1000)
        self._round_trip = took

    async def _policy(self) -> str:
        engine = self._system.engine
        try:
            self._passed = await examined(engine.policy, self._system.settings.tenant, engine.clock(), self._passed)
        except PolicyUnavailableError as error:
            return str(error)
        return await self._not_in_force(self._passed)

    async def _not_in_force(self, served: str) -> str:
        """Say that another policy than the served one is in force: no answer of this one counts."""
        try:
            async with self._system.engine.pool.connection(timeout=PATIENCE) as conn, asyncio.timeout(PATIENCE):
                there = await policy_versions.in_force(conn)
        except (psycopg.Error, OSError):  # the database is a part by itself
            return ""
        if there is None or there.digest == served:
            return ""
        return f"OPA serves {served}, and policy version {there.version} is in force, {there.digest}"

    def _tell(self, faults: dict[str, str]) -> None:
        for part, why in faults.items():
            if part not in self._faults:
                log.warning("not ready: %s: %s", part, why)
        if self._faults and not faults:
            log.info("ready again")
        self._faults = faults
