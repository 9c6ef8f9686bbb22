"""People as a CSV table. The text is UTF-8; cells are quoted as RFC 4180 says; what has several parts is parted by `;`.

Columns stand in the first line, each once, in any order: those of the directory or those of SCIM (see `people_import`).
"""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from countersign.directory import DirectoryError
from countersign.people_entry import Row

MAX_BYTES = 2**20

_DIRECTORY = ("id", "name", "groups", "slack")
_SCIM = ("userName", "displayName", "groups")
_MAY_HAVE: Mapping[str, Sequence[str]] = {"id": ("timezone",), "userName": ("emails", "active", "timezone", "slack")}


def table_rows(file: Path, faults: list[str]) -> Iterator[Row]:
    """Yield the people of a table, adding what is wrong with a line to `faults`; raise DirectoryError."""
    table = csv.reader(io.StringIO(_text(file), newline=""), strict=True)
    try:
        header = next(table, [])
        _check_columns(file, header)
        for cells in table:
            if len(cells) == len(header):
                said = dict(zip(header, cells, strict=True))
                yield Row(f"{file}:{table.line_num}", {name: _value(name, cell) for name, cell in said.items()})
            elif cells:
                faults.append(f"{file}:{table.line_num}: {len(cells)} cells, where there are {len(header)} columns")
    except csv.Error as error:
        raise DirectoryError(f"{file}:{table.line_num}: not CSV: {error}") from error


def _check_columns(file: Path, header: Sequence[str]) -> None:
    must = _SCIM if "userName" in header else _DIRECTORY
    others = sorted(set(header) - set(must))
    if len(set(header)) != len(header) or not set(must) <= set(header) or not set(others) <= set(_MAY_HAVE[must[0]]):
        may = ", ".join(_MAY_HAVE[must[0]])
        said = ", ".join(header) or "none"
        raise DirectoryError(f"{file}:1: its columns are {said}, not {', '.join(must)} (and, if wanted, {may})")


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";")] if cell.strip() else []


def _accounts(cell: str) -> list[dict[str, str]]:
    parted = [account.partition("/") for account in _parts(cell)]
    return [{"team": team, "user": user} for team, _, user in parted]


_TRUTH = {"true": True, "false": False}
_READ: Mapping[str, Callable[[str], Any]] = {
    "groups": _parts,
    "emails": _parts,
    "slack": _accounts,
    "active": lambda cell: _TRUTH.get(cell.strip().lower(), cell),
    "timezone": lambda cell: cell.strip() or None,
}


def _value(column: str, cell: str) -> Any:
    return _READ[column](cell) if column in _READ else cell


def _text(file: Path) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise DirectoryError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise DirectoryError(f"{file} is larger than 1 MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DirectoryError(f"{file}:{line}: not UTF-8") from error
