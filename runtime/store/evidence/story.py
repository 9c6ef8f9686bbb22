"""Reads everything on record about a finished run.

Reading is SQLAlchemy Core on a connection of its own, in whichever thread builds the bundle.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, select
from sqlalchemy.engine import RowMapping
from sqlalchemy.sql.schema import Table

from receipts.fields import timestamp
from runtime.store import tables as t
from runtime.store.database.alchemy import open_engine


@dataclass(frozen=True)
class Story:
    """One run's records up to the leaf at which it is sealed, as plain values."""

    run: Mapping[str, Any]
    definition: bytes
    decisions: list[dict[str, Any]]
    policies: dict[str, dict[str, str]]
    approvals: list[dict[str, Any]]
    receipts: list[dict[str, Any]]
    leaves: list[dict[str, Any]]


def read_story(dsn: str, run_id: str) -> Story:
    """Return the run's records up to its sealing, in one consistent view."""
    isolation: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with _engine(dsn).connect().execution_options(**isolation) as conn:
        return _story(conn, run_id)


@lru_cache(maxsize=1)
def _engine(dsn: str) -> Engine:
    """Return the one engine of this process: a new one has to learn the server and its statements anew."""
    return open_engine(dsn)


def _story(conn: Connection, run_id: str) -> Story:
    bundle = _one(conn, t.evidence_bundles, t.evidence_bundles.c.run_id == run_id)
    sealed = bundle["sealed_seq"]
    run = _one(conn, t.runs, t.runs.c.run_id == run_id)
    leaves = [row["leaf"] for row in _all(conn, t.audit_leaves, run_id, t.audit_leaves.c.seq) if row["seq"] <= sealed]
    decisions = [
        row for row in _all(conn, t.policy_decisions, run_id, t.policy_decisions.c.seq) if row["seq"] <= sealed
    ]
    receipts = [row for row in _all(conn, t.receipts, run_id, t.receipts.c.seq) if row["seq"] <= sealed]
    definition = _one(
        conn,
        t.definitions,
        (t.definitions.c.name == run["definition_name"]) & (t.definitions.c.version == run["definition_version"]),
    )
    return Story(
        run=_run(conn, run, leaves, sealed),
        definition=bytes(definition["canonical"]),
        decisions=[row["document"] for row in decisions],
        policies=_policies(conn, {row["policy_digest"] for row in decisions}),
        approvals=_approvals(conn, run_id, bundle["sealed_cards"]),
        receipts=[row["document"] for row in receipts],
        leaves=leaves,
    )


def _run(conn: Connection, run: RowMapping, leaves: list[dict[str, Any]], sealed: int) -> dict[str, Any]:
    steps = _all(conn, t.steps, run["run_id"], t.steps.c.position)
    waits = _all(conn, t.waits, run["run_id"], t.waits.c.created_at)
    return {
        "run_id": run["run_id"],
        "tenant": run["tenant"],
        "definition": {
            "name": run["definition_name"],
            "version": run["definition_version"],
            "digest": run["definition_digest"],
        },
        "trigger": {"type": run["trigger_type"], "ref": run["trigger_ref"]},
        "requested_by": run["requested_by"],
        "submitted_by": run["submitted_by"],
        "status": run["status"],
        "error": run["error"],
        "created_at": timestamp(run["created_at"]),
        "finished_at": timestamp(run["finished_at"]),
        "writes": run["writes"],
        "steps": [{name: step[name] for name in ("path", "verb", "status", "error", "attempt")} for step in steps],
        "waits": [
            {
                "step": wait["step"],
                "type": wait["type"],
                "correlation_key": wait["correlation_key"],
                "status": wait["status"],
                "opened_at": timestamp(wait["created_at"]),
                "deadline": timestamp(wait["deadline"]),
                "resolved_at": timestamp(wait["resolved_at"]) if wait["resolved_at"] else None,
            }
            for wait in waits
        ],
        "sealed_seq": sealed,
        "audit_head": leaves[-1]["hash"],
    }


def _approvals(conn: Connection, run_id: str, sealed_cards: Mapping[str, int]) -> list[dict[str, Any]]:
    rows = _all(conn, t.approvals, run_id, t.approvals.c.requested_at)
    found = conn.execute(
        select(t.votes).join(t.approvals).where(t.approvals.c.run_id == run_id).order_by(t.votes.c.at, t.votes.c.person)
    )
    votes = found.mappings().all()
    return [
        _approval(
            row,
            [vote for vote in votes if vote["approval_id"] == row["approval_id"]],
            row["cards"][: sealed_cards.get(row["approval_id"])],
        )
        for row in rows
    ]


def _policies(conn: Connection, digests: set[str]) -> dict[str, dict[str, str]]:
    found = conn.execute(select(t.policy_texts).where(t.policy_texts.c.digest.in_(sorted(digests))))
    return {row["digest"]: row["files"] for row in found.mappings()}


def _one(conn: Connection, table: Table, where: ColumnElement[bool]) -> RowMapping:
    return conn.execute(select(table).where(where)).mappings().one()


def _all(conn: Connection, table: Table, run_id: str, order: ColumnElement[Any]) -> list[RowMapping]:
    return list(conn.execute(select(table).where(table.c.run_id == run_id).order_by(order)).mappings())


def _approval(row: RowMapping, votes: list[RowMapping], cards: list[Any]) -> dict[str, Any]:
    return {
        "id": row["approval_id"],
        "effect_id": row["effect_id"],
        "step": row["step"],
        "kind": row["kind"],
        "digest": row["digest"],
        "tier": row["tier"],
        "requirement": row["requirement"],
        "reasons": row["reasons"],
        "before": row["before"],
        "status": row["status"],
        "result": row["result"],
        "escalated": row["escalated"],
        "requested_at": timestamp(row["requested_at"]),
        "expires_at": timestamp(row["expires_at"]),
        "decided_at": timestamp(row["decided_at"]) if row["decided_at"] else None,
        "votes": [
            {
                "person": vote["person"],
                "person_name": vote["person_name"],
                "groups": vote["groups"],
                "verdict": vote["verdict"],
                "reason": vote["reason"],
                "slack": {"team": vote["team"], "user": vote["account"]},
                "at": timestamp(vote["at"]),
            }
            for vote in votes
        ],
        "cards": cards,
    }
