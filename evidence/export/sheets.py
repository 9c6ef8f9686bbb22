"""Tables as CSV (RFC 4180) that a spreadsheet may open: no cell of ours is a formula there."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""What a spreadsheet begins a formula, or a call of another program, with."""


def csv_of(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return a table with a line of names, in UTF-8; what is None is empty.

    A text that a spreadsheet would take for a formula has an apostrophe before it, by which it is shown as it is.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row[column]) for column in columns])
    return out.getvalue().encode()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return f"'{value}" if value.lstrip(" \u00a0\ufeff").startswith(_FORMULA) or value.startswith(_FORMULA) else value
