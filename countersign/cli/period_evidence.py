"""A period's evidence: its signed export, and its exceptions, which are gathered of files, too.

An export looks the log through, signs the index, and is put on record. Exceptions are those of files, or of the
period's stored bundles, each compared with its SHA-256, and of attempts that were refused outside any run.
"""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from countersign.archive import make_archive
from countersign.cli.audit import PeriodRead, audited, read_period, refusal_rows
from countersign.connection import connected, looked_up, naming
from countersign.foreseen_errors import OperateError
from countersign.settings import Settings
from evidence.errors import EvidenceError
from evidence.export.approvals_table import VOTE_COLUMNS
from evidence.export.bundle_rows import exception_rows, exceptions_sheet, in_order, material_in
from evidence.export.completeness import TAKES
from evidence.export.export_files import Export, Tables, make_export, new_folder, write_bundles, write_files
from evidence.export.index import BUNDLES, INDEX, Index, LogWord, Period, counts_of, csv_of
from evidence.export.refused_table import REFUSED_COLUMNS
from evidence.key_ring import KeyRing
from evidence.reading.material import Material
from evidence.statement import sha256
from evidence.verify.contents import BrokenError
from evidence.verify.judgement import Standing, judge, worst
from evidence.verify.rules import counted
from evidence.verify.trust import Trust, trust_of
from evidence.zipform import unpack
from receipts.errors import ReceiptsError
from receipts.fields import timestamp
from receipts.signing import SigningKey
from runtime.clock import utc_now
from runtime.services import bundles, keys
from runtime.services import health as inspection
from runtime.services.bundles import EvidenceExported, Sought, find_refusals, find_runs
from runtime.services.health import Audit
from runtime.services.people import person_of


async def export_period(settings: Settings, period: Period, by: str, folder: Path, *, with_bundles: bool) -> Export:
    """Write an export into a folder that is not there yet, and put it on record as the act of a person.

    Raise OperateError, ExportError or ArchiveError; then nothing is left of it.
    """
    with new_folder(folder), naming():
        key, checkpoint = await _key_and_checkpoint(settings, by)  # the checkpoint first: the log only grows from there
        found = await asyncio.to_thread(audited, settings, [])
        read = await read_period(settings, period)
        index = _index_of(settings, period, by, found, read, has_bundles=with_bundles)
        exceptions = (
            await asyncio.to_thread(_copy_bundles, settings, index, read.locations, folder) if with_bundles else None
        )
        tables = Tables(csv_of(VOTE_COLUMNS, read.votes), csv_of(REFUSED_COLUMNS, read.refused), exceptions)
        export = make_export(index, tables, checkpoint, key)
        await _record_export(settings, export, period)
        write_files(export, folder)
    return export


def _index_of(
    settings: Settings, period: Period, by: str, found: Audit, read: PeriodRead, *, has_bundles: bool
) -> Index:
    """Return the index; it is made no earlier than the newest leaf says, whose clock may be ahead of ours."""
    findings = [f"{one.rule}: {one.where}: {one.what}" for one in found.findings]
    return Index(
        tenant=settings.tenant,
        first_day=str(period.first),
        last_day=str(period.last),
        by=by,
        made_at=max(timestamp(utc_now()), found.newest, read.newest, *(one["at"] for one in read.refused)),
        has_bundles=has_bundles,
        counts=counts_of(read.runs, len(read.votes), len(read.refused)),
        log=LogWord(size=found.size, runs=found.runs, until=found.until, findings=[*findings, *read.findings]),
        runs=read.runs,
        voted=read.voted,
    )


async def _key_and_checkpoint(settings: Settings, by: str) -> tuple[SigningKey, str | None]:
    """Return the key that signs now, and the newest checkpoint; raise OperateError."""
    if not settings.key_path.exists():  # it is not made here: workers have it
        raise OperateError(f"there is no key at {settings.key_path}: an export is signed with the workers' key")
    key = KeyRing(settings.key_path).keys().current
    async with connected(settings) as conn:
        await person_of(conn, settings.tenant, by)
        if not await keys.signs_by_now(conn, settings.tenant, key, utc_now()):
            raise OperateError(f"{settings.key_path} is not the current signing key")
        newest = await inspection.newest_checkpoint(conn, settings.tenant)
    return key, newest.note if newest else None


def _copy_bundles(settings: Settings, index: Index, locations: Mapping[str, str], folder: Path) -> bytes:
    """Copy the bundles into the folder, and return the table of their exceptions."""
    archive = make_archive(settings, utc_now)
    write_bundles(index, folder, lambda run_id: archive.get(locations[run_id]))
    return exceptions_sheet(index, folder)


async def _record_export(settings: Settings, export: Export, period: Period) -> None:
    index = export.index
    made_at, now = datetime.fromisoformat(index.made_at), utc_now()
    if now - made_at > TAKES:
        raise OperateError(f"the export took longer than {TAKES}, and is not recorded: export fewer days at once")
    act = EvidenceExported(
        since=timestamp(period.since),
        until=timestamp(period.until),
        asked={"bundles": index.has_bundles, "format": index.format, "statement": export.sha256},
        rows=len(index.runs),
        sha256=sha256(export.files[INDEX]),
    )
    async with connected(settings) as conn:
        await bundles.record_export(conn, settings.tenant, act, index.by, max(now, made_at))


Row = dict[str, Any]


@dataclass(frozen=True)
class ExceptionList:
    """The lines, the exit status, and a note on what they are from."""

    standing: Standing
    rows: Sequence[Row]
    note: str


def exceptions_of_files(paths: Sequence[Path], key: Path | None, quick: timedelta) -> ExceptionList:
    """Return the exceptions of files; one that cannot be read, or does not hold, is named and left out."""
    standings, rows = [Standing.HOLDS], list[Row]()
    files = [file for path in paths for file in _bundles(path)]
    try:
        trust = trust_of(key) if key else None
    except ReceiptsError as error:
        sys.stderr.write(f"countersign: {error}\n")
        return ExceptionList(Standing.UNREAD, [], "")
    for file in files:
        try:
            standings.append(_standing_of(file, trust))
            rows += exception_rows(material_in(file), quick) if standings[-1] is Standing.HOLDS else []
        except BrokenError as error:
            sys.stderr.write(f"countersign: {file}: {error.what}\n")
            standings.append(Standing.UNREAD)
    held = sum(one is Standing.HOLDS for one in standings[1:])
    checked = "verified" if key else "not verified: no key was given (--key)"
    return ExceptionList(worst(standings), in_order(rows), f" in {counted(held, 'bundle')}, {checked}")


def _bundles(path: Path) -> list[Path]:
    return sorted((path / BUNDLES).glob("*.zip")) if path.is_dir() else [path]


def _standing_of(file: Path, trust: Trust | None) -> Standing:
    """Return how a bundle stands, and say so where it does not hold."""
    if trust is None:
        return Standing.HOLDS
    judged = judge(file, trust)
    if judged.standing is not Standing.HOLDS:
        sys.stderr.write(f"countersign: {file}: {judged.found}\n")
    return judged.standing


async def exceptions_of_period(settings: Settings, since: datetime, until: datetime, quick: timedelta) -> ExceptionList:
    """Return the exceptions of a period: of its runs' stored bundles, and what was refused outside runs.

    Each bundle is compared with its SHA-256.
    """
    found = await looked_up(settings, find_runs, Sought(since=since, until=until))
    stored = [one for one in found if one.sha256 and one.location]
    refused = await looked_up(settings, find_refusals, since, until)
    rows = await asyncio.to_thread(
        lambda: in_order([*_exceptions_of_stored(settings, stored, quick), *refusal_rows(refused)])
    )
    without = len(found) - len(stored)
    missing = f"; {counted(without, 'run')} without a bundle" if without else ""
    return ExceptionList(
        Standing.HOLDS, rows, f" in {counted(len(stored), 'stored bundle')} and the tenant's chain{missing}"
    )


def _exceptions_of_stored(settings: Settings, stored: Sequence[Any], quick: timedelta) -> Iterator[Row]:
    archive = make_archive(settings, utc_now)
    for one in stored:
        data = archive.get(one.location)
        if sha256(data) != one.sha256:
            raise EvidenceError(f"the archive's bundle of {one.run_id} differs from the stored one")
        yield from exception_rows(Material(unpack(BytesIO(data)).members), quick)
