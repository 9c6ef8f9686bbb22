"""Tables as CSV (RFC 4180) that a spreadsheet may open: no cell of ours is a formula there."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from receipts.fields import timestamp

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""What a spreadsheet begins a formula, or a call of another program, with."""


_UNSEEN = " \u00a0\ufeff"
"""What may stand before it, and is not seen."""


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a table with a line of names, in UTF-8; what is None is empty, and moments are RFC 3339 in UTC.

    A text that a spreadsheet would take for a formula has an apostrophe before it, by which it is shown as it is.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in columns])
    return out.getvalue().encode()


def rows_of(columns: Sequence[str], data: bytes) -> list[dict[str, str]]:
    """Return the rows of a table as `csv_of` writes it; raise ValueError where it is none, or has other columns."""
    try:
        lines = list(csv.reader(io.StringIO(data.decode(), newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"is no table: {error}") from error
    names, rows = lines[:1], lines[1:]
    if names != [list(columns)] or any(len(row) != len(columns) for row in rows):
        raise ValueError(f"is no table with the columns {', '.join(columns)}")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def written(row: Mapping[str, Any]) -> dict[str, str]:
    """Return a row as `rows_of` reads it once it was written."""
    return {name: "" if (cell := _cell(value)) is None else str(cell) for name, value in row.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(_UNSEEN).startswith(_FORMULA) else value
