"""Seals finished runs: reads the run's story, builds the bundle, stores it, and says so in the thread."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from evidence.archive.archive import Archive, Stored
from evidence.bundle.build import Sealed, build
from evidence.bundle.dossier import Dossier
from evidence.errors import EvidenceError
from receipts.signing import SigningKey
from runtime.desk.evidence import EvidenceDesk, KeptBundle, Story

LEASE = timedelta(minutes=2)

log = logging.getLogger(__name__)


def seal(story: Story, key: SigningKey) -> Sealed:
    """Build the bundle of a run whose sealing has begun: the same bytes every time."""
    return build(Dossier(**vars(story)), key)


@dataclass(frozen=True)
class Sealer:
    """A worker's job: one finished run at a time."""

    desk: EvidenceDesk
    archive: Archive
    key: SigningKey

    async def __call__(self) -> int:
        """Seal what is ready; return how many bundles were stored."""
        run_id = await self.desk.next_run(LEASE)
        if run_id is None:
            return 0
        story = await self.desk.story(run_id)
        try:
            sealed, stored = await asyncio.to_thread(self._store, run_id, story)
        except EvidenceError as error:
            log.warning("bundle of %s not stored, trying again: %s", run_id, error)
            return 0
        bundle = KeptBundle(sealed.sha256, len(sealed.data), stored.location, stored.version_id, stored.retention_until)
        await self.desk.mark_stored(run_id, bundle)
        return 1

    def _store(self, run_id: str, story: Story) -> tuple[Sealed, Stored]:
        sealed = seal(story, self.key)
        return sealed, self.archive.put(f"{run_id}.zip", sealed.data, sealed.sha256)
