"""The counter at which evidence is collected: finished runs, their stories, and where their bundles are kept."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from receipts.chain import EVIDENCE_BEGUN
from receipts.signing import SigningKey
from runtime.definitions.model import Retry
from runtime.desk.keys import signs
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.model.json_limits import error_text
from runtime.model.messages import EvidenceSealed
from runtime.model.states import RunStatus
from runtime.outbox import messages, retry
from runtime.store import approvals
from runtime.store.database.pool import Conn
from runtime.store.evidence import bundles as stored
from runtime.store.evidence.bundles import BundleLease
from runtime.store.evidence.forgetting import forget_run
from runtime.store.evidence.story import Story, read_story

__all__ = ["BundleLease", "EvidenceDesk", "KeptBundle", "Story"]

PAUSES = Retry(1, "exponential", timedelta(seconds=1), timedelta(minutes=15))
"""How long a bundle that could not be stored waits: tried again at once, then ever more slowly, and never dropped."""


@dataclass(frozen=True)
class KeptBundle:
    """A stored bundle: digest in hexadecimal, size in bytes, and where the archive has it, until when."""

    sha256: str
    size: int
    location: str
    version_id: str | None
    retention_until: datetime | None


@dataclass(frozen=True)
class EvidenceDesk:
    """Hands out what is to be sealed, and takes word of what was stored."""

    engine: Engine

    async def next_bundle(self, lease: timedelta, key: SigningKey, held: Sequence[str]) -> BundleLease | None:
        """Return a run to seal within the lease, with one of the keys that are `held`, or None.

        What is begun is begun with `key`, unless another has followed it.
        """
        async with self.engine.pool.connection() as conn:
            await self._begin(conn, key)
            leased = await stored.lease_bundle(conn, self.engine.tenant, lease, held)
        if leased is not None:
            at(Point.BUNDLE_BEGUN)
        return leased

    async def _begin(self, conn: Conn, key: SigningKey) -> None:
        """Begin the bundles of runs that are ready, each with the leaf that is its bundle's last."""
        engine, key_id = self.engine, key.public.key_id
        async with conn.transaction():
            run_ids = await stored.next_over(conn, engine.tenant)
            if not run_ids or not await signs(conn, engine.tenant, key, engine.clock()):
                return
            for tx in (await engine.lock_runs(conn, run_ids, wait=True)).values():
                tx.leaf(EVIDENCE_BEGUN, {"key_id": key_id})
                await tx.flush()
            await stored.open_bundles(conn, run_ids, key_id)
            at(Point.BUNDLE_BEGINNING)

    async def forget(self, run_id: str) -> None:
        """Take out of the run's rows what nobody may see: its steps are done with it."""
        async with self.engine.run_tx(run_id) as tx:
            await forget_run(tx)
            at(Point.BUNDLE_FORGETTING)
        at(Point.BUNDLE_FORGOT)

    async def story(self, run_id: str) -> Story:
        """Return the run's records up to its sealing, in one consistent view."""
        return await asyncio.to_thread(read_story, self.engine.dsn, run_id)

    async def mark_failed(self, lease: BundleLease, error: str) -> timedelta:
        """Keep why a try failed; return the pause before the next."""
        pause = retry.delay(PAUSES, lease.tries, self.engine.jitter())
        async with self.engine.pool.connection() as conn:
            await stored.mark_failed(conn, lease.run_id, error_text(self.engine.privacy.text(error)), pause)
        at(Point.BUNDLE_FAILED)
        return pause

    async def mark_stored(self, run_id: str, bundle: KeptBundle) -> None:
        """Keep where the bundle is, once, and say so in the run's thread.

        A run that went well and asked nobody has none, and is not worth a word: a channel takes one a second.
        """
        async with self.engine.run_tx(run_id) as tx:
            if await stored.mark_stored(tx.conn, run_id, vars(bundle)):
                facts = {name: value for name, value in vars(bundle).items() if name != "retention_until"}
                tx.leaf("evidence.sealed", facts)
                thread = await approvals.last_card_of_run(tx.conn, run_id)
                if thread or tx.status is not RunStatus.SUCCEEDED:
                    name = await messages.run_name(tx)
                    said = EvidenceSealed(run=name, status=tx.status, sha256=bundle.sha256)
                    await messages.tell_thread(self.engine, tx, thread, "sealed", said)
            at(Point.BUNDLE_STORING)
        at(Point.BUNDLE_STORED)
        self.engine.wakeup.poke()
