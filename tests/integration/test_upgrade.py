"""What a release left open, the next one finishes: rows of the first release, upgraded and brought to an end."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bot.cards.wording import result_words
from countersign.compose.engine import keep_definitions
from countersign.embedded.opa import OpaChild
from evidence.archive.local import LocalArchive
from evidence.verify.verify import verify
from policy.client import OpaEngine
from receipts.signatures.signing import public_path
from runtime.definitions.sources.catalog import Catalog
from runtime.handlers import Answer, Usage
from runtime.log.audit import audit
from runtime.log.sequencer import Sequencer
from runtime.model.life import Activation
from runtime.store.database.migrate import migrate
from runtime.worker import sweeps
from tests.bench import TENANT, Bench, open_bench
from tests.browser import report_of, verify_page
from tests.integration.conftest import Targets
from tests.integration.program_stage import database
from tests.patience import MINUTE
from tests.sealing import sealer_of

ROWS = Path(__file__).with_name("rows_of_0001.sql")
TABLES = Path(__file__).parents[2] / "runtime/store/migrations/versions/0001_first_tables.sql"
PARKED, WAITING, QUEUED, DONE = "parked", "waiting", "queued", "done"


@pytest.fixture
def first(postgres: str) -> Iterator[str]:
    """A database of the first release with its rows."""
    with database(postgres, "upgraded", template="template0") as dsn:
        with psycopg.connect(dsn) as conn:
            conn.execute(TABLES.read_bytes())
            conn.execute("CREATE TABLE alembic_version (version_num varchar(32) PRIMARY KEY)")
            conn.execute("INSERT INTO alembic_version VALUES ('0001')")
            conn.execute(ROWS.read_bytes())
        yield dsn


@pytest.fixture
def upgraded(first: str) -> str:
    """The same, brought to the newest migration."""
    migrate(first)
    return first


async def _runs(bench: Bench) -> dict[str, tuple[str, str]]:
    """Return id and status of each run, by what triggered it."""
    found = await bench.rows("SELECT trigger_ref, run_id, status FROM runs")
    return {row["trigger_ref"]: (row["run_id"], row["status"]) for row in found}


async def test_what_the_first_release_left_open_is_finished_and_sealed_by_this_one(
    upgraded: str, opa: OpaChild, targets: Targets, tmp_path: Path
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(upgraded, policy, [], targets.handlers()) as bench,
    ):
        before = await _runs(bench)
        assert {ref: status for ref, (_, status) in before.items()} == {
            PARKED: "waiting_approval",
            WAITING: "waiting",
            QUEUED: "queued",
            DONE: "succeeded",
        }
        assert await bench.rows("SELECT person FROM votes") == [{"person": "ann"}]
        targets.file.answers = targets.note.answers = [Answer({"ok": True}, usage=[Usage("openai")])]
        await bench.settle()  # Ben's vote was on record, and not counted
        assert len(targets.file.calls) == 1
        [wait] = await bench.rows("SELECT correlation_key, token FROM waits WHERE status = 'active'")
        answered = await bench.complete(wait["correlation_key"], {"answer": "yes"}, token=wait["token"])
        assert answered["status"] == "applied"
        await bench.settle()
        after = await _runs(bench)
        assert {status for _, status in after.values()} == {"succeeded"}
        key = tmp_path / "keys/evidence.pem"
        sealer = sealer_of(bench.engine, LocalArchive(tmp_path / "evidence"), key)
        while await sealer():
            pass
        assert await bench.rows("SELECT FROM receipts WHERE document ->> 'told' IS NOT NULL") == []
        for run_id, _ in after.values():
            assert verify(tmp_path / f"evidence/{run_id}.zip", public_path(key)).run_id == run_id
        async with verify_page() as page:
            sealed = [(tmp_path / f"evidence/{run_id}.zip").read_bytes() for run_id, _ in after.values()]
            reports = [await report_of(page, data, public_path(key).read_text()) for data in sealed]
        assert [report["failure"] for report in reports] == [None] * len(after)
        assert {report["passed"][2]["fact"][-1] for report in reports} == {"1"}, "they are of the first format"


async def test_what_was_there_before_there_was_a_log_stands_in_it_and_is_no_finding(
    upgraded: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(upgraded, policy, [], targets.handlers()) as bench,
    ):
        while await Sequencer(bench.engine)():
            pass
        said = await bench.rows("SELECT leaf ->> 'event' AS event FROM tenant_leaves ORDER BY seq")
        assert Counter(row["event"] for row in said) == {
            "definition.stored": 5,
            "policy.seen": 1,
            "directory.loaded": 1,
        }
        found = await asyncio.to_thread(audit, bench.superuser, TENANT, [])
        assert (found.findings, found.waiting, found.size) == ([], 0, found.leaves)


async def test_the_first_start_after_the_upgrade_activates_what_is_newest_in_the_files(
    upgraded: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(upgraded, policy, [], targets.handlers()) as bench,
    ):
        known = await bench.rows("SELECT name, status FROM definition_lives ORDER BY name")
        assert known, "what has run is known"
        assert {row["status"] for row in known} == {"draft"}
        async with bench.engine.pool.connection() as conn:
            ran = await bench.engine.definitions.get(conn, known[0]["name"], 1)
        catalog = Catalog({(ran.name, ran.version): ran}, (), (), frozenset(), {})
        await keep_definitions(bench.engine, catalog, Activation.FIRST)
        after = await bench.rows("SELECT name FROM definition_lives WHERE status = 'active'")
        assert after == [{"name": known[0]["name"]}]
        found = await asyncio.to_thread(audit, bench.superuser, TENANT, [])
        assert found.findings == []


@pytest.mark.parametrize("said", ["performed, as a person confirmed", 'not performed: it said "no"', ""])
async def test_what_the_first_release_said_of_an_action_is_shown_as_it_was(
    first: str, opa: OpaChild, targets: Targets, said: str
) -> None:
    with psycopg.connect(first) as conn:
        conn.execute("UPDATE approvals SET result = %s", (said,))
    migrate(first)
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(first, policy, [], targets.handlers()) as bench,
    ):
        view = await bench.desk.approval(await bench.approval_id())
        assert view is not None
        assert (result_words(view.result) if view.result else "") == said


async def test_who_was_next_in_line_in_the_first_release_is_asked_by_this_one(
    upgraded: str, opa: OpaChild, targets: Targets
) -> None:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(upgraded, policy, [], targets.handlers()) as bench,
    ):
        bench.clock.move(hours=6)
        assert await sweeps.fire_escalations(bench.engine) == 1
        assert await bench.rows("SELECT joined FROM approvals") == [{"joined": ["senior-compliance"]}]
        bench.clock.move(days=10)
        assert await sweeps.fire_escalations(bench.engine) == 1
        said = "SELECT leaf -> 'data' -> 'to' AS groups FROM audit_leaves WHERE leaf ->> 'event' = 'wait.escalated'"
        assert [row["groups"] for row in await bench.rows(f"{said} ORDER BY leaf ->> 'at'")] == [
            ["senior-compliance"],
            ["compliance"],
        ]
        assert await sweeps.fire_escalations(bench.engine) == 0


async def test_who_was_asked_next_by_the_first_release_may_still_decide(
    first: str, opa: OpaChild, targets: Targets
) -> None:
    with psycopg.connect(first) as conn:
        conn.execute("UPDATE approvals SET escalated = true")
        conn.execute("UPDATE waits SET escalate_at = NULL")
    migrate(first)
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(first, policy, [], targets.handlers()) as bench,
    ):
        assert (await bench.click("sue", await bench.approval_id())).counted
        bench.clock.move(days=10)
        assert await sweeps.fire_escalations(bench.engine) == 0
