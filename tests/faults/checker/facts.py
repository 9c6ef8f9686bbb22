"""Facts to judge: the lines of histories, the database's rows, canonical JSON and the audit log.

All of it is derived anew: what the program says of itself is derived by somebody else. Of the log, that means places
without gap or double, and checkpoints over these leaves.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.faults.world.history import read


def canonical(value: Any) -> bytes:
    """Return the bytes of RFC 8785, for what stands in records: text, whole numbers, plain fractions."""
    return _text(value).encode()


def _text(value: Any) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: str(name).encode("utf-16-be"))
        return "{" + ",".join(f"{_text(name)}:{_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical bytes, as records name each other."""
    return hashlib.sha256(canonical(value)).hexdigest()


def leaf_hash(leaf: dict[str, Any]) -> str:
    """Return the hash of a leaf of the audit chain: RFC 6962, over the leaf without its own hash."""
    body = {name: value for name, value in leaf.items() if name != "hash"}
    return hashlib.sha256(b"\x00" + canonical(body)).hexdigest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node of a Merkle log: RFC 6962."""
    return hashlib.sha256(b"\x01" + left + right).digest()


Row = dict[str, Any]

_COMMITTED = "coalesce(pg_xact_commit_timestamp(xmin), clock_timestamp()) AS committed_at"
"""When PostgreSQL committed what wrote a row: now, where that is the transaction that reads it."""

_TABLES = {
    "runs": "SELECT * FROM runs",
    "effects": "SELECT * FROM effects",
    "steps": "SELECT run_id, path, status, lease_owner FROM steps",
    "waits": "SELECT wait_id, run_id FROM waits",
    "receipts": "SELECT * FROM receipts ORDER BY run_id, seq",
    "reads": "SELECT * FROM reads ORDER BY run_id, seq",
    "decisions": f"SELECT *, extract(epoch FROM at)::float AS at_s, {_COMMITTED} FROM policy_decisions",
    "texts": "SELECT digest, files FROM policy_texts",
    "versions": "SELECT version, digest, author FROM policy_versions ORDER BY version",
    "activations": f"SELECT *, {_COMMITTED} FROM policy_activations ORDER BY number",
    "budget_uses": "SELECT * FROM budget_uses",
    "budget_totals": "SELECT * FROM budget_totals",
    "approvals": "SELECT * FROM approvals",
    "votes": "SELECT *, extract(epoch FROM at)::float AS at_s FROM votes",
    "tenants": "SELECT 'tenant_' || tenant AS run_id, audit_seq, audit_hash FROM tenants",
    "leaves": (
        "SELECT run_id, seq, encode(hash, 'hex') AS hash, leaf FROM audit_leaves"
        " UNION ALL SELECT 'tenant_' || tenant, seq, encode(hash, 'hex'), leaf FROM tenant_leaves ORDER BY run_id, seq"
    ),
    "places": "SELECT first_index, count, chain, first_seq FROM log_entries ORDER BY first_index",
    "waiting": "SELECT chain, first_seq, first_seq - 1 + length(hashes) / 32 AS last_seq FROM log_pending",
    "checkpoints": "SELECT size, encode(root, 'hex') AS root FROM log_checkpoints",
    "notifications": "SELECT notification_id, kind, status, payload, outcome FROM notifications",
    "bundles": "SELECT * FROM evidence_bundles",
}


@dataclass(frozen=True)
class Facts:
    """Everything, in memory."""

    lines: list[Row]
    tables: dict[str, list[Row]]

    def told(self, kind: str) -> list[Row]:
        """Return the histories' lines of a kind."""
        return [line for line in self.lines if line["kind"] == kind]

    @cached_property
    def effects_by_key(self) -> dict[tuple[str, str], Row]:
        """Return the steps' effects by operation and idempotency key, the one that succeeded first of all."""
        ranked = sorted(self.tables["effects"], key=lambda row: row["status"] == "dispatched")
        return {(row["operation"], row["idempotency_key"]): row for row in ranked if row["purpose"] == "step"}

    @cached_property
    def of_effect(self) -> dict[str, dict[str, list[Row]]]:
        """Return receipts, decisions and approvals by effect."""
        found: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for table in ("receipts", "decisions", "approvals"):
            for row in self.tables[table]:
                found[row["effect_id"]][table].append(row)
        return found

    @cached_property
    def decided(self) -> dict[str, Row]:
        """Return the decisions by their ids."""
        return {row["decision_id"]: row for row in self.tables["decisions"]}

    @cached_property
    def chains(self) -> dict[str, list[Row]]:
        """Return the leaves' rows by run, and those of a tenant's own chain by its id, in order."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.tables["leaves"]:
            found[row["run_id"]].append(row)
        return found

    @cached_property
    def votes_of(self) -> dict[str, list[Row]]:
        """Return the votes by approval."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in self.tables["votes"]:
            found[row["approval_id"]].append(row)
        return found


def gather(dsn: str, histories: Path) -> Facts:
    """Read it all, the database in one consistent view."""
    with psycopg.connect(dsn, row_factory=dict_row) as conn:
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return facts_of(conn, histories)


def facts_of(conn: psycopg.Connection[Row], histories: Path) -> Facts:
    """Read it all, the database as a connection sees it."""
    tables = {name: conn.execute(query.encode()).fetchall() for name, query in _TABLES.items()}
    for row in (*tables["receipts"], *tables["reads"], *tables["decisions"]):
        row["digest"] = digest(row["document"])
    return Facts(read(histories), tables)


def leaves_have_one_place(facts: Facts) -> Iterator[str]:
    """Each leaf stands at one index, or still awaits one; indices have no gap, and nothing else stands there."""
    index = 0
    places: list[tuple[str, int]] = []
    for row in facts.tables["places"]:
        if row["first_index"] != index:
            yield f"nothing stands at index {index} of the log: {row['first_index']} comes next"
        places += [(row["chain"], row["first_seq"] + step) for step in range(row["count"])]
        index = row["first_index"] + row["count"]
    waiting = [
        (row["chain"], seq) for row in facts.tables["waiting"] for seq in range(row["first_seq"], row["last_seq"] + 1)
    ]
    leaves = {(row["run_id"], row["seq"]) for row in facts.tables["leaves"]}
    known = [*places, *waiting]
    if len(known) > len(set(known)):
        yield f"{len(known) - len(set(known))} leaves have more than one place in the log"
    yield from (f"leaf {seq} of {chain} has no place in the log" for chain, seq in sorted(leaves - set(known))[:9])
    gone = sorted(set(known) - leaves)[:9]
    yield from (f"leaf {seq} of {chain} stands in the log and is gone" for chain, seq in gone)


def checkpoints_are_of_the_log(facts: Facts) -> Iterator[str]:
    """What was signed at each size is the root over the leaves that stand there."""
    hashes = {(row["run_id"], row["seq"]): bytes.fromhex(row["hash"]) for row in facts.tables["leaves"]}
    signed = {row["size"]: row["root"] for row in facts.tables["checkpoints"]}
    stack: list[tuple[int, bytes]] = []  # complete subtrees, each with its number of leaves
    size = 0
    for row in facts.tables["places"]:
        for step in range(row["count"]):
            stack.append((1, hashes.get((row["chain"], row["first_seq"] + step), bytes(32))))
            while len(stack) > 1 and stack[-1][0] == stack[-2][0]:
                (width, right), (_, left) = stack.pop(), stack.pop()
                stack.append((2 * width, node_hash(left, right)))
            size += 1
            if size in signed and _folded(stack).hex() != signed[size]:
                yield f"the checkpoint of {size} leaves is over others than stand there"
    yield from (f"a checkpoint is of {over} leaves, and the log has {size}" for over in signed if over > size)


def _folded(stack: list[tuple[int, bytes]]) -> bytes:
    root = stack[-1][1]
    for _, left in reversed(stack[:-1]):
        root = node_hash(left, root)
    return root
