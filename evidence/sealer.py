"""Seals finished runs: reads the run's story, builds the bundle, stores it, and says so in the thread."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta

from evidence.archive import Archive, ArchiveConflictError, Stored
from evidence.build import Dossier, DossierError, Sealed, attest, attestation_of, build, file_of
from evidence.errors import EvidenceError
from evidence.key_ring import KeyRing, Keys
from evidence.notary import Notary
from evidence.statement import sha256
from receipts.signing import SigningKey
from runtime.failpoints import Point, at
from runtime.services.sealing import BundleLease, KeptBundle, SealingService, Setback, is_away

LEASE = timedelta(minutes=2)
"""How long a worker may take; one that is lost meanwhile leaves the bundle to others after that."""
THREADS = 4
"""Bundles that are built and stored at a time."""
TOGETHER = 0.25
"""Seconds: what is stored within them is recorded together, and waits for no bundle that takes longer."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Sealer:
    """A worker's job: what is ready is sealed together, and each run by itself where it fails."""

    desk: SealingService
    archive: Archive
    ring: KeyRing
    notary: Notary
    threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, "sealer")
    )  # of its own: an archive that hangs must hold up nothing else that a process does in threads

    async def __call__(self) -> int:
        """Seal what is ready; return how many bundles were stored. Raise where a failure could not be kept."""
        keys = await asyncio.to_thread(self.ring.keys)
        leases = await self.desk.next_bundles(LEASE, keys.current, keys.ids)
        recorded: list[bool | BaseException] = []
        async with asyncio.TaskGroup() as group:
            sealing = {group.create_task(self._sealed(lease, keys)): lease for lease in leases}
            while sealing:
                ended, _ = await asyncio.wait(sealing, timeout=TOGETHER)
                recording = [self._recorded(sealing.pop(task), task.result()) for task in ended]
                recorded += await asyncio.gather(*recording, return_exceptions=True)
        for one in recorded:  # none goes on when this raises
            if isinstance(one, BaseException):
                raise one
        return sum(map(bool, recorded))

    async def _sealed(self, lease: BundleLease, keys: Keys) -> KeptBundle | Exception:
        """Return where the bundle of a run was stored, or why it was not."""
        try:
            return await self._seal(lease, keys.of(lease.key_id))
        except Exception as error:  # noqa: BLE001 - whatever it is stands with the run
            return error

    async def _recorded(self, lease: BundleLease, ended: KeptBundle | Exception) -> bool:
        """Put on record what came of a bundle; return whether it is stored."""
        if not isinstance(ended, Exception):
            try:
                await self.desk.mark_stored((lease.run_id, ended))
            except Exception as error:  # noqa: BLE001 - it, too, stands with the run
                ended = error
            else:
                return True
        await self._failed(lease, ended)
        return False

    async def _failed(self, lease: BundleLease, error: Exception) -> None:
        """Have it tried again, or somebody told where that cannot help."""
        setback = setback_of(error)
        pause = await self.desk.mark_failed(lease, setback)
        shown = error if setback.is_fault else None
        if pause is None:
            logger.error("bundle of %s is stuck (try %d): %s", lease.run_id, lease.tries, setback.error, exc_info=shown)
        else:
            said = "bundle of %s not stored (try %d), again in %.0f s: %s"
            logger.warning(said, lease.run_id, lease.tries, pause.total_seconds(), setback.error, exc_info=shown)

    async def dossier(self, run_id: str) -> Dossier:
        """Return what the bundle of a run is built from whose sealing has begun: the same every time."""
        story = await self.desk.story(run_id)
        return Dossier(**vars(story), log=await self.notary.proof(run_id))

    async def _seal(self, lease: BundleLease, key: SigningKey) -> KeptBundle:
        run_id = lease.run_id
        await self.desk.forget(run_id)
        dossier = await self.dossier(run_id)
        loop = asyncio.get_running_loop()
        sealed, stored = await loop.run_in_executor(self.threads, self._store, lease, dossier, key)
        return KeptBundle(sealed.sha256, len(sealed.data), stored.location, stored.version_id, stored.retention_until)

    def _store(self, lease: BundleLease, dossier: Dossier, key: SigningKey) -> tuple[Sealed, Stored]:
        run_id, number, days = lease.run_id, lease.file_number, lease.retain_days
        sealed = build(dossier, key)
        at(Point.ARCHIVE_PUTTING)
        stored = self.archive.put(file_of(run_id, number), sealed.data, sealed.sha256, days)
        said = attest(sealed, run_id, self.desk.engine.tenant, key, number)
        self.archive.put(attestation_of(run_id, number), said, sha256(said), days)
        at(Point.ARCHIVE_PUT)
        return sealed, stored


def setback_of(error: Exception) -> Setback:
    """Return what a failure means: whose name is taken, or whose records make no bundle, is not helped by time."""
    foreseen = isinstance(error, EvidenceError)
    return Setback(
        error=" ".join((str(error) if foreseen else repr(error)).split()),
        is_final=isinstance(error, ArchiveConflictError | DossierError),
        is_fault=not foreseen and not is_away(error),
        in_the_way=error.location if isinstance(error, ArchiveConflictError) else None,
    )
