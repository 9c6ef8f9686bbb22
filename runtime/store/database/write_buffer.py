"""Write buffer: rows for several tables, written by one statement when the transaction commits.

A kind of write is one data-modifying query over rows that come as one JSON document. All parts of a statement see the
database as it was before it, so no row may be written twice by one; whoever reads or writes anything else has what is
buffered written first (`BufferedConnection`).

Columns of JSON are read and written by orjson; by Python's own json what only that takes, such as half a character.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson
from psycopg import DataError, Error

_LOST = re.compile(r"lost:(\w+):(.*):lost", re.DOTALL)
"""What PostgreSQL says of a row that took no effect: its kind, and its first column."""


@dataclass(frozen=True, eq=False)
class WriteKind:
    """A kind of write to a table, equal to no other.

    `sql` reads its rows as ``{r}``; `columns` are their names and types. The first `key` columns tell which row of the
    table is written. Where `lost` is set, each has to take effect, and `sql` returns as ``id`` the first column of each
    that did; the statement fails over one that did not, and `lost` makes its error. `taken` is the error of a row that
    a unique index refuses, by the index's name. What `leads` is done before all others, which may wait for locks. A
    kind that only checks its rows writes no table, and `table` says what it checks.
    """

    name: str
    table: str
    sql: str
    columns: tuple[tuple[str, str], ...]
    key: int
    lost: Callable[[str], Exception] | None = None
    taken: tuple[str, Callable[[str], Exception]] | None = None
    leads: bool = False


@dataclass
class WriteBuffer:
    """What a transaction is still to write."""

    rows: dict[WriteKind, list[Sequence[Any]]] = field(default_factory=dict)
    touched: dict[tuple[Any, ...], tuple[WriteKind, int]] = field(
        default_factory=dict
    )  # a table's row: which one writes it

    def holds(self, kind: WriteKind, row: Sequence[Any]) -> bool:
        """Return whether the same row of the table is to be written already."""
        return (kind.table, *row[: kind.key]) in self.touched

    def changes(self, table: str, keys: Collection[str]) -> bool:
        """Return whether rows of a table whose first key is one of these are to be written."""
        return any(touched[0] == table and touched[1] in keys for touched in self.touched)

    def add(self, kind: WriteKind, row: Sequence[Any]) -> None:
        """Have one more row written."""
        rows = self.rows.setdefault(kind, [])
        self.touched[kind.table, *row[: kind.key]] = kind, len(rows)
        rows.append(row)

    def amend(self, kind: WriteKind, key: Sequence[Any], values: Mapping[str, Any]) -> bool:
        """Have columns of a row written otherwise than was said; False where no row of this kind is to be written."""
        written_by, place = self.touched.get((kind.table, *key), (None, 0))
        if written_by is not kind:
            return False
        row = self.rows[kind][place]
        self.rows[kind][place] = [values.get(name, said) for (name, _), said in zip(kind.columns, row, strict=True)]
        return True

    def take(self) -> tuple[str, dict[str, Any]]:
        """Return the statement that writes it all, and its parameters."""
        kinds = tuple(sorted(self.rows, key=lambda kind: (not kind.leads, kind.name)))
        return write_statement(kinds), {kind.name: document_of(kind.columns, self.rows[kind]) for kind in kinds}

    def refusal(self, error: Error) -> Exception | None:
        """Return what the error means: that a row took no effect which had to, or that a unique index refused one."""
        index, lost = error.diag.constraint_name, _LOST.search(error.diag.message_primary or "")
        for kind in self.rows:
            if kind.taken and kind.taken[0] == index:
                return kind.taken[1](kind.name)
            if kind.lost and lost and lost[1] == kind.name:
                return kind.lost(lost[2])
        return None


@lru_cache(maxsize=256)
def write_statement(kinds: tuple[WriteKind, ...]) -> str:
    """Return one statement for these kinds; it fails where a row takes no effect that must.

    What is fenced PostgreSQL does when it comes to the fence, in their order, and all else after that.
    """
    parts = [f"{kind.name} AS ({kind.sql.format(r=rows_of(kind))})" for kind in kinds]
    fences = [_fence(kind) for kind in kinds if kind.lost]
    return f"WITH {', '.join(parts)} SELECT {', '.join(fences) or '1'}"


def _fence(kind: WriteKind) -> str:
    """Return SQL that gives NULL, or fails if a row took no effect, and then names the first.

    SQL raises nothing by itself, but a cast of what is no number fails: PostgreSQL then refuses a COMMIT that came in
    the same round trip, and nobody has to look at a result before it goes. Rows are counted first: to read
    them once more in order to name one has its price.
    """
    first, wanted = kind.columns[0][0], f"json_array_length(%({kind.name})s::json)"
    lost = f"('lost:{kind.name}:' || min({first}) || ':lost')::int"
    find = f"(SELECT {lost} FROM {rows_of(kind)} WHERE {first} NOT IN (SELECT id FROM {kind.name}))"  # noqa: S608 - our own columns
    return f"(SELECT CASE WHEN count(*) < {wanted} THEN {find} END FROM {kind.name})"  # noqa: S608 - our own columns


def rows_of(kind: WriteKind) -> str:
    """Return the rows of a kind as a statement reads them from its parameter, which has the kind's name.

    They are few, which the condition says in its way: the planner expects a hundred of them, and rather reads an index
    of thousands of rows from end to end than to enter it so often. Of what a condition like this leaves it expects one.
    """
    columns, first = columns_of(kind.columns), kind.columns[0][0]
    rows = f"json_to_recordset(%({kind.name})s::json) AS r ({columns})"
    return f"(SELECT * FROM {rows} WHERE {first} IS NOT DISTINCT FROM {first}) AS r"  # noqa: S608 - our own columns


Columns = Sequence[tuple[str, str]]
"""Names and types of the columns of rows."""


def columns_of(columns: Columns) -> str:
    """Return columns as a statement declares them for the rows of a JSON document."""
    return ", ".join(f"{name} {type_}" for name, type_ in columns)


def document_of(columns: Columns, rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as a JSON array of objects; what stands in a column of JSON is JSON already.

    psycopg writes arrays of text element by element in Python, which costs more than all the rest of a step.
    """
    names = [name for name, _ in columns]
    written = {number for number, (_, type_) in enumerate(columns) if type_ == "json"}
    try:
        return orjson.dumps(
            [
                {
                    name: orjson.Fragment(value) if number in written else value
                    for number, (name, value) in enumerate(zip(names, row, strict=True))
                    if value is not None  # what is missing is NULL
                }
                for row in rows
            ]
        ).decode()
    except orjson.JSONEncodeError as error:  # half a character, for one
        raise DataError(f"{names[0]}, …: {error}") from error


def read_json(data: str | bytes) -> Any:
    """Return the value of a document."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)


def json_text(value: Any) -> str:
    """Return a value, all of whose numbers are finite, as a document."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value)
