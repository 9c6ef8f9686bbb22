"""Chains of several runs, read in one view of the database, to which nothing changes meanwhile."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

from receipts.chain import in_place
from runtime.store.database.pool import Conn

_AT_ONCE = 200
"""Runs whose leaves are read together."""


@asynccontextmanager
async def one_view(conn: Conn) -> AsyncIterator[None]:
    """Have all that is read inside be of one moment."""
    async with conn.transaction():
        await conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


async def read_chains(conn: Conn, run_ids: Sequence[str]) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the leaves of each of these runs that has any."""
    for first in range(0, len(run_ids), _AT_ONCE):
        rows = await (
            await conn.execute(
                "SELECT run_id, seq, hash, leaf FROM audit_leaves WHERE run_id = ANY(%s) ORDER BY run_id, seq",
                (list(run_ids[first : first + _AT_ONCE]),),
            )
        ).fetchall()
        for run_id, own in groupby(rows, key=lambda row: str(row["run_id"])):
            yield run_id, in_place(run_id, ((row["seq"], row["hash"].hex(), row["leaf"]) for row in own))
