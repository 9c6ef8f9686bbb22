"""Growth: steps, runs and rows cost no more as the database grows.

What grows with the database, and what must not grow with it.

What one more step costs does not grow with the steps that its run has made.

However much there is, rows are found by an index: whatever the database knows of its tables.
"""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.search import Sought
from runtime.services.attention import find_attention
from runtime.store.bundle_search import find_runs
from runtime.store.operator_lists import Wanted, list_runs
from tests.bench import TENANT, Bench, open_bench
from tests.copies import copy_row
from tests.databases import new_database
from tests.integration.acts_stage import HEAD
from tests.integration.conftest import PACK, Targets
from tests.opa_server import copy_policies, start_opa
from tests.patience import MINUTE

OTHERS = 2000
sent: list[tuple[Any, Any]] = []


class Recording(AsyncCursor[DictRow]):
    """Remembers what is sent, but for BEGIN and COMMIT."""

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        if query not in ("BEGIN", "COMMIT"):
            sent.append((query, params))
        return await super().execute(query, params, **kwargs)


@pytest.fixture
async def dsn(postgres: str) -> AsyncIterator[str]:
    """Give a database that no other test had: plans depend on how large tables ever were."""
    async with new_database(postgres) as made:
        yield made


async def test_home_reads_in_five_statements_what_waits_for_its_own_tenant(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Recording) as bench,
    ):
        for number in range(3):
            await bench.start("bench.file", {"company": f"ACME {number}", "text": "r"}, ref=str(number))
        await bench.settle()
        await copy_row(bench, "approvals", OTHERS, "approval_id", "run_id", "effect_id", tenant="other")
        await bench.meddle("ANALYZE")
        sent.clear()
        assert (await bench.pending("ann", 20)).total == 3
        # the first says how the second is to be planned; then the votes, the cards that she can open, and whose she has
        assert len(sent) == 5
        query, params = sent[1]
        async with bench.engine.pool.connection() as conn:
            found = await (await conn.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query, params)).fetchall()
    looked_at = sum(_rows(found[0]["QUERY PLAN"][0]["Plan"]))
    # each to be found, and to be shown
    assert looked_at <= 6, f"{looked_at} approvals were looked at"


@pytest.mark.parametrize(
    ("sought", "table"),
    [
        (Sought(run_id="x1", seen_by="ann", limit=2), "approvals"),
        (Sought(run_id="x1", seen_by="rita", limit=2), "approvals"),
        (Sought(requested_by="rita", seen_by="rita", limit=2), "runs"),
        (Sought(customer="nobody", seen_by="ann", limit=2), "approvals"),
    ],
)
async def test_what_somebody_may_see_is_asked_of_the_runs_that_are_sought_alone(
    dsn: str, opa: OpaChild, targets: Targets, sought: Sought, table: str
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Recording) as bench,
    ):
        await bench.start("bench.file", {"company": "ACME", "text": "r"})
        await bench.settle()
        for row in ("runs", "approvals"):
            await copy_row(bench, row, OTHERS, "run_id", "trigger_ref", "approval_id", "effect_id", requested_by="cat")
        await bench.meddle("ANALYZE")
        sent.clear()
        async with bench.engine.pool.connection() as conn:
            await find_runs(conn, TENANT, sought)
            query, params = sent[-1]
            found = await (await conn.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query, params)).fetchall()
    looked_at = sum(_rows(found[0]["QUERY PLAN"][0]["Plan"], table))
    assert looked_at <= 2, f"{looked_at} rows of {table} were looked at"


@pytest.mark.parametrize("reference", ["case-1", "1"], ids=["its own", "its trigger's"])
async def test_a_run_is_found_by_its_reference_without_the_others(
    dsn: str, opa: OpaChild, targets: Targets, reference: str
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Recording) as bench,
    ):
        await bench.start("bench.file", {"company": "ACME", "text": "r"})
        await copy_row(bench, "runs", OTHERS, "run_id", "trigger_ref", "reference")
        if reference != "1":
            await bench.meddle("UPDATE runs SET reference = %s WHERE trigger_ref = '1'", reference)
        await bench.meddle("ANALYZE")
        async with bench.engine.pool.connection() as conn:
            (run,) = await list_runs(conn, TENANT, Wanted(reference=reference, limit=51))
            query, params = sent[-1]
            found = await (await conn.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query, params)).fetchall()
    assert run["trigger_ref"] == "1"
    looked_at = sum(_rows(found[0]["QUERY PLAN"][0]["Plan"], "runs"))
    assert looked_at <= 2, f"{looked_at} runs were looked at"


_STORED = """
    UPDATE runs SET sealed = true;
    INSERT INTO evidence_bundles (run_id, sealed_seq, sha256, created_at, next_try_at, stored_at, status, key_id)
    SELECT run_id, 1, repeat('a', 64), now(), now(), now(), 'stored', 'k' FROM runs
"""


async def test_what_needs_attention_is_found_without_what_needs_none(dsn: str, opa: OpaChild, targets: Targets) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Recording) as bench,
    ):
        await bench.start("bench.note", {"incident": "I1", "text": "seen", "api_token": "x"})
        await bench.settle()
        for statement in _STORED.split(";"):
            await bench.meddle(statement)
        for table in ("runs", "effects", "evidence_bundles"):
            await copy_row(bench, table, OTHERS, "run_id", "trigger_ref", "effect_id", claimed=False)
        await bench.meddle("ANALYZE")
        sent.clear()
        async with bench.engine.pool.connection() as conn:
            await find_attention(conn, TENANT)
            asked, looked_at = list(sent), 0.0
            for query, params in asked:
                found = await (await conn.execute(b"EXPLAIN (ANALYZE, FORMAT JSON) " + query, params)).fetchall()
                plan = found[0]["QUERY PLAN"][0]["Plan"]
                looked_at += sum(sum(_rows(plan, table)) for table in ("runs", "effects", "evidence_bundles"))
    assert looked_at == 0, f"{looked_at} rows were looked at"


def _rows(node: dict[str, Any], table: str = "approvals") -> Iterator[float]:
    """Yield how many rows each look into a table read, of those that it threw away too."""
    if node.get("Relation Name") == table:
        yield (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    for inner in node.get("Plans", ()):
        yield from _rows(inner, table)


FEW, MANY = 20, 160
EACH = """
steps:
  - id: each
    repeat:
      for_each: "${trigger.items}"
      at_most_at_once: AT_ONCE
      do: [{ id: write, verb: note, params: { incident: I1, text: "${string(item)}" } }]
"""
READ = """
    SELECT sum(seq_tup_read + idx_tup_fetch)::int FROM pg_stat_user_tables
     WHERE relname IN ('runs', 'effects', 'steps', 'receipts')
"""


@pytest.fixture(params=["1", "4"])
def runbooks(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    head = HEAD.replace("schema: {}", "schema: { properties: { items: { type: array } } }")
    text = head + EACH.replace("AT_ONCE", request.param)
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "tree.yaml").write_text(text, encoding="utf-8")
    return tmp_path


async def _run(bench: Bench, count: int) -> None:
    run_id = (await bench.start("bench.tree", {"items": list(range(count))})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"


async def _read(postgres: str, opa: OpaChild, runbooks: Path, count: int) -> int:
    """Return how many rows were read of what a run of so many iterations has."""
    targets = Targets.fresh()
    async with new_database(postgres) as dsn:
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK, runbooks], targets.handlers()) as bench,
        ):
            await _run(bench, count)
        assert len(targets.note.calls) == count
        with psycopg.connect(dsn, autocommit=True) as conn:  # who was connected has told the statistics what it did
            conn.execute("SELECT pg_stat_force_next_flush()")
            row = conn.execute(READ).fetchone()
            assert row
            return int(row[0])


async def test_what_an_iteration_reads_does_not_grow_with_those_before_it(
    postgres: str, runbooks: Path, tmp_path: Path
) -> None:
    policies = copy_policies(tmp_path / "rego")
    config = next(policies.glob("**/acme/data.json"))
    config.write_text(json.dumps(json.loads(config.read_text()) | {"writes_per_run": MANY}))
    async with start_opa(policies, tmp_path) as opa:
        few = await _read(postgres, opa, runbooks, FEW)
        many = await _read(postgres, opa, runbooks, MANY)
    assert many / MANY <= 1.2 * few / FEW, f"{few} rows for {FEW} iterations, {many} for {MANY}"


PLAN_OTHERS = 3000
TABLES = ("runs", "steps", "waits", "approvals", "effects", "notifications", "receipts", "policy_decisions")
FRESH = (
    *("run_id", "trigger_ref", "approval_id", "effect_id", "wait_id", "notification_id", "receipt_id", "decision_id"),
    *("token", "idempotency_key", "correlation_key", "dedupe_key"),
)
WORK = {"ix_effects_due", "ix_effects_leased", "ix_steps_reads"}
"""Lists of what is due or under way, which whoever looks for work reads."""
OF_ALL = {"ix_runs_listed", "ix_approvals_tenant_requested_at"}
"""Indexes over all that a tenant has."""
sent_statements: dict[str, Any] = {}


class RecordingPlans(AsyncCursor[DictRow]):
    """Remembers what is sent, and with what."""

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        sent_statements[query.decode() if isinstance(query, bytes) else query] = params
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
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=RecordingPlans) as bench,
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
            await copy_row(bench, table, PLAN_OTHERS, *FRESH)
        if known == "now":
            await bench.meddle("ANALYZE")
        sent_statements.clear()
        await bench.complete("acme:await_answer:1", {"answer": "yes"})
        for person in ("ann", "ben"):
            await bench.click(person, row["approval_id"])
        await bench.settle()
        asked = [
            (query, said) for query, said in sent_statements.items() if query.split()[0] in ("SELECT", "WITH", "UPDATE")
        ]
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
