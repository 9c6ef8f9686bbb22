"""What there is to judge: the histories' lines and the database's rows."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from tests.faults.checker.canonical import digest
from tests.faults.world.history import read

Row = dict[str, Any]

_TABLES = {
    "runs": "SELECT * FROM runs",
    "effects": "SELECT * FROM effects",
    "steps": "SELECT run_id, path, status, lease_owner FROM steps",
    "receipts": "SELECT * FROM receipts ORDER BY run_id, seq",
    "reads": "SELECT * FROM reads ORDER BY run_id, seq",
    "decisions": "SELECT *, extract(epoch FROM at)::float AS at_s FROM policy_decisions",
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
