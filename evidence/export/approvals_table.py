"""`approvals.csv`: each vote is a line that says what it meant, by which rule it was asked for, and what it changed.

The table is held against the votes that a bundle, or the log, tells of.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evidence.export.index import APPROVALS, RunEntry, rows_of, written
from evidence.reading.words import ALONE, NO_MORE, WITHDRAWN, by_break_glass, meaning, verdict
from evidence.verify.contents import BrokenError
from receipts import canonical

VOTE_COLUMNS = (
    *("at", "person", "name", "decision", "meaning", "reason", "verb", "target", "reference", "change", "rule"),
    *("required", "requested_by", "run_id", "definition", "step", "approval_id", "account", "bundle_sha256"),
)

_LONGEST = 120
"""Characters of a value in one line; the bundle has all of it."""

Change = tuple[str, Any, Any]
"""The name of a field, its value before (None where that is not known), and its value after."""


def decision_of(kind: str, code: str, ticket: str, *, is_withdrawn: bool, leaves_open: bool) -> str:
    """Return what a person decided, in words."""
    return verdict(kind, code, leaves_open=leaves_open) + by_break_glass(ticket) + (WITHDRAWN if is_withdrawn else "")


def meaning_of(kind: str, code: str, ticket: str, *, is_withdrawn: bool, leaves_open: bool) -> str:
    """Return what the signature means, after the name of who signed."""
    return NO_MORE if is_withdrawn else meaning(kind, code, leaves_open=leaves_open) + (ALONE if ticket else "")


def required_of(requirement: Mapping[str, Any]) -> str:
    """Return how many had to sign, of which groups, how many of each class, and who had a veto."""
    parts = [_of_groups(requirement), *map(_of_groups, requirement.get("classes", ()))]
    veto = requirement.get("veto", ())
    return "; ".join([*parts, *([f"veto: {' or '.join(veto)}"] if veto else [])])


def _of_groups(asked: Mapping[str, Any]) -> str:
    groups = (" and " if asked.get("all_groups") else " or ").join(asked.get("groups", ()))
    return f"{asked.get('quorum')} of {groups}"


def rule_of(rules: Sequence[tuple[str, str]], purpose: str) -> str:
    """Return policy's rules in its words, or else what the runbook asks for."""
    return "; ".join(f"{code}: {msg}" for code, msg in rules) or purpose


def change_of(changes: Iterable[Change]) -> str:
    """Return what would change, in the order of the fields' names."""
    return "; ".join(map(_change, sorted(changes, key=lambda change: change[0])))


def _change(change: Change) -> str:
    name, before, after = change
    return f"{name}: {_shown(after)}" if before is None else f"{name}: {_shown(before)} → {_shown(after)}"


def _shown(value: Any) -> str:
    """Return a value in one line, the same however it was stored."""
    text = value if isinstance(value, str) else _json(value)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _json(value: Any) -> str:
    return json.dumps(canonical.loads(canonical.dumps(value)), ensure_ascii=False)


Row = Mapping[str, str]


def read_rows(data: bytes) -> list[dict[str, str]]:
    """Return the lines of `approvals.csv`; raise BrokenError where it is not, byte for byte, a table of votes."""
    try:
        return rows_of(VOTE_COLUMNS, data)
    except ValueError as error:
        raise BrokenError(APPROVALS, str(error)) from error


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
