"""People and their groups as a table: a CSV file that takes the place of the people in a directory file.

Columns, each once, in any order: `id`, `name`, `groups` (parted by `;`) and `slack` (accounts as `TEAM/USER`, parted by
`;`). The text is UTF-8; cells are quoted as RFC 4180 says.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from countersign.config.directory import AgentEntry, Directory, DirectoryError, PersonEntry, faults_of

COLUMNS = ("id", "name", "groups", "slack")
MAX_BYTES = 2**20

_Cells = Mapping[str, str]


@dataclass(frozen=True)
class _Row:
    line: int  # of the file, on which the row ends
    cells: _Cells


def read_people(file: Path, into: Directory) -> Directory:
    """Return the directory with the people of the table in the place of its own, as its next version.

    All else stays, of a person what the table has no column for. Raise DirectoryError naming file, line and column of
    every fault.
    """
    faults: list[str] = []
    rows = list(_rows(file, faults))
    known = {person.id: person for person in into.people}
    read = ((row, _person(file, row, faults)) for row in rows)
    people = [(row, _with_rest(person, known.get(person.id))) for row, person in read if person is not None]
    made = into.model_copy(update={"version": into.version + 1, "people": [person for _, person in people]})
    faults += (_told(file, place, what, [row for row, _ in people], made.agents) for place, what in faults_of(made))
    if faults:
        raise DirectoryError("\n".join(faults))
    return made


def _rows(file: Path, faults: list[str]) -> Iterator[_Row]:
    table = csv.reader(io.StringIO(_text(file), newline=""), strict=True)
    try:
        header = next(table, [])
        if sorted(header) != sorted(COLUMNS):
            raise DirectoryError(f"{file}:1: its columns are {', '.join(header) or 'none'}, not {', '.join(COLUMNS)}")
        for cells in table:
            if len(cells) == len(header):
                yield _Row(table.line_num, dict(zip(header, cells, strict=True)))
            elif cells:
                faults.append(f"{file}:{table.line_num}: {len(cells)} cells, where there are {len(header)} columns")
    except csv.Error as error:
        raise DirectoryError(f"{file}:{table.line_num}: not CSV: {error}") from error


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


def _person(file: Path, row: _Row, faults: list[str]) -> PersonEntry | None:
    accounts = [account.partition("/") for account in _parts(row.cells["slack"])]
    said = {
        "id": row.cells["id"],
        "name": row.cells["name"],
        "groups": _parts(row.cells["groups"]),
        "slack": [{"team": team, "user": user} for team, _, user in accounts],
    }
    try:
        return PersonEntry.model_validate(said)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        faults.extend(f"{file}:{row.line}: {'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)
        return None


def _with_rest(person: PersonEntry, known: PersonEntry | None) -> PersonEntry:
    """Return a person of the table with what the file says of them beside it."""
    return known.model_copy(update={name: getattr(person, name) for name in COLUMNS}) if known else person


def _parts(cell: str) -> list[str]:
    return [part.strip() for part in cell.split(";")] if cell.strip() else []


def _told(file: Path, place: Sequence[str | int], what: str, rows: Sequence[_Row], agents: Sequence[AgentEntry]) -> str:
    """Return a fault of the whole directory: by the line of its person, or by the agent who speaks for somebody."""
    kind, number, *rest = place
    if kind == "people":
        return f"{file}:{rows[int(number)].line}: {'.'.join(map(str, rest))}: {what}"
    return f"{file}: agent {agents[int(number)].id}, {'.'.join(map(str, rest))}: {what}"
