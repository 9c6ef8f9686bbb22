"""Sealing: finished runs are collected with all that their bundles need, and where each bundle is kept is recorded."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from receipts.chain import EVIDENCE_BEGUN
from receipts.signing import SigningKey
from runtime.definitions.model import Retry
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.model.limits import error_text
from runtime.model.messages import EvidenceSealed, EvidenceStuck
from runtime.model.states import RunStatus
from runtime.outbox import messages, retry
from runtime.services.keys import signs
from runtime.store import bundles as stored
from runtime.store import legal_holds
from runtime.store.batched_reads import Batcher, with_fallback_to_single
from runtime.store.bundles import BundleLease
from runtime.store.cards import last_cards_of_runs
from runtime.store.database.pool import AWAY, Conn
from runtime.store.payload_forgetting import forget_runs
from runtime.store.run_history import Story, read_run_histories
from runtime.store.run_tx import RunTx

__all__ = [
    "BundleLease",
    "Story",
]


PAUSES = Retry(1, "exponential", timedelta(seconds=1), timedelta(minutes=15))
"""How long a bundle that could not be stored waits: tried again at once, then ever more slowly, and never dropped."""


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class KeptBundle:
    """A stored bundle: digest in hexadecimal, size in bytes, and where the archive has it, until when."""

    sha256: str
    size: int
    location: str
    version_id: str | None
    retention_until: datetime | None


MOST_FAULTS = 12
"""After so many faults of our own, an hour or so apart from the first to the last, a bundle is stuck."""


@dataclass(frozen=True)
class Setback:
    """Why a try failed. `is_final`: trying again cannot help. `is_fault`: nobody foresaw it, so it is our own.

    `in_the_way` is where the archive has something else under the bundle's name, if that is why.
    """

    error: str
    is_final: bool
    is_fault: bool
    in_the_way: str | None


def is_away(error: Exception) -> bool:
    """Return whether a failure is the database's, which is away and comes back."""
    return isinstance(error, AWAY)


@dataclass(frozen=True)
class SealingService:
    """Hands out what is to be sealed, and takes word of what was stored."""

    engine: Engine
    unfit: dict[str, datetime] = field(default_factory=dict)  # runs whose bundle could not begin, and until when

    async def next_bundles(self, lease: timedelta, key: SigningKey, held: Sequence[str]) -> list[BundleLease]:
        """Return runs to seal within the lease, each with one of the keys that are `held`.

        What is begun is begun with `key`, unless another has followed it.
        """
        async with self.engine.pool.connection() as conn:
            await self._begin(conn, key)
            leased = await stored.lease_bundles(conn, self.engine.tenant, lease, held)
        if leased:
            at(Point.BUNDLE_BEGUN)
        return leased

    async def _begin(self, conn: Conn, key: SigningKey) -> None:
        """Begin the bundles of runs that are ready; one that cannot begin holds up no other, and is left a while."""
        now, run_ids = self.engine.clock(), list[str]()
        left = [run_id for run_id, until in self.unfit.items() if until > now]
        try:
            async with conn.transaction():
                run_ids += await stored.next_over(conn, self.engine.tenant, left)
                await self._begin_these(conn, key, run_ids)
        except AWAY:
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it is one of them, and the others are not to wait
            for run_id in run_ids:
                await self._begin_alone(conn, key, run_id)

    async def _begin_alone(self, conn: Conn, key: SigningKey, run_id: str) -> None:
        try:
            async with conn.transaction():
                await self._begin_these(conn, key, await stored.lock_over(conn, run_id))
        except AWAY:
            raise
        except Exception:
            self.unfit[run_id] = self.engine.clock() + PAUSES.max_delay
            log.exception("the bundle of %s cannot begin, and is tried again", run_id)

    async def _begin_these(self, conn: Conn, key: SigningKey, run_ids: Sequence[str]) -> None:
        """Begin the bundles of locked runs, each with the leaf that is its bundle's last."""
        engine, key_id = self.engine, key.public.key_id
        if not run_ids or not await signs(conn, engine.tenant, key, engine.clock()):
            return
        runs = await engine.lock_runs(conn, run_ids, wait=True)
        for tx in runs.values():
            tx.leaf(EVIDENCE_BEGUN, {"key_id": key_id})
            await tx.flush()
        retained = {run_id: (await tx.definition()).retain_days for run_id, tx in runs.items()}
        await stored.open_bundles(conn, retained, key_id)
        at(Point.BUNDLE_BEGINNING)

    @cached_property
    def forget(self) -> Batcher[str, None]:
        """Return what takes out of a run's rows what nobody may see: its steps are done with it."""
        return Batcher(with_fallback_to_single(self._forget_all), most=stored.MOST_BUNDLES, at_once=1)

    async def _forget_all(self, run_ids: Sequence[str]) -> Sequence[None]:
        async with self.engine.pool.connection() as conn, conn.transaction():
            runs = await self.engine.lock_runs(conn, run_ids, wait=True)
            await forget_runs(conn, runs)
            for tx in runs.values():
                await tx.flush()
            at(Point.BUNDLE_FORGETTING)
        at(Point.BUNDLE_FORGOT)
        return [None] * len(run_ids)

    @cached_property
    def story(self) -> Batcher[str, Story]:
        """Return what gives a run's records up to its sealing, in one consistent view, read together with others'."""
        return Batcher(with_fallback_to_single(self._stories), most=stored.MOST_BUNDLES, at_once=1)

    async def _stories(self, run_ids: Sequence[str]) -> Sequence[Story | LookupError]:
        found = await asyncio.to_thread(read_run_histories, self.engine.dsn, run_ids)
        return [found.get(run_id) or LookupError(f"no bundle of {run_id} was begun") for run_id in run_ids]

    async def mark_failed(self, lease: BundleLease, setback: Setback) -> timedelta | None:
        """Keep why a try failed; return the pause before the next, or None where there is none: it is stuck."""
        error, faults = error_text(self.engine.privacy.text(setback.error)), lease.faults + setback.is_fault
        is_stuck = setback.is_final or faults >= MOST_FAULTS
        pause = None if is_stuck else retry.delay(PAUSES, lease.tries, self.engine.jitter())
        if pause is None:
            await self._give_up(lease.run_id, error, faults, setback.in_the_way)
        else:
            async with self.engine.pool.connection() as conn:
                await stored.mark_failed(conn, lease.run_id, error, pause, faults)
        at(Point.BUNDLE_FAILED)
        return pause

    async def _give_up(self, run_id: str, error: str, faults: int, in_the_way: str | None) -> None:
        """Let the bundle be until somebody acts, put that on record, and tell those who can."""
        engine = self.engine
        async with engine.run_tx(run_id) as tx:
            if await stored.mark_stuck(tx.conn, run_id, error, faults, in_the_way):
                number = tx.leaf("evidence.stuck", {"error": error, "in_the_way": in_the_way})
                said = EvidenceStuck(run=await messages.run_name(tx), run_id=run_id, why=error)
                groups = list(engine.routing.doubt_groups)
                await messages.tell_groups(engine, tx, groups, f"stuck:{number}", said, None)
        engine.wakeup.poke()

    @cached_property
    def mark_stored(self) -> Batcher[tuple[str, KeptBundle], None]:
        """Return what keeps where a run's bundle is, once, and says so in the run's thread.

        A run that went well and asked nobody has none, and is not worth a word: a channel takes one a second.
        """
        return Batcher(with_fallback_to_single(self._mark_all_stored), most=stored.MOST_BUNDLES, at_once=1)

    async def _mark_all_stored(self, kept: Sequence[tuple[str, KeptBundle]]) -> Sequence[None]:
        bundles = dict(kept)
        async with self.engine.pool.connection() as conn, conn.transaction():
            runs = await self.engine.lock_runs(conn, bundles, wait=True)
            new = await stored.mark_all_stored(conn, {run_id: vars(one) for run_id, one in bundles.items()})
            await legal_holds.note_all_stored(conn, self.engine.tenant, new)
            threads = await last_cards_of_runs(conn, new)
            for run_id in sorted(new):
                await self._tell_stored(runs[run_id], bundles[run_id], threads.get(run_id))
                await runs[run_id].flush()
            at(Point.BUNDLE_STORING)
        at(Point.BUNDLE_STORED)
        self.engine.wakeup.poke()
        return [None] * len(kept)

    async def _tell_stored(self, tx: RunTx, bundle: KeptBundle, thread: str | None) -> None:
        tx.leaf("evidence.sealed", {name: value for name, value in vars(bundle).items() if name != "retention_until"})
        if thread or tx.status is not RunStatus.SUCCEEDED:
            name, outcome = await messages.run_name(tx), tx.row["outcome"]
            said = EvidenceSealed(run=name, status=tx.status, outcome=outcome, sha256=bundle.sha256)
            await messages.tell_thread(self.engine, tx, thread, "sealed", said)
