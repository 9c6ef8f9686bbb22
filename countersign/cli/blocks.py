"""How a run and a vote are shown to people: in a few lines, as narrow as their screen may be."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

Row = Mapping[str, Any]

_MARK = "\N{REPLACEMENT CHARACTER}"


def run_block(row: Row) -> str:
    """Return a run: which, how it ended, how it stands with its evidence, and its digest or why there is none."""
    evidence = f"sha256 {row['sha256']}" if row["sha256"] else row["why"]
    lines = (
        f"{row['reference']}  {row['outcome']}, {row['state']}",
        f"{row['definition']} v{row['definition_version']}",
        f"requested by {row['requester_name']} on {_moment(row['created_at'])}",
        evidence,
        row["run_id"],
    )
    return _block(lines)


def vote_block(row: Row) -> str:
    """Return a vote: who said what when, on what, why, by which rule, and what it changed."""
    reason = f"“{' '.join(row['reason'].split())}”" if row["reason"] else "no reason given"
    lines = (
        f"{_moment(row['at'])}  {row['name']} {row['decision']}: {row['verb']}",
        f"which means: {row['name']} {row['meaning']}",
        f"on:      {row['reference']}",
        f"why:     {reason}",
        f"rule:    {row['rule']} ({row['required']})",
        f"change:  {row['change']}",
        f"id:      {row['run_id']}",
    )
    return _block(lines)


def exception_block(row: Row) -> str:
    """Return an exception: when, who, of which kind, what, and where it is on record."""
    from evidence.reading.exceptions import LABELS

    at = _moment(datetime.fromisoformat(row["at"])) if row["at"] else ""
    label = LABELS[row["kind"]].lower() if row["kind"] in LABELS else "opening not recorded"
    leaf = f", leaf {row['leaf']}" if row["leaf"] else ""
    run = f"on:      {row['reference']}, {row['definition']}" if row["definition"] else ""  # "" outside runs
    lines = (
        f"{at}  {row['name']}: {label}" if row["name"] else f"{at}  {label}",
        row["what"],
        *filter(None, [run]),
        f"id:      {row['run_id']}{leaf}",
    )
    return _block(lines)


def _block(lines: Sequence[str]) -> str:
    """Return lines under the first; what is no print, such as an escape of the terminal, is shown as a mark."""
    return "\n  ".join("".join(one if one.isprintable() else _MARK for one in line) for line in lines)


def _moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
