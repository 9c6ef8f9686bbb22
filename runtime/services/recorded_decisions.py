"""Recorded policy decisions of all tenants of a database, selected and read in sets.

They are read in read-only transactions, even if the login may write.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from runtime.store import recorded_decisions as store
from runtime.store.database.pool import Conn
from runtime.store.recorded_decisions import Selected

__all__ = ["RecordedDecisions", "Selected"]

Key = tuple[str, int]
"""Run id and leaf number of a decision; decisions are sorted by it."""


class RecordedDecisions:
    """Reads decisions over a connection of its own."""

    def __init__(self, conn: Conn) -> None:
        self._conn = conn

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Run the block in a read-only transaction."""
        async with self._conn.transaction():
            await self._conn.execute("SET TRANSACTION READ ONLY")
            yield

    async def select(self, since: datetime | None, until: datetime, sample: int | None) -> tuple[Selected, int]:
        """Select the decisions of a period, or a fixed sample of them; return also their number."""
        async with self.reading():
            period = Selected(since, until)
            cutoff = await store.find_cutoff(self._conn, period, sample) if sample else None
            selected = Selected(since, until, cutoff)
            return selected, await store.count_decisions(self._conn, selected)

    async def behind(self, key: Key | None, selected: Selected, limit: int) -> list[dict[str, Any]]:
        """Return the selected decisions behind a key, as rows with tenant and recorded document."""
        async with self.reading():
            return await store.read_decisions(self._conn, selected, key, limit)
