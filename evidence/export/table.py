"""Holds `approvals.csv` against the votes that a bundle, or the log, tells of."""

from collections.abc import Mapping, Sequence
from typing import Any

from evidence.export.index import APPROVALS, RunEntry
from evidence.export.sheets import csv_of, rows_of, written
from evidence.export.votes import VOTE_COLUMNS
from evidence.verify.contents import BrokenError

Row = Mapping[str, str]


def read_rows(data: bytes) -> list[dict[str, str]]:
    """Return the lines of `approvals.csv`; raise BrokenError where it is not, byte for byte, a table of votes."""
    try:
        rows = rows_of(VOTE_COLUMNS, data)
    except ValueError as error:
        raise BrokenError(APPROVALS, str(error)) from error
    if [row for row in rows if written(row) != row] or csv_of(VOTE_COLUMNS, rows) != data:
        raise BrokenError(APPROVALS, "is not written as an export writes tables")
    return rows


def by_run(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the lines of each run."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["run_id"], []).append(row)
    return found


def order_of(row: Row) -> tuple[str, str, str]:
    """Return what lines are ordered by."""
    return row["at"], row["approval_id"], row["person"]


def check_of_run(row: Row, run: RunEntry) -> None:
    """Raise BrokenError unless a line says of its run what the index says."""
    told = {
        "requested_by": run.requested_by,
        "reference": run.reference,
        "definition": f"{run.definition} v{run.definition_version}",
        "bundle_sha256": run.sha256 or "",
    }
    _compare(row, written(told), "index.json")


def check_rows(run_id: str, told: Sequence[Mapping[str, Any]], rows: Sequence[Row], by: str) -> int:
    """Return how many votes of a run there are; raise BrokenError unless the lines are those that `by` tells of."""
    expected = sorted(map(_cells, told), key=order_of)
    known, listed = ([order_of(row) for row in some] for some in (expected, rows))
    for vote in known:
        if vote not in listed:
            raise BrokenError(APPROVALS, f"{run_id}: {by} has a vote of {vote[2]} at {vote[0]}, and there is no line")
    for vote in listed:
        if vote not in known:
            raise BrokenError(APPROVALS, f"{run_id}: {by} has no vote of {vote[2]} at {vote[0]}")
    if len(known) != len(listed):
        raise BrokenError(APPROVALS, f"{run_id}: a vote stands there twice")
    for row, cells in zip(rows, expected, strict=True):
        _compare(row, cells, by)
    return len(rows)


def _cells(told: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of what is told."""
    return written({name: value for name, value in told.items() if value is not None})


def _compare(row: Row, cells: Row, by: str) -> None:
    for name, cell in cells.items():
        if row[name] != cell:
            raise BrokenError(APPROVALS, f"{row['person']} at {row['at']}: {by} tells another {name}")
