"""`exceptions.csv`: the exceptions of a period's runs, as their bundles give them."""

from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from evidence.export.index import Index, bundle_file
from evidence.export.sheets import csv_of
from evidence.reading.exceptions import QUICK, exceptions_of
from evidence.reading.material import Material, number, text
from evidence.verify.contents import BrokenError
from evidence.verify.opening import open_file, readable
from evidence.zipform import ZipFormError, unpack

EXCEPTION_COLUMNS = (*("at", "name", "kind", "what", "seconds", "reference", "definition", "person", "run_id", "leaf"),)
NOT_RECORDED = "opening_not_recorded"
"""The kind of a line that says of how many votes of a run the opening was not recorded."""


def exception_rows(material: Material, quick: timedelta = QUICK) -> Iterator[dict[str, Any]]:
    """Yield the exceptions of a bundle as lines; the last says where the opening of requests was not recorded."""
    run, found = material.run, exceptions_of(material, quick)
    shared = {
        "reference": text(run, "trigger", "ref"),
        "definition": f"{text(run, 'definition', 'name')} v{number(run, 'definition', 'version')}",
        "run_id": text(run, "run_id"),
    }
    for one in found.entries:
        told = {name: getattr(one, name) for name in ("at", "name", "what", "seconds", "person", "leaf")}
        yield {**told, "kind": str(one.kind), **shared}
    if found.opening:
        ended = {"at": text(run, "finished_at"), "kind": NOT_RECORDED, "what": found.opening, **shared}
        yield {**dict.fromkeys(EXCEPTION_COLUMNS, ""), **ended, "seconds": None, "leaf": None}


def material_in(file: Path) -> Material:
    """Return what a bundle holds, unverified; raise BrokenError where it cannot be read."""
    try:
        with open_file(file) as stream, readable(file):
            return Material(unpack(stream).members)
    except ZipFormError as error:
        raise BrokenError(error.member, error.what) from error


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of several bundles, the oldest first."""
    return sorted(rows, key=lambda row: (row["at"], row["run_id"], row["leaf"] or 0))


def exceptions_sheet(index: Index, folder: Path) -> bytes:
    """Return the exceptions of all runs of which an export has bundles, as a table."""
    files = [folder / bundle_file(run.run_id) for run in index.entries if run.sha256]
    return csv_of(EXCEPTION_COLUMNS, in_order(row for file in files for row in exception_rows(material_in(file))))
