"""Leaf sets: the audit leaves that a transaction appends to a run's chain stand in one row.

What the row's columns say is left out of each leaf, and so is what is usual: members that are null, and the program as
the actor. A leaf that is read is whole again, and has the hash that it was written with.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from receipts.chain import PROGRAM, Leaf, Written, in_place
from receipts.fields import timestamp
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind

COLUMNS = "run_id, first_seq, at, request_id, hashes, leaves"
"""The columns that `leaves_of` reads, by the name of their table."""

_SETS = WriteKind(
    "leaves",
    "leaf_sets",
    f"INSERT INTO leaf_sets ({COLUMNS}) SELECT * FROM {{r}}",  # noqa: S608 - our own columns
    (
        ("run_id", "text"),
        ("first_seq", "int"),
        ("at", "timestamptz"),
        ("request_id", "text"),
        ("hashes", "bytea"),
        ("leaves", "json"),
    ),
    key=2,
)
_PENDING = WriteKind(
    "pending",
    "log_pending",
    "INSERT INTO log_pending (chain, first_seq, hashes, tenant) SELECT * FROM {r}",
    (("chain", "text"), ("first_seq", "int"), ("hashes", "bytea"), ("tenant", "text")),
    key=2,
)
_ABOUT = ("step", "approval_id", "effect_id")
_ACTOR = dict(PROGRAM.__dict__)
HASH = 64
"""Characters of a hash in hexadecimal."""


async def write_leaves(conn: Conn, tenant: str, run_id: str, written: Sequence[Written]) -> None:
    """Write leaves that follow each other, and have them given their places in the log."""
    row = row_of(written)
    await conn.gather(_SETS, (run_id, *row))
    await conn.gather(_PENDING, (run_id, row.first_seq, row.hashes, tenant))


class LeafSet(NamedTuple):
    """The columns of a row beside its run, as they are written: `hashes` in hexadecimal, `leaves` as JSON."""

    first_seq: int
    at: str
    request_id: str | None
    hashes: str
    leaves: str


def row_of(written: Sequence[Written]) -> LeafSet:
    """Return the row of leaves that follow each other and are of one moment."""
    first = written[0].leaf
    request_id = first.correlation.request_id
    hashes = "".join(one.leaf.hash for one in written)
    leaves = ",".join(_brief(one, request_id) for one in written)
    return LeafSet(first.seq, first.at, request_id, f"\\x{hashes}", f"[{leaves}]")


def _brief(written: Written, request_id: str | None) -> str:
    """Return what a leaf says beside its row, as JSON that ends with its `data` and `event` as they were hashed."""
    leaf, about = written.leaf, written.leaf.correlation
    own: dict[str, Any] = {name: value for name in _ABOUT if (value := getattr(about, name)) is not None}
    if leaf.actor != PROGRAM:
        own["actor"] = leaf.actor.__dict__
    if about.request_id != request_id:
        own["request_id"] = about.request_id
    # no text before it can hold this: a quote inside a text is escaped
    _, mark, said = written.said.decode().partition(',"data":')
    members = orjson.dumps(own).decode()[:-1] + "," if own else "{"
    return members + mark[1:] + said


def leaves_of(row: Mapping[str, Any]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield sequence number, hash in hexadecimal, and what it says, of each leaf of a row."""
    first, hashes = row["first_seq"], row["hashes"].hex()
    at, request_id, run_id = timestamp(row["at"]), row["request_id"], row["run_id"]
    for number, found in enumerate(row["leaves"]):
        own = found if isinstance(found, dict) else {}  # what somebody put there is read, and has another hash
        about = {name: own.get(name) for name in _ABOUT}
        yield (
            first + number,
            hashes[HASH * number : HASH * (number + 1)],
            {
                "actor": own.get("actor", _ACTOR),
                "at": at,
                "correlation": {**about, "request_id": own.get("request_id", request_id), "run_id": run_id},
                "data": own.get("data"),
                "event": own.get("event"),
            },
        )


def chain_of_rows(run_id: str, rows: Iterable[Mapping[str, Any]], last: int | None = None) -> list[dict[str, Any]]:
    """Return the whole JSON of a run's leaves, of all its rows in order; none after the `last`."""
    said = (one for row in rows for one in leaves_of(row))
    return in_place(run_id, (one for one in said if last is None or one[0] <= last))


async def chain_of_run(conn: Conn, run_id: str) -> list[Leaf]:
    """Return the leaves of a run, in their order."""
    rows = await conn.rows(f"SELECT {COLUMNS} FROM leaf_sets WHERE run_id = %s ORDER BY first_seq", (run_id,))  # noqa: S608
    return [Leaf.model_validate(leaf) for leaf in chain_of_rows(run_id, rows)]
