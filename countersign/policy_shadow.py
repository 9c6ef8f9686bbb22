"""Runs a shadow: asks a candidate policy about each new decision, in a separate process.

It reads decisions from the tenant's audit log; no run waits for it. It shares only CPU and database with them, and runs
at the lowest priority. It may fall behind, and skips nothing.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from countersign.candidate import Candidate, vetted, without_answers
from countersign.connection import DatabaseError, connected
from countersign.foreseen_errors import OperateError
from countersign.no_network import no_network
from countersign.settings import Settings
from policy.backtest.judging import JudgedDecision
from policy.bundle import PolicyFolders, read_policy
from policy.errors import PolicyError
from runtime.clock import utc_now
from runtime.services.policy_shadows import PolicyShadows, ShadowEndedError, Window

SECONDS = 20
"""CPU time for a set of decisions; if it needs more, each of them counts as `no-answer`."""
PAUSE = 5.0
"""Seconds between two reads of the log and the folder; starting `opa` costs as much as a hundred decisions."""

log = logging.getLogger(__name__)


@dataclass
class ShadowRunner:
    """Runs a shadow of the candidate in a folder; a valid change of the folder begins a new window."""

    settings: Settings
    opa: Path
    folders: PolicyFolders
    tell: Callable[[Window], None] = lambda _: None
    seconds: int = SECONDS
    pause: float = PAUSE
    _refused: str = ""

    async def run(self) -> None:
        """Run until cancelled. Raise PolicyError if the candidate is invalid, OperateError if another begins."""
        candidate = await vetted(self.opa, self.folders, self.seconds)
        while True:
            try:
                async with connected(self.settings) as conn:
                    shadows = PolicyShadows(conn, self.settings.tenant, utc_now)
                    with no_network():
                        while True:
                            candidate = await self._newest(candidate, await self._follow(shadows, candidate))
            except ShadowEndedError as error:
                raise OperateError(str(error)) from error
            except (DatabaseError, psycopg.OperationalError) as error:
                log.warning("the shadow waits for the database: %s", error)
                await asyncio.sleep(self.pause)

    async def _follow(self, shadows: PolicyShadows, candidate: Candidate) -> str:
        """Ask about new decisions until the folder changes; return the new digest."""
        window = await shadows.open(candidate.text.digest)
        self.tell(window)
        known = ("", candidate.text.digest, self._refused)
        while (digest := await asyncio.to_thread(self._digest)) in known:
            while (found := await shadows.next(window)).end > window.next_place:
                judged = await asyncio.to_thread(_judged, candidate, found.rows)
                window = await shadows.keep(window, found.end, judged)
                self.tell(window)
            await asyncio.sleep(self.pause)
        return digest

    def _digest(self) -> str:
        """Return the digest of the folder, "" if it is no valid policy, such as while files are being saved."""
        try:
            return read_policy(self.folders).digest
        except PolicyError:
            return ""

    async def _newest(self, candidate: Candidate, digest: str) -> Candidate:
        """Return the changed candidate; if it is invalid, remember that and return the previous one."""
        try:
            return await vetted(self.opa, self.folders, self.seconds)
        except PolicyError as error:
            self._refused = digest
            log.warning("the changed candidate is invalid, the one before is asked: %s", error)
            return candidate


def _judged(candidate: Candidate, rows: Sequence[dict[str, Any]]) -> list[JudgedDecision]:
    """Judge decisions; if the candidate cannot be asked or hangs, all of them are `no-answer`."""
    try:
        return candidate.judge(rows)
    except OperateError as error:
        return without_answers(rows, str(error))
