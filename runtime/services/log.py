"""The audit log: its head signed and published, its tiles and entries, and time stamps over its checkpoints."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from receipts.chain import PROGRAM, Actor
from receipts.errors import TileError
from receipts.hashes import HASH_BYTES, NodeSource, TreeHead
from receipts.proofs import consistency_proof, prove_inclusion, verify_consistency
from receipts.tenant_acts import LogKeySeen
from receipts.tiles import TILE_WIDTH, EntryBundle, Tile, bundle_data, check_bundle, nodes_of
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.services.sequencer import Sequencer
from runtime.store import bundles, checkpoints
from runtime.store.batched_reads import Batcher, with_fallback_to_single
from runtime.store.bundles import Begun
from runtime.store.checkpoints import Places, Signed, Stamped, unstamped_since
from runtime.store.database.pool import AWAY, Conn
from runtime.store.database.signals import beside
from runtime.store.tenants import acts_of_votes, put_act

__all__ = [
    "Batcher",
    "Places",
    "Signed",
    "Stamped",
    "unstamped_since",
    "with_fallback_to_single",
]


async def note_key(conn: Conn, tenant: str, key: str, by: Actor, now: datetime) -> None:
    """Put a key that signs the log from now on (vkey) on record, unless it is there already."""
    async with conn.transaction():
        await put_act(conn, tenant, LogKeySeen(key=key), by, now)


T = TypeVar("T")


class LogChangedError(Exception):
    """The tables no longer hold what the log was made of."""


class NotInLogError(Exception):
    """Leaves do not stand in the log yet: they will in a moment."""


class _NotReadError(Exception):
    """A tile is needed that was not read yet."""

    def __init__(self, tile: Tile) -> None:
        super().__init__(tile.path)
        self.tile = tile


@dataclass(frozen=True)
class SealedLeaves:
    """Where the leaves of a run's bundle stand in the log, and which acts of the tenant its votes rest on.

    `acts` are places in the tenant's chain, each with its index in the log. `log_size` is the size of the log that
    proves the bundle, None where none does yet.
    """

    places: Sequence[Places]
    acts: Sequence[tuple[int, int]]
    log_size: int | None

    @property
    def needed(self) -> int:
        """Return how many leaves the log must have that proves them."""
        return max([*(one.first_index + one.count for one in self.places), *(index + 1 for _, index in self.acts)])


def _in_log(
    begun: Begun, places: Sequence[Places], acts: Sequence[tuple[int, int | None]]
) -> SealedLeaves | NotInLogError:
    if sum(one.count for one in places) < begun.sealed_seq:
        return NotInLogError(f"not all of its {begun.sealed_seq} leaves have their places in the log yet")
    if missing := [seq for seq, index in acts if index is None]:
        return NotInLogError(f"leaf {missing[0]} of the tenant's own chain has no place in the log yet")
    return SealedLeaves(places, [(seq, index) for seq, index in acts if index is not None], begun.log_size)


@dataclass(frozen=True)
class Fixed:
    """With what a bundle is proven: the log of a size, its checkpoint (a signed note), and that one's stamp, if any."""

    size: int
    checkpoint: str
    stamp: bytes | None


@dataclass(frozen=True)
class AuditLogService:
    """Tells what is to be signed and published, and keeps what was."""

    engine: Engine

    @property
    def now(self) -> datetime:
        """Return the time."""
        return self.engine.clock()

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[bool]:
        """Give whether the caller signs and publishes in the block; where that fails, the lease runs out."""
        tenant = self.engine.tenant
        async with self.engine.pool.connection() as conn:
            mine = await checkpoints.take_lease(conn, tenant, self.engine.timing.lease)
        if not mine:
            yield False
            return
        async with beside(self._hold()):
            yield True
        async with self.engine.pool.connection() as conn:
            await checkpoints.give_lease_back(conn, tenant)

    async def _hold(self) -> None:
        """Hold the lease, however long the work takes; who cannot say so any more loses it."""
        lasts = self.engine.timing.lease
        while True:
            await asyncio.sleep(lasts.total_seconds() / 3)
            with suppress(*AWAY, OSError):
                async with self.engine.pool.connection() as conn:
                    await checkpoints.extend_lease(conn, self.engine.tenant, lasts)

    async def note_key(self, key: str) -> None:
        """Put a key that signs the log (vkey) on record, unless it is there already."""
        async with self.engine.pool.connection() as conn:
            await note_key(conn, self.engine.tenant, key, PROGRAM, self.engine.clock())

    async def note_fault(self, fault: str) -> None:
        """Keep why the log cannot be signed or published, until it is."""
        async with self.engine.pool.connection() as conn:
            await checkpoints.note_fault(conn, self.engine.tenant, fault)

    async def head(self) -> TreeHead | None:
        """Return size and root as they are committed."""
        async with self.engine.pool.connection() as conn:
            return await checkpoints.read_head(conn, self.engine.tenant)

    async def newest(self, *, published: bool = False) -> Signed | None:
        """Return the newest checkpoint that was signed, or that is published."""
        async with self.engine.pool.connection() as conn:
            return await checkpoints.newest_checkpoint(conn, self.engine.tenant, published=published)

    async def keep(self, head: TreeHead, note: str) -> Signed:
        """Put a signed checkpoint on record; return it, or the one that somebody else has signed of this size."""
        signed = Signed(head, note, self.engine.clock(), is_published=False)
        async with self.engine.pool.connection() as conn, conn.transaction():
            await checkpoints.keep_checkpoint(conn, self.engine.tenant, signed)
            kept = await checkpoints.checkpoint_at(conn, self.engine.tenant, head.size)
            at(Point.LOG_SIGNING)
        at(Point.LOG_SIGNED)
        return replace(signed, note=kept)

    async def mark_published(self, signed: Signed) -> None:
        """Note that a checkpoint, and all that it is over, stands in the archive."""
        async with self.engine.pool.connection() as conn:
            await checkpoints.mark_published(conn, self.engine.tenant, signed.head.size, self.engine.clock())
        at(Point.LOG_PUBLISHED)

    async def sequence(self) -> None:
        """Give what is committed its place in the log, unless somebody else is at it."""
        while await Sequencer(self.engine)():
            pass

    async def leaves_of(self, run_ids: Sequence[str]) -> dict[str, SealedLeaves | NotInLogError]:
        """Return where the leaves of runs' bundles stand, and which acts of the tenant their votes rest on.

        A run gets a NotInLogError as long as not all of that has its places. Raise LookupError where no bundle of one
        was begun.
        """
        async with self.engine.pool.connection() as conn:
            begun = await bundles.begun_bundles(conn, run_ids)
            if missing := set(run_ids) - begun.keys():
                raise LookupError(f"no bundle of {min(missing)} was begun")
            places = await checkpoints.places_of(conn, {run_id: one.sealed_seq for run_id, one in begun.items()})
            acts = await acts_of_votes(conn, self.engine.tenant, run_ids)
        return {run_id: _in_log(one, places[run_id], acts.get(run_id, ())) for run_id, one in begun.items()}

    async def fix_logs(self, sizes: Mapping[str, int]) -> dict[str, Fixed]:
        """Have runs' bundles be proven by the log of these sizes, unless one has its own; return what proves each."""
        tenant = self.engine.tenant
        async with self.engine.pool.connection() as conn:
            fixed = await bundles.fix_log_sizes(conn, tenant, sizes)
            notes = await checkpoints.checkpoints_at(conn, tenant, {size for size, _ in fixed.values()})
        return {run_id: Fixed(size, notes[size], stamp) for run_id, (size, stamp) in fixed.items()}

    async def stamped_sizes(self, least: Collection[int]) -> dict[int, int | None]:
        """Return for each number of leaves the size of the first log that has so many and a stamp, None without one."""
        async with self.engine.pool.connection() as conn:
            return await checkpoints.stamped_sizes(conn, self.engine.tenant, least)

    async def prove(self, wanted: Sequence[Sequence[tuple[int, int]]], size: int) -> list[list[bytes]]:
        """Return proofs that leaves stand in the log of this size: of each set those from these indices on, so many."""
        sets = [sorted(first + step for first, count in places for step in range(count)) for places in wanted]
        makes = [partial(prove_inclusion, indices=one, size=size) for one in sets]
        return await all_from_tiles(self._tile, size, makes)

    async def check_growth(self, old: TreeHead, new: TreeHead) -> None:
        """Raise ProofError unless the log, as the tables have it, has grown from the old one to the new."""
        verify_consistency(old, new, await self.growth(old.size, new.size))

    async def growth(self, old: int, new: int) -> list[bytes]:
        """Return the proof that the log of the new size is the old one, grown."""
        return await self._from_tiles(new, lambda node: consistency_proof(node, old, new))

    async def data(self, place: Tile | EntryBundle) -> bytes:
        """Return what stands at a place of the log; raise LogChangedError where it is not there."""
        if isinstance(place, Tile):
            return await self._tile(place)
        first = place.index * TILE_WIDTH
        async with self.engine.pool.connection() as conn:
            entries = await checkpoints.log_entries(conn, self.engine.tenant, first, first + place.width)
        data = bundle_data(entries)
        try:
            check_bundle(place, data, await self._tile(place.tile))
        except TileError as error:
            raise LogChangedError(str(error)) from error
        return data

    async def _tile(self, tile: Tile) -> bytes:
        async with self.engine.pool.connection() as conn:
            return await read_tile(conn, self.engine.tenant, tile)

    async def _from_tiles(self, size: int, make: Callable[[NodeSource], T]) -> T:
        return await from_tiles(self._tile, size, make)


async def read_tile(conn: Conn, tenant: str, tile: Tile) -> bytes:
    """Return the hashes of a tile; raise LogChangedError where there are fewer than it must have."""
    found = await checkpoints.tile_hashes(conn, tenant, tile.level, tile.index)
    data = found[: tile.width * HASH_BYTES]
    if len(data) < tile.width * HASH_BYTES:
        raise LogChangedError(f"{tile.path} is not as wide as the log says")
    return data


async def from_tiles(read: Callable[[Tile], Awaitable[bytes]], size: int, make: Callable[[NodeSource], T]) -> T:
    """Return what is made of nodes of the log of this size."""
    return (await all_from_tiles(read, size, [make]))[0]


async def all_from_tiles(
    read: Callable[[Tile], Awaitable[bytes]], size: int, makes: Sequence[Callable[[NodeSource], T]]
) -> list[T]:
    """Return what is made of nodes of the log of this size, each tile being read when it turns out to be needed."""
    tiles: dict[Tile, bytes] = {}

    def known(tile: Tile) -> bytes:
        if tile not in tiles:
            raise _NotReadError(tile)
        return tiles[tile]

    node, made = nodes_of(known, size), list[T]()
    while len(made) < len(makes):
        try:
            made.append(makes[len(made)](node))
        except _NotReadError as missing:
            tiles[missing.tile] = await read(missing.tile)
    return made


class NoStampError(Exception):
    """No stamp is over a run's leaves yet; the message says why."""


async def first_after(conn: Conn, tenant: str, run_id: str) -> tuple[Stamped, Sequence[bytes]]:
    """Return the first stamped checkpoint that is over a run's bundle, and the growth of the log from the bundle's.

    Raise NoStampError, or LogChangedError.
    """
    size = await bundles.log_size(conn, tenant, run_id)
    if size is None:
        raise NoStampError(f"no bundle of {run_id} stands in the log yet")
    stamped = await checkpoints.first_stamped(conn, tenant, size)
    if stamped is None:
        raise NoStampError(f"no checkpoint of {size} leaves or more has a time stamp yet")
    growth = await from_tiles(
        partial(read_tile, conn, tenant), stamped.size, lambda node: consistency_proof(node, size, stamped.size)
    )
    return stamped, growth


@dataclass(frozen=True)
class TimestampService:
    """Tells which checkpoints have stamps, and keeps those that come."""

    engine: Engine

    async def newest(self) -> Stamped | None:
        """Return the largest checkpoint that has a stamp."""
        async with self.engine.pool.connection() as conn:
            return await checkpoints.newest_stamped(conn, self.engine.tenant)

    async def keep(self, size: int, stamp: bytes, asked_at: datetime) -> None:
        """Put the stamp of the checkpoint of this size on record, unless it has one."""
        async with self.engine.pool.connection() as conn:
            await checkpoints.keep_stamp(conn, self.engine.tenant, size, stamp, asked_at)

    async def unpublished(self) -> list[Stamped]:
        """Return what does not stand in the archive yet, in order."""
        async with self.engine.pool.connection() as conn:
            return await checkpoints.unpublished_stamps(conn, self.engine.tenant)

    async def mark_published(self, size: int) -> None:
        """Note that the stamp of the checkpoint of this size stands in the archive."""
        async with self.engine.pool.connection() as conn:
            await checkpoints.mark_stamp_published(conn, self.engine.tenant, size, self.engine.clock())
