"""Gives the leaves of a tenant their places in its Merkle log, once they are committed.

It never skips: what a transaction wrote names itself in the same transaction (`log_pending`), and is taken out of there
by the one that gives it its place. It waits for no writer and blocks none: what is committed late comes later. One at a
time works on a log, whoever it is; the others find it locked and go.
"""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.store import log_places as store
from runtime.store.database.pool import AWAY

MOST = 2000
"""Transactions' leaves that are given their places at once."""
PAUSE = 0.1
"""Seconds between two looks: what comes meanwhile shares a commit, and who finds the log locked does not insist."""
REST = 0.1
"""Seconds after which a sequencer that nobody told of anything looks again."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sequencer:
    """Works on the log of the engine's tenant."""

    engine: Engine
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self) -> int:
        """Give what is committed its place; return how many leaves that were."""
        tenant = self.engine.tenant
        async with self.engine.pool.connection() as conn, conn.transaction():
            before = await store.lock_range(conn, tenant)
            spans = await store.take_pending(conn, tenant, MOST) if before is not None else []
            if before is None or not spans:
                return 0
            growth = before.append(one for span in spans for one in span.hashes)
            await store.keep_growth(conn, tenant, before.size, spans, growth)
            at(Point.LOG_SEQUENCING)
        at(Point.LOG_SEQUENCED)
        return growth.range.size - before.size

    async def run(self) -> None:
        """Go on until told to stop."""
        told = self.engine.wakeup.leaves
        while not self._stopping.is_set():
            told.clear()
            if not await self._safely():
                with suppress(TimeoutError):
                    async with asyncio.timeout(REST):
                        await told.wait()
            await asyncio.sleep(PAUSE)

    def stop(self) -> None:
        """Have `run` return when what is under way has ended."""
        self._stopping.set()
        self.engine.wakeup.leaves.set()

    async def _safely(self) -> int:
        """A fault must not end it: what has no place yet keeps waiting for one."""
        try:
            return await self()
        except (*AWAY, psycopg.Error, OSError) as error:
            log.warning("leaves were not put into the log, and will be: %s", error)
        await asyncio.sleep(1)
        return 0
