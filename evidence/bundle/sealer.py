"""Seals finished runs: reads the run's story, builds the bundle, stores it, and says so in the thread."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from evidence.archive.archive import Archive, Stored
from evidence.bundle.attestation import attest, attestation_of, file_of
from evidence.bundle.build import Sealed, build
from evidence.bundle.dossier import Dossier
from evidence.bundle.ring import KeyRing
from evidence.errors import EvidenceError
from evidence.notary import Notary
from evidence.statement import sha256
from receipts.signing import SigningKey
from runtime.desk.evidence import EvidenceDesk, KeptBundle
from runtime.failpoints import Point, at

LEASE = timedelta(minutes=2)
"""How long a worker may take; one that is lost meanwhile leaves the bundle to others after that."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sealer:
    """A worker's job: one finished run at a time."""

    desk: EvidenceDesk
    archive: Archive
    ring: KeyRing
    notary: Notary

    async def __call__(self) -> int:
        """Seal what is ready; return how many bundles were stored."""
        keys = await asyncio.to_thread(self.ring.keys)
        lease = await self.desk.next_bundle(LEASE, keys.current, keys.ids)
        if lease is None:
            return 0
        try:
            await self._seal(lease.run_id, keys.of(lease.key_id))
        except Exception as error:  # whatever it is stands with the run, and it is tried again
            text = " ".join((str(error) if isinstance(error, EvidenceError) else repr(error)).split())
            pause = await self.desk.mark_failed(lease, text)
            said = "bundle of %s not stored (try %d), again in %.0f s: %s"
            unforeseen = not isinstance(error, EvidenceError)
            logger.warning(said, lease.run_id, lease.tries, pause.total_seconds(), text, exc_info=unforeseen)
            return 0
        return 1

    async def dossier(self, run_id: str) -> Dossier:
        """Return what the bundle of a run is built from whose sealing has begun: the same every time."""
        story = await self.desk.story(run_id)
        is_in_format_1 = story.run is not None
        return Dossier(**vars(story), log=None if is_in_format_1 else await self.notary.proof(run_id))

    async def _seal(self, run_id: str, key: SigningKey) -> None:
        await self.desk.forget(run_id)
        dossier = await self.dossier(run_id)
        sealed, stored = await asyncio.to_thread(self._store, run_id, dossier, key)
        bundle = KeptBundle(sealed.sha256, len(sealed.data), stored.location, stored.version_id, stored.retention_until)
        await self.desk.mark_stored(run_id, bundle)

    def _store(self, run_id: str, dossier: Dossier, key: SigningKey) -> tuple[Sealed, Stored]:
        sealed = build(dossier, key)
        at(Point.ARCHIVE_PUTTING)
        stored = self.archive.put(file_of(run_id), sealed.data, sealed.sha256)
        said = attest(sealed, run_id, self.desk.engine.tenant, key)
        self.archive.put(attestation_of(run_id), said, sha256(said))
        at(Point.ARCHIVE_PUT)
        return sealed, stored
