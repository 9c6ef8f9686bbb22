"""Decisions of policy on record, of all tenants of a database: which are meant, and what they say, set by set.

They are read in transactions that cannot write, whatever the login of the connection may do.
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
"""The run of a decision, and the number of the leaf that names it: their order is that of decisions."""


class RecordedDecisions:
    """Reads decisions over one connection, which is nobody else's."""

    def __init__(self, conn: Conn) -> None:
        self._conn = conn

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Do what the block does in a transaction that PostgreSQL lets write nothing."""
        async with self._conn.transaction():
            await self._conn.execute("SET TRANSACTION READ ONLY")
            yield

    async def select(self, since: datetime | None, until: datetime, sample: int | None) -> tuple[Selected, int]:
        """Return the decisions of a period, or a sample of at most so many, always the same; and their number."""
        async with self.reading():
            period = Selected(since, until)
            cutoff = await store.find_cutoff(self._conn, period, sample) if sample else None
            selected = Selected(since, until, cutoff)
            return selected, await store.count_decisions(self._conn, selected)

    async def behind(self, key: Key | None, selected: Selected, limit: int) -> list[dict[str, Any]]:
        """Return the next decisions of these behind a key, each with its tenant and what is on record of it."""
        async with self.reading():
            return await store.read_decisions(self._conn, selected, key, limit)
