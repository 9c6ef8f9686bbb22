"""What grows with the database, and what must not grow with it."""

from collections.abc import Iterator
from typing import Any

import pytest
from psycopg import AsyncCursor
from psycopg.rows import DictRow

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from runtime.model.search import Sought
from runtime.store.bundle_search import find_runs
from tests.bench import TENANT, open_bench
from tests.copies import copy_row
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE

OTHERS = 2000
sent: list[tuple[Any, Any]] = []


class Recording(AsyncCursor[DictRow]):
    """Remembers what is sent, but for BEGIN and COMMIT."""

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        if query not in ("BEGIN", "COMMIT"):
            sent.append((query, params))
        return await super().execute(query, params, **kwargs)


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


def _rows(node: dict[str, Any], table: str = "approvals") -> Iterator[float]:
    """Yield how many rows each look into a table read, of those that it threw away too."""
    if node.get("Relation Name") == table:
        yield (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    for inner in node.get("Plans", ()):
        yield from _rows(inner, table)
