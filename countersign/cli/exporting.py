"""Makes an export of a period's evidence: looks the log through, signs the index, and puts it on record."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from countersign.archive import make_archive
from countersign.cli.audit import audited
from countersign.cli.finding_reading import PeriodRead, read_period
from countersign.cli.operate import OperateError
from countersign.connection import connected
from countersign.settings import Settings
from evidence.export.completeness import TAKES
from evidence.export.exceptions import exceptions_sheet
from evidence.export.index import INDEX, Index, LogWord, counts_of
from evidence.export.making import Export, make_export, new_folder, write_bundles, write_files
from evidence.export.period import Period
from evidence.export.sheets import csv_of
from evidence.export.votes import VOTE_COLUMNS
from evidence.ring import KeyRing
from evidence.statement import sha256
from receipts.fields import timestamp
from receipts.signing import SigningKey
from runtime.clock import utc_now
from runtime.services import exports, keys
from runtime.services import health as inspection
from runtime.services.exports import EvidenceExported, UnknownPersonError
from runtime.services.health import Audit


async def export_period(settings: Settings, period: Period, by: str, folder: Path, *, with_bundles: bool) -> Export:
    """Write an export into a folder that is not there yet, and put it on record as the act of a person.

    Raise OperateError, ExportError or ArchiveError; then nothing is left of it.
    """
    with new_folder(folder), _by_somebody():
        key, checkpoint = await _prepared(settings, by)  # the checkpoint first: the log only grows from there
        found = await asyncio.to_thread(audited, settings, [])
        read = await read_period(settings, period)
        index = _index(settings, period, by, found, read, has_bundles=with_bundles)
        exceptions = await asyncio.to_thread(_copy, settings, index, read.locations, folder) if with_bundles else None
        export = make_export(index, csv_of(VOTE_COLUMNS, read.votes), exceptions, checkpoint, key)
        await _record(settings, export, period)
        write_files(export, folder)
    return export


def _index(settings: Settings, period: Period, by: str, found: Audit, read: PeriodRead, *, has_bundles: bool) -> Index:
    """Return the index; it is made no earlier than the newest leaf says, whose clock may be ahead of ours."""
    findings = [f"{one.rule}: {one.where}: {one.what}" for one in found.findings]
    return Index(
        tenant=settings.tenant,
        first_day=str(period.first),
        last_day=str(period.last),
        by=by,
        made_at=max(timestamp(utc_now()), found.newest, read.newest),
        has_bundles=has_bundles,
        counts=counts_of(read.runs, len(read.votes)),
        log=LogWord(size=found.size, runs=found.runs, until=found.until, findings=[*findings, *read.findings]),
        runs=read.runs,
        voted=read.voted,
    )


@contextmanager
def _by_somebody() -> Iterator[None]:
    """Turn it into an OperateError where the directory does not have the person, or no more."""
    try:
        yield
    except UnknownPersonError as error:
        raise OperateError(str(error)) from error


async def _prepared(settings: Settings, by: str) -> tuple[SigningKey, str | None]:
    """Return the key that signs now, and the newest checkpoint; raise OperateError."""
    if not settings.key_path.exists():  # it is not made here: workers have it
        raise OperateError(f"there is no key at {settings.key_path}: an export is signed with the workers' key")
    key = KeyRing(settings.key_path).keys().current
    async with connected(settings) as conn:
        await exports.person_of(conn, settings.tenant, by)
        if not await keys.signs_by_now(conn, settings.tenant, key, utc_now()):
            raise OperateError(f"{settings.key_path} is not the current signing key")
        newest = await inspection.newest_checkpoint(conn, settings.tenant)
    return key, newest.note if newest else None


def _copy(settings: Settings, index: Index, locations: Mapping[str, str], folder: Path) -> bytes:
    """Copy the bundles into the folder, and return the table of their exceptions."""
    archive = make_archive(settings, utc_now)
    write_bundles(index, folder, lambda run_id: archive.get(locations[run_id]))
    return exceptions_sheet(index, folder)


async def _record(settings: Settings, export: Export, period: Period) -> None:
    index = export.index
    made_at, now = datetime.fromisoformat(index.made_at), utc_now()
    if now - made_at > TAKES:
        raise OperateError(f"the export took longer than {TAKES}, and is not recorded: export fewer days at once")
    act = EvidenceExported(
        since=timestamp(period.since),
        until=timestamp(period.until),
        asked={"bundles": index.has_bundles, "statement": export.sha256},
        rows=len(index.runs),
        sha256=sha256(export.files[INDEX]),
    )
    async with connected(settings) as conn:
        await exports.record_export(conn, settings.tenant, act, index.by, max(now, made_at))
