"""The counter at which time stamps over the audit log's checkpoints are kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from receipts.log.proofs import consistency_proof
from runtime.engine import Engine
from runtime.services.log import from_tiles, read_tile
from runtime.store import bundles, stamps
from runtime.store.database.pool import Conn
from runtime.store.stamps import Stamped, unstamped_since

__all__ = ["NoStampError", "StampDesk", "Stamped", "first_after", "unstamped_since"]


class NoStampError(Exception):
    """No stamp is over a run's leaves yet; the message says why."""


async def first_after(conn: Conn, tenant: str, run_id: str) -> tuple[Stamped, Sequence[bytes]]:
    """Return the first stamped checkpoint that is over a run's bundle, and the growth of the log from the bundle's.

    Raise NoStampError, or LogChangedError.
    """
    size = await bundles.log_size(conn, tenant, run_id)
    if size is None:
        raise NoStampError(f"no bundle of {run_id} stands in the log yet")
    stamped = await stamps.first_stamped(conn, tenant, size)
    if stamped is None:
        raise NoStampError(f"no checkpoint of {size} leaves or more has a time stamp yet")
    growth = await from_tiles(
        partial(read_tile, conn, tenant), stamped.size, lambda node: consistency_proof(node, size, stamped.size)
    )
    return stamped, growth


@dataclass(frozen=True)
class StampDesk:
    """Tells which checkpoints have stamps, and keeps those that come."""

    engine: Engine

    async def newest(self) -> Stamped | None:
        """Return the largest checkpoint that has a stamp."""
        async with self.engine.pool.connection() as conn:
            return await stamps.newest_stamped(conn, self.engine.tenant)

    async def keep(self, size: int, stamp: bytes, asked_at: datetime) -> None:
        """Put the stamp of the checkpoint of this size on record, unless it has one."""
        async with self.engine.pool.connection() as conn:
            await stamps.keep_stamp(conn, self.engine.tenant, size, stamp, asked_at)

    async def unpublished(self) -> list[Stamped]:
        """Return what does not stand in the archive yet, in order."""
        async with self.engine.pool.connection() as conn:
            return await stamps.unpublished_stamps(conn, self.engine.tenant)

    async def mark_published(self, size: int) -> None:
        """Note that the stamp of the checkpoint of this size stands in the archive."""
        async with self.engine.pool.connection() as conn:
            await stamps.mark_stamp_published(conn, self.engine.tenant, size, self.engine.clock())
