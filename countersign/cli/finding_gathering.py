"""Gathers the exceptions of files, or of the stored bundles of a period."""

import sys
from asyncio import to_thread
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from countersign.archive import make_archive
from countersign.cli.operate import looked_up
from countersign.cli.refused import refusal_rows
from countersign.settings import Settings
from evidence.errors import EvidenceError
from evidence.export.exceptions import exception_rows, in_order, material_in
from evidence.export.index import BUNDLES
from evidence.export.period import Period
from evidence.reading.material import Material
from evidence.statement import sha256
from evidence.verify.contents import BrokenError
from evidence.verify.judgement import Standing, judge, worst
from evidence.verify.rules import counted
from evidence.verify.trust import Trust, trust_of
from evidence.zipform import unpack
from receipts.errors import ReceiptsError
from runtime.clock import utc_now
from runtime.services.bundle_refusals import find_refusals
from runtime.services.bundle_search import Sought, find_runs

Row = dict[str, Any]


@dataclass(frozen=True)
class Gathered:
    """The lines, the exit status, and a note on what they are from."""

    standing: Standing
    rows: Sequence[Row]
    note: str


def of_files(paths: Sequence[Path], key: Path | None, quick: timedelta) -> Gathered:
    """Return the exceptions of files; one that cannot be read, or does not hold, is named and left out."""
    standings, rows = [Standing.HOLDS], list[Row]()
    files = [file for path in paths for file in _bundles(path)]
    try:
        trust = trust_of(key) if key else None
    except ReceiptsError as error:
        sys.stderr.write(f"countersign: {error}\n")
        return Gathered(Standing.UNREAD, [], "")
    for file in files:
        try:
            standings.append(_check(file, trust))
            rows += exception_rows(material_in(file), quick) if standings[-1] is Standing.HOLDS else []
        except BrokenError as error:
            sys.stderr.write(f"countersign: {file}: {error.what}\n")
            standings.append(Standing.UNREAD)
    held = sum(one is Standing.HOLDS for one in standings[1:])
    checked = "verified" if key else "not verified: no key was given (--key)"
    return Gathered(worst(standings), in_order(rows), f" in {counted(held, 'bundle')}, {checked}")


def _bundles(path: Path) -> list[Path]:
    return sorted((path / BUNDLES).glob("*.zip")) if path.is_dir() else [path]


def _check(file: Path, trust: Trust | None) -> Standing:
    """Return how a bundle stands, and say so where it does not hold."""
    if trust is None:
        return Standing.HOLDS
    judged = judge(file, trust)
    if judged.standing is not Standing.HOLDS:
        sys.stderr.write(f"countersign: {file}: {judged.found}\n")
    return judged.standing


async def of_period(settings: Settings, period: Period, quick: timedelta) -> Gathered:
    """Return the exceptions of a period: of its runs' stored bundles, and what was refused outside runs.

    Each bundle is compared with its SHA-256.
    """
    found = await looked_up(settings, find_runs, Sought(since=period.since, until=period.until))
    stored = [one for one in found if one.sha256 and one.location]
    refused = await looked_up(settings, find_refusals, period.since, period.until)
    rows = await to_thread(lambda: in_order([*_of_stored(settings, stored, quick), *refusal_rows(refused)]))
    without = len(found) - len(stored)
    missing = f"; {counted(without, 'run')} without a bundle" if without else ""
    return Gathered(
        Standing.HOLDS, rows, f" in {counted(len(stored), 'stored bundle')} and the tenant's chain{missing}"
    )


def _of_stored(settings: Settings, stored: Sequence[Any], quick: timedelta) -> Iterator[Row]:
    archive = make_archive(settings, utc_now)
    for one in stored:
        data = archive.get(one.location)
        if sha256(data) != one.sha256:
            raise EvidenceError(f"the archive's bundle of {one.run_id} differs from the stored one")
        yield from exception_rows(Material(unpack(BytesIO(data)).members), quick)
