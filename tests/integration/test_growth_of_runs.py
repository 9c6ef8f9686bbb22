"""What one more step costs does not grow with the steps that its run has made."""

import json
from pathlib import Path

import psycopg
import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.bench import Bench, open_bench
from tests.conftest import fresh_database
from tests.integration.conftest import PACK, Targets
from tests.integration.nodes_stage import HEAD
from tests.opa_server import copy_policies, start_opa
from tests.patience import MINUTE

FEW, MANY = 20, 160
EACH = """
steps:
  - id: each
    repeat:
      for_each: "${trigger.items}"
      do: [{ id: write, verb: note, params: { incident: I1, text: "${string(item)}" } }]
"""
READ = "SELECT sum(seq_tup_read + idx_tup_fetch)::int FROM pg_stat_user_tables WHERE relname IN ('effects', 'steps')"


@pytest.fixture
def runbooks(tmp_path: Path) -> Path:
    text = HEAD.replace("schema: {}", "schema: { properties: { items: { type: array } } }") + EACH
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "tree.yaml").write_text(text, encoding="utf-8")
    return tmp_path


async def _run(bench: Bench, count: int) -> None:
    run_id = (await bench.start("bench.tree", {"items": list(range(count))})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"


async def _read(postgres: str, opa: OpaChild, runbooks: Path, count: int) -> int:
    """Return how many steps and effects were read for a run of so many iterations."""
    targets = Targets.fresh()
    with fresh_database(postgres) as dsn:
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
