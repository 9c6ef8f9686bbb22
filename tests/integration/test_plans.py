"""However much there is, rows are found by an index: whatever the database knows of its tables."""

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.bench import open_bench
from tests.copies import copy_row
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE

OTHERS = 3000
TABLES = ("runs", "steps", "waits", "approvals", "effects", "notifications", "receipts", "policy_decisions")
FRESH = (
    *("run_id", "trigger_ref", "approval_id", "effect_id", "wait_id", "notification_id", "receipt_id", "decision_id"),
    *("token", "idempotency_key", "correlation_key", "dedupe_key"),
)
WORK = {"ix_effects_due", "ix_effects_leased", "ix_steps_reads"}
"""Lists of what is due or under way, which whoever looks for work reads."""
OF_ALL = {"ix_runs_listed", "ix_approvals_tenant_requested_at"}
"""Indexes over all that a tenant has."""
sent: dict[str, Any] = {}


class Recording(AsyncCursor[DictRow]):
    """Remembers what is sent, and with what."""

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        sent[query.decode() if isinstance(query, bytes) else query] = params
        return await super().execute(query, params, **kwargs)


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _nodes(inner)


def _far(node: dict[str, Any]) -> Iterator[str]:
    """Yield what a node of a plan reads without being led to its rows."""
    index = node.get("Index Name", "")
    if node.get("Relation Name") in TABLES and node["Node Type"] == "Seq Scan":
        yield f"all of {node['Relation Name']}"
    if index in OF_ALL or (index and "Index Cond" not in node and index not in WORK):
        yield f"all of {index}"


@pytest.mark.parametrize("known", ["never", "while it was small", "now"])
async def test_nothing_that_votes_and_steps_ask_reads_what_all_others_have(
    dsn: str, opa: OpaChild, targets: Targets, known: str
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Recording) as bench,
    ):
        await bench.start("bench.wait", {"case": "1"}, ref="w")
        await bench.settle()
        run = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
        await bench.settle()
        await bench.click("ann", "nothing")
        [row] = await bench.rows("SELECT approval_id FROM approvals WHERE run_id = %s", run)
        if known == "while it was small":
            await bench.meddle("ANALYZE")
        for table in TABLES:
            await copy_row(bench, table, OTHERS, *FRESH)
        if known == "now":
            await bench.meddle("ANALYZE")
        sent.clear()
        await bench.complete("acme:await_answer:1", {"answer": "yes"})
        for person in ("ann", "ben"):
            await bench.click(person, row["approval_id"])
        await bench.settle()
        asked = [(query, said) for query, said in sent.items() if query.split()[0] in ("SELECT", "WITH", "UPDATE")]
        ended = await bench.rows("SELECT status FROM runs WHERE finished_at IS NOT NULL")
        assert [row["status"] for row in ended] == ["succeeded", "succeeded"]
        found, looked = {}, set()
        async with bench.engine.pool.connection() as conn:
            for query, said in asked:
                [plan] = await (await conn.execute("EXPLAIN (FORMAT JSON) " + query, said)).fetchall()
                nodes = list(_nodes(plan["QUERY PLAN"][0]["Plan"]))
                looked |= {node.get("Relation Name") for node in nodes}
                found[" ".join(query.split())] = [far for node in nodes for far in _far(node)]
    assert looked >= set(TABLES)
    assert {query: read for query, read in found.items() if read} == {}
