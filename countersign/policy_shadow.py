"""Runs a shadow: a candidate policy is asked about each decision soon after it was made, in a process of its own.

It reads the decisions of the tenant's log and can slow no run down but by the CPU and the database that it shares: it
runs at the lowest priority. What it falls behind by is shown; nothing is left out.
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

SECONDS = 20.0
"""How long a set of decisions may take: a candidate that hangs has no answer for any of it."""
PAUSE = 5.0
"""Seconds between two looks at the log, and at the folder: to start `opa` costs as much as a hundred decisions."""

log = logging.getLogger(__name__)


@dataclass
class ShadowRunner:
    """A candidate in a folder that is followed: once it changes, and is fit to be served, a new window begins."""

    settings: Settings
    opa: Path
    folders: PolicyFolders
    tell: Callable[[Window], None] = lambda _: None
    seconds: float = SECONDS
    pause: float = PAUSE
    _refused: str = ""

    async def run(self) -> None:
        """Ask until cancelled; raise PolicyError where the candidate is not fit at first, and OperateError."""
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
        """Ask about what is in the log until the folder has another text; return the digest of that."""
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
        """Return the digest of what is in the folder now, "" where that is no policy: it may be being saved."""
        try:
            return read_policy(self.folders).digest
        except PolicyError:
            return ""

    async def _newest(self, candidate: Candidate, digest: str) -> Candidate:
        """Return the changed candidate, or the one before if that cannot be served; it is then not vetted again."""
        try:
            return await vetted(self.opa, self.folders, self.seconds)
        except PolicyError as error:
            self._refused = digest
            log.warning("the changed candidate is invalid, the one before is asked: %s", error)
            return candidate


def _judged(candidate: Candidate, rows: Sequence[dict[str, Any]]) -> list[JudgedDecision]:
    """Judge decisions; where the candidate cannot be asked, as one that hangs, none of them has an answer."""
    try:
        return candidate.judge(rows)
    except OperateError as error:
        return without_answers(rows, str(error))
