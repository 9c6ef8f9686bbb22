"""Hands out a bundle: compared with what was stored, put on record, and only then written, over nothing."""

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path

from countersign.archive import make_archive
from countersign.cli.operate import OperateError
from countersign.connection import connected
from countersign.settings import Settings
from evidence.archive.archive import Archive
from evidence.archive.files import TakenError, write_once
from evidence.attestation import attestation_of, attested
from runtime.clock import utc_now
from runtime.services import bundle_handing as handing
from runtime.services.operator import UnknownPersonError

_OWN = 0o600


@dataclass(frozen=True)
class Wanted:
    """Who wants which bundle, and where: its file, and that of the statement about it, if that is wanted."""

    run_id: str
    by: str
    to: Path
    sigstore: Path | None


async def fetch(settings: Settings, wanted: Wanted) -> str:
    """Write a run's bundle, and put on record who got it; return its SHA-256. Raise OperateError.

    What is not the bundle that was stored is not written; a file that holds something else is not overwritten. One
    that holds the same already is left as it is.
    """
    if wanted.sigstore is not None and wanted.sigstore.absolute() == wanted.to.absolute():
        raise OperateError(f"{wanted.to} cannot hold both the bundle and the statement about it")
    async with connected(settings) as conn:
        bundle = await handing.find_bundle(conn, settings.tenant, wanted.run_id)
        if bundle is None:
            raise OperateError(f"there is no stored bundle of run {wanted.run_id}")
        archive = make_archive(settings, utc_now)
        files = await asyncio.to_thread(_fetched, archive, bundle, wanted)
        try:
            await handing.put_fetched(conn, settings.tenant, wanted.by, bundle, utc_now())
        except UnknownPersonError as error:
            raise OperateError(str(error)) from error
    for to, data in files.items():
        await asyncio.to_thread(_write, to, data)
    return bundle.sha256


def _fetched(archive: Archive, bundle: handing.StoredBundle, wanted: Wanted) -> dict[Path, bytes]:
    """Return what is to be written where, each compared with what the database keeps."""
    data = archive.get(bundle.location)
    _compare(bundle.location, hashlib.sha256(data).hexdigest(), bundle.sha256)
    files = {wanted.to: data}
    if wanted.sigstore is not None:
        location = archive.locate(attestation_of(bundle.run_id, bundle.file_number))
        statement = archive.get(location)
        if attested(statement) != bundle.sha256:
            raise OperateError(f"{location} is about another file than the bundle that was stored")
        files[wanted.sigstore] = statement
    for to, found in files.items():
        _check_free(to, found)
    return files


def _compare(location: str, found: str, sha256: str) -> None:
    if found != sha256:
        raise OperateError(f"{location} is not the bundle that was stored: its sha256 is {found}, and was {sha256}")


def _check_free(to: Path, data: bytes) -> None:
    """Raise before anything is on record where it could not be written."""
    try:
        if not to.parent.is_dir():
            raise OperateError(f"{to} cannot be written: {to.parent} is not a folder")
        if to.exists() and to.read_bytes() != data:
            raise _taken(to)
    except OSError as error:
        raise OperateError(f"{to} cannot be written: {error.strerror}") from error


def _write(to: Path, data: bytes) -> None:
    try:
        write_once(to, data, _OWN)
    except TakenError as error:
        raise _taken(to) from error
    except OSError as error:
        raise OperateError(f"{to} cannot be written: {error.strerror}") from error


def _taken(to: Path) -> OperateError:
    return OperateError(f"{to} exists with other content: nothing is overwritten")
