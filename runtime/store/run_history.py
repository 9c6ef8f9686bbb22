"""Run history: everything on record about a finished run, read to build its bundle, to replay it, or to export chains.

Everything is read in one view of the database, to which nothing changes meanwhile. The history for a bundle is read on
a connection of its own, in the thread that builds the bundle.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import psycopg
from psycopg import Connection, IsolationLevel
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads

from receipts.chain import Leaf, LeafSet, in_place, leaves_of
from receipts.fields import timestamp
from runtime.model.approval import Edit
from runtime.model.questions import Question
from runtime.model.votes import Via, Vote
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import read_json


@dataclass(frozen=True)
class Story:
    """One run's records up to the leaf at which it is sealed, as plain values."""

    definition: bytes
    decisions: list[dict[str, Any]]
    policies: dict[str, dict[str, str]]
    approvals: list[dict[str, Any]]
    receipts: list[dict[str, Any]]
    reads: list[dict[str, Any]]
    leaves: list[dict[str, Any]]


def read_run_histories(dsn: str, run_ids: Sequence[str]) -> dict[str, Story]:
    """Return runs' records up to their sealing, in one consistent view. A pooler may stand in between."""
    with psycopg.connect(dsn, row_factory=dict_row, prepare_threshold=None) as conn:
        set_json_loads(read_json, conn)
        conn.isolation_level = IsolationLevel.REPEATABLE_READ
        conn.read_only = True
        return run_histories_in(conn, run_ids)


_SEALED = """
    SELECT b.run_id, b.sealed_seq, b.sealed_cards, d.canonical
      FROM evidence_bundles b JOIN runs r USING (run_id)
      JOIN definitions d ON (d.name, d.version) = (r.definition_name, r.definition_version)
     WHERE b.run_id = ANY(%s)
"""
_RECORDS = """
    SELECT t.* FROM {table} t JOIN evidence_bundles b USING (run_id)
     WHERE b.run_id = ANY(%s) AND t.{seq} <= b.sealed_seq ORDER BY t.run_id, t.{seq}
"""


def run_histories_in(conn: Connection[DictRow], run_ids: Sequence[str]) -> dict[str, Story]:
    """Return runs' records up to their sealing, in the view that a connection has; runs not begun are left out.

    Each table that is read here stands in evidence, and is compared by `runtime.services.audit`.
    """
    sealed = {row["run_id"]: row for row in _all(conn, _SEALED, list(run_ids))}
    tables = {"leaf_sets": "first_seq", "policy_decisions": "seq", "receipts": "seq", "reads": "seq"}
    leaves, decisions, receipts, reads = (
        _by_run(conn, _RECORDS.format(table=table, seq=seq), run_ids) for table, seq in tables.items()
    )
    policies = _policies(conn, {row["policy_digest"] for rows in decisions.values() for row in rows})
    approvals = _Approvals.read(conn, run_ids)
    return {
        run_id: Story(
            definition=bytes(bundle["canonical"]),
            decisions=[row["document"] for row in decisions[run_id]],
            policies=_those(policies, {row["policy_digest"] for row in decisions[run_id]}),
            approvals=approvals.of(run_id, bundle["sealed_cards"]),
            receipts=[row["document"] for row in receipts[run_id]],
            reads=[row["document"] for row in reads[run_id]],
            leaves=chain_of_rows(run_id, leaves[run_id], last=bundle["sealed_seq"]),
        )
        for run_id, bundle in sealed.items()
    }


def _by_run(conn: Connection[DictRow], query: str, run_ids: Sequence[str]) -> dict[str, list[DictRow]]:
    """Return what a query gives for each of the runs, in its order."""
    found: dict[str, list[DictRow]] = {run_id: [] for run_id in run_ids}
    for row in _all(conn, query, list(run_ids)):
        found[row["run_id"]].append(row)
    return found


@dataclass(frozen=True)
class _Approvals:
    """Rows of runs' approvals, each by its run."""

    rows: Mapping[str, Sequence[DictRow]]
    votes: Mapping[str, Sequence[DictRow]]
    edits: Mapping[str, Sequence[DictRow]]
    questions: Mapping[str, Sequence[DictRow]]

    @classmethod
    def read(cls, conn: Connection[DictRow], run_ids: Sequence[str]) -> "_Approvals":
        of_approval = "SELECT t.*, a.run_id FROM {0} t JOIN approvals a USING (approval_id) WHERE a.run_id = ANY(%s)"
        return cls(
            _by_run(conn, "SELECT * FROM approvals WHERE run_id = ANY(%s) ORDER BY requested_at, approval_id", run_ids),
            _by_run(conn, of_approval.format("votes") + " ORDER BY t.at, t.person", run_ids),
            _by_run(conn, "SELECT * FROM edits WHERE run_id = ANY(%s)", run_ids),
            _by_run(conn, of_approval.format("questions") + " ORDER BY t.asked_at, t.question_id", run_ids),
        )

    def of(self, run_id: str, sealed_cards: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return a run's approvals as its bundle has them."""
        votes, edits = self.votes[run_id], {edit["approval_id"]: edit for edit in self.edits[run_id]}
        return [
            {
                **asked(row),
                **_questions(row["approval_id"], self.questions[run_id]),
                "status": row["status"],
                "votes": [vote_document(one) for one in votes if one["approval_id"] == row["approval_id"]],
                "cards": row["cards"][: sealed_cards.get(row["approval_id"])],
                **({"edited": edit_document(edits[row["approval_id"]])} if row["approval_id"] in edits else {}),
            }
            for row in self.rows[run_id]
        ]


def _questions(approval_id: str, rows: Sequence[DictRow]) -> dict[str, Any]:
    """Return what was asked about an approval, under a name that stands only where something was."""
    found = [question_document(row).document() for row in rows if row["approval_id"] == approval_id]
    return {"questions": found} if found else {}


def _policies(conn: Connection[DictRow], digests: set[str]) -> dict[str, dict[str, str]]:
    found = _all(conn, "SELECT digest, files FROM policy_texts WHERE digest = ANY(%s)", sorted(digests))
    return {row["digest"]: row["files"] for row in found}


def _those(policies: Mapping[str, dict[str, str]], digests: set[str]) -> dict[str, dict[str, str]]:
    return {digest: policies[digest] for digest in sorted(digests & policies.keys())}


def _all(conn: Connection[DictRow], query: str, *values: Any) -> list[DictRow]:
    return conn.execute(query.encode(), values).fetchall()


def asked(row: DictRow) -> dict[str, Any]:
    """Return the request as `NewApproval.document` had it when its digest went on the chain."""
    names = ("effect_id", "step", "kind", "digest", "tier", "requirement", "reasons", "before", "purpose")
    return {
        "id": row["approval_id"],
        **{name: row[name] for name in names},
        "requested_at": timestamp(row["requested_at"]),
        "expires_at": timestamp(row["expires_at"]),
    }


def vote_document(row: DictRow) -> dict[str, Any]:
    """Return the vote as `Vote.document` had it when its digest went on the chain."""
    said = {name: row[name] for name in Vote.__dataclass_fields__}
    return Vote(**{**said, "via": Via(row["via"])}).document()


def question_document(row: DictRow) -> Question:
    """Return the question, of which evidence and the digests on the chain have the documents."""
    return Question(**{name: row[name] for name in Question.__dataclass_fields__})


def edit_document(row: DictRow) -> dict[str, Any]:
    """Return the edit as `Edit.document` had it when its digest went on the chain."""
    return Edit(**{name: row[name] for name in Edit.__dataclass_fields__}).document()


def leaves_in(row: Mapping[str, Any]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the leaves of a row of `leaf_sets`, as `leaves_of` does."""
    hashes, at = row["hashes"].hex(), timestamp(row["at"])
    return leaves_of(LeafSet(row["run_id"], row["first_seq"], at, row["request_id"], hashes), row["leaves"])


def chain_of_rows(run_id: str, rows: Iterable[Mapping[str, Any]], last: int | None = None) -> list[dict[str, Any]]:
    """Return the whole JSON of a run's leaves, of all its rows in order; none after the `last`."""
    said = (leaf for row in rows for leaf in leaves_in(row))
    return in_place(run_id, (leaf for leaf in said if last is None or leaf[0] <= last))


async def chain_of_run(conn: Conn, run_id: str) -> list[Leaf]:
    """Return the leaves of a run, in their order."""
    rows = await conn.rows("SELECT * FROM leaf_sets WHERE run_id = %s ORDER BY first_seq", (run_id,))
    return [Leaf.model_validate(leaf) for leaf in chain_of_rows(run_id, rows)]


@dataclass(frozen=True)
class RecordedRun:
    """A run's row, its leaves in order, and the stored results of its steps by path."""

    row: Mapping[str, Any]
    leaves: Sequence[Leaf]
    results: Mapping[str, Any]


async def recorded_run(conn: Conn, tenant: str, run_id: str) -> RecordedRun | None:
    """Return a run of the tenant as it is on record, None where there is none."""
    row = await conn.row("SELECT * FROM runs WHERE tenant = %s AND run_id = %s", (tenant, run_id))
    if row is None:
        return None
    results = await conn.rows("SELECT path, result FROM steps WHERE run_id = %s AND result IS NOT NULL", (run_id,))
    return RecordedRun(row, await chain_of_run(conn, run_id), {one["path"]: one["result"] for one in results})


_AT_ONCE = 200
"""Runs whose leaves are read together."""


@asynccontextmanager
async def one_view(conn: Conn) -> AsyncIterator[None]:
    """Have all that is read inside be of one moment."""
    async with conn.transaction():
        await conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


async def read_chains(conn: Conn, run_ids: Sequence[str]) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the leaves of each of these runs that has any."""
    for first in range(0, len(run_ids), _AT_ONCE):
        rows = await conn.rows(
            "SELECT * FROM leaf_sets WHERE run_id = ANY(%s) ORDER BY run_id, first_seq",
            (list(run_ids[first : first + _AT_ONCE]),),
        )
        for run_id, own in groupby(rows, key=lambda row: str(row["run_id"])):
            yield run_id, chain_of_rows(run_id, own)
