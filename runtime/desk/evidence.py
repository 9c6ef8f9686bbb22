"""The counter at which evidence is collected: finished runs, their stories, and where their bundles are kept."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.engine import Engine
from runtime.outbox import messages
from runtime.store import approvals, evidence_bundles
from runtime.store.story import Story, read_story

__all__ = ["EvidenceDesk", "KeptBundle", "Story"]


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

    async def next_run(self, lease: timedelta) -> str | None:
        """Return a run to seal within the lease, or None."""
        now = self.engine.clock()
        async with self.engine.pool.connection() as conn:
            await evidence_bundles.open_bundles(conn, now)
            return await evidence_bundles.lease_bundle(conn, now, now + lease)

    async def story(self, run_id: str) -> Story:
        """Return the run's records up to its sealing, in one consistent view."""
        return await asyncio.to_thread(read_story, self.engine.dsn, run_id)

    async def mark_stored(self, run_id: str, bundle: KeptBundle) -> None:
        """Keep where the bundle is, once, and say so in the run's thread."""
        async with self.engine.run_tx(run_id) as tx:
            if await evidence_bundles.mark_stored(tx.conn, run_id, vars(bundle), tx.now):
                facts = {name: value for name, value in vars(bundle).items() if name != "retention_until"}
                tx.leaf("evidence.sealed", facts)
                thread = await approvals.last_card_of_run(tx.conn, run_id)
                text = f"Run {run_id} has ended: {tx.status}. Evidence sealed. SHA-256: {bundle.sha256}"
                await messages.tell_thread(self.engine, tx, thread, "sealed", text)
        self.engine.wakeup.poke()
