"""Seals finished runs: reads the run's story, builds the bundle, stores it, and says so in the thread."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from evidence.archive import Archive, Stored
from evidence.bundle import Sealed, build
from evidence.dossier import Dossier
from evidence.errors import EvidenceError
from receipts.signing import SigningKey
from runtime import chat
from runtime.engine import Engine
from runtime.store import approvals
from runtime.store import evidence as store
from runtime.store.evidence import Story, read_story
from runtime.store.run_tx import run_tx

LEASE = timedelta(minutes=2)

log = logging.getLogger(__name__)


def seal(dsn: str, run_id: str, key: SigningKey) -> Sealed:
    """Build the bundle of a run whose sealing has begun: the same bytes every time."""
    return build(_dossier(read_story(dsn, run_id)), key)


def _dossier(story: Story) -> Dossier:
    return Dossier(**vars(story))


@dataclass(frozen=True)
class Sealer:
    """A worker's job: one finished run at a time."""

    engine: Engine
    archive: Archive
    key: SigningKey

    async def __call__(self) -> int:
        """Seal what is ready; return how many bundles were stored."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn:
            await store.open_bundles(conn, now)
            run_id = await store.lease_bundle(conn, now, now + LEASE)
        if run_id is None:
            return 0
        try:
            sealed, stored = await asyncio.to_thread(self._store, run_id)
        except EvidenceError as error:
            log.warning("bundle of %s not stored, trying again: %s", run_id, error)
            return 0
        await self._announce(run_id, sealed, stored)
        return 1

    def _store(self, run_id: str) -> tuple[Sealed, Stored]:
        sealed = seal(self.engine.dsn, run_id, self.key)
        return sealed, self.archive.put(f"{run_id}.zip", sealed.data, sealed.sha256)

    async def _announce(self, run_id: str, sealed: Sealed, stored: Stored) -> None:
        facts = {
            "sha256": sealed.sha256,
            "size": len(sealed.data),
            "location": stored.location,
            "version_id": stored.version_id,
        }
        async with self.engine.pool.connection() as conn, run_tx(conn, run_id, self.engine.clock()) as tx:
            kept = {**facts, "retention_until": stored.retention_until}
            if await store.bundle_stored(conn, run_id, kept, tx.now):
                tx.leaf("evidence.sealed", facts)
                thread = await approvals.last_card_of_run(conn, run_id)
                text = f"Run {run_id} has ended: {tx.status}. Evidence sealed. SHA-256: {sealed.sha256}"
                await chat.tell_thread(self.engine, tx, thread, "sealed", text)
        self.engine.wakeup.poke()
