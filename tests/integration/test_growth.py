"""What grows with the database, and what must not grow with it."""

from collections.abc import Iterator
from typing import Any

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.bench import open_bench
from tests.integration.conftest import PACK, Targets
from tests.patience import MINUTE

OTHERS = 2000
sent: list[tuple[Any, Any]] = []


class Recording(AsyncCursor[DictRow]):
    """Remembers what is sent."""

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
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
        await bench.meddle(
            "INSERT INTO approvals SELECT (jsonb_populate_record(NULL::approvals, to_jsonb(a) || jsonb_build_object("
            "'tenant', 'other', 'approval_id', 'x' || n, 'run_id', 'x' || n, 'effect_id', 'x' || n))).*"
            f" FROM (SELECT * FROM approvals LIMIT 1) a, generate_series(1, {OTHERS}) n"
        )
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


def _rows(node: dict[str, Any]) -> Iterator[float]:
    """Yield how many rows each look into the approvals read, of those that it threw away too."""
    if node.get("Relation Name") == "approvals":
        yield (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    for inner in node.get("Plans", ()):
        yield from _rows(inner)
