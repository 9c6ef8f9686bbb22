"""Work on the archive: bundles are fetched, and legal holds are set, lifted and carried out.

A bundle is compared with what was stored, put on record, and only then written, over nothing. The archive carries legal
holds out while the person waits.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from countersign.archive import make_archive
from countersign.cli.outputs import check_free, write_new
from countersign.connection import connected, naming
from countersign.foreseen_errors import OperateError
from countersign.setting_secrets import make_privacy
from countersign.settings import Settings
from countersign.storage import open_storage
from evidence.archive import Archive, get_stored
from evidence.build import attestation_of, attested
from evidence.retention import Keeper
from runtime.clock import utc_now
from runtime.services import bundles
from runtime.services.legal_holds import HoldError, LegalHolds, Subject

_OWNER_ONLY = 0o600


@dataclass(frozen=True)
class BundleRequest:
    """Who wants which bundle, and where: its file, and that of the statement about it, if that is wanted."""

    run_id: str
    by: str
    to: Path
    sigstore: Path | None


async def fetch_bundle(settings: Settings, wanted: BundleRequest) -> str:
    """Write a run's bundle, and put on record who got it; return its SHA-256. Raise OperateError.

    What is not the bundle that was stored is not written; a file that holds something else is not overwritten. One
    that holds the same already is left as it is.
    """
    if wanted.sigstore is not None and wanted.sigstore.absolute() == wanted.to.absolute():
        raise OperateError(f"{wanted.to} cannot hold both the bundle and the statement about it")
    async with connected(settings) as conn:
        bundle = await bundles.find_bundle(conn, settings.tenant, wanted.run_id)
        if bundle is None:
            raise OperateError(f"there is no stored bundle of run {wanted.run_id}")
        archive = make_archive(settings, utc_now)
        files = await asyncio.to_thread(_files_of, archive, bundle, wanted)
        with naming():
            await bundles.put_fetched(conn, settings.tenant, wanted.by, bundle, utc_now())
    for to, data in files.items():
        await asyncio.to_thread(write_new, to, data, _OWNER_ONLY)
    return bundle.sha256


def _files_of(archive: Archive, bundle: bundles.StoredBundle, wanted: BundleRequest) -> dict[Path, bytes]:
    """Return what is to be written where, each compared with what the database keeps."""
    files = {wanted.to: get_stored(archive, bundle.location, bundle.sha256)}
    if wanted.sigstore is not None:
        location = archive.locate(attestation_of(bundle.run_id, bundle.file_number))
        statement = archive.get(location)
        if attested(statement) != bundle.sha256:
            raise OperateError(f"{location} is about another file than the bundle that was stored")
        files[wanted.sigstore] = statement
    for to, found in files.items():
        check_free(to, found)
    return files


async def set_hold(settings: Settings, subject: Subject, by: str, reason: str) -> tuple[str, int]:
    """Set a hold; return its id, and how many bundles the archive holds now that it did not. Raise OperateError.

    Nothing is put on record where the archive keeps nothing from being deleted.
    """
    async with _hold_keeper(settings) as keeper:
        await asyncio.to_thread(keeper.archive.check_lock)
        hold_id = await keeper.desk.hold(by, subject, reason)
        return hold_id, await _carry_out_holds(keeper)


async def lift_hold(settings: Settings, subject: Subject, by: str, reason: str) -> tuple[str, int]:
    """Lift a hold; return its id, and of how many bundles the archive was told. Raise OperateError."""
    async with _hold_keeper(settings) as keeper:
        hold_id = await keeper.desk.lift(by, subject, reason)
        return hold_id, await _carry_out_holds(keeper)


async def _carry_out_holds(keeper: Keeper) -> int:
    """Tell the archive until it knows all, or does not take it; workers do what is left."""
    done = 0
    while await keeper():
        done += 1
    return done


@asynccontextmanager
async def _hold_keeper(settings: Settings) -> AsyncIterator[Keeper]:
    async with open_storage(settings) as storage:
        desk = LegalHolds(storage.pool, storage.clock, settings.tenant, make_privacy(settings))
        try:
            with naming():
                yield Keeper(desk, make_archive(settings, storage.clock))
        except HoldError as error:
            raise OperateError(str(error)) from error
