"""The gate in sets (design, section 9a): what moves together is committed together, and nobody is held up by others."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import verify_chain
from runtime.model.effect import LeaseLostError
from runtime.planning.run_starts import STARTS, start_next
from runtime.store.run_tx import RunTx
from runtime.store.transaction_batcher import for_each_run
from runtime.worker import Worker
from tests.bench import Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.network import Counting
from tests.patience import MINUTE

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}


async def _runs(bench: Bench, count: int) -> list[str]:
    return [(await bench.start("bench.note", {**NOTE, "incident": f"I{n}"}, ref=f"r{n}")).run_id for n in range(count)]


async def _transaction(tx: RunTx) -> str:
    """Say something on the run, and return the transaction in which it is said."""
    tx.leaf("run.looked_at", {})
    row = await (await tx.conn.execute("SELECT pg_current_xact_id()::text AS id")).fetchone()
    assert row
    return str(row["id"])


async def _said(bench: Bench, run_id: str) -> int:
    query = "SELECT 1 FROM audit_leaves WHERE run_id = %s AND leaf->>'event' = 'run.looked_at'"
    return len(await bench.rows(query, run_id))


async def test_what_is_done_to_many_runs_at_one_moment_is_one_commit(bench: Bench) -> None:
    runs = await _runs(bench, 5)
    ids = await asyncio.gather(*(bench.engine.on_run(run_id, _transaction) for run_id in runs))
    assert len(set(ids)) == 1
    assert [await _said(bench, run_id) for run_id in runs] == [1] * 5


async def test_what_is_done_to_one_run_twice_goes_in_order_and_keeps_its_chain(bench: Bench) -> None:
    (run_id,) = await _runs(bench, 1)
    await asyncio.gather(*(bench.engine.on_run(run_id, _transaction) for _ in range(3)))
    verify_chain(await bench.chain(run_id))
    assert await _said(bench, run_id) == 3


async def test_of_runs_that_fail_in_one_transaction_the_cause_is_raised(bench: Bench) -> None:
    first, second = sorted(await _runs(bench, 2))
    failed = asyncio.Event()

    async def work(tx: RunTx) -> None:
        if tx.run_id == first:
            await failed.wait()
        try:
            await tx.conn.execute("SELECT 1 / 0" if tx.run_id == second else "SELECT 1")
        finally:
            failed.set()

    with pytest.raises(psycopg.errors.DivisionByZero):
        await _in_one(bench, [first, second], work)


async def _in_one(bench: Bench, runs: Sequence[str], work: Callable[[RunTx], Awaitable[None]]) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        found = await bench.engine.lock_runs(conn, runs, wait=True)
        await for_each_run([found[run_id] for run_id in runs], work)


@pytest.mark.parametrize("error", [ValueError("a fault of ours"), LeaseLostError("eff_1")])
async def test_a_poisoned_piece_of_a_set_holds_up_no_other(bench: Bench, error: Exception) -> None:
    runs = await _runs(bench, 5)

    async def poisoned(tx: RunTx) -> None:
        tx.leaf("run.looked_at", {})
        await tx.flush()  # it is gathered, and must never be written
        raise error

    found = await asyncio.gather(
        bench.engine.on_run(runs[0], poisoned),
        *(bench.engine.on_run(run_id, _transaction) for run_id in runs[1:]),
        return_exceptions=True,
    )
    assert found[0] is error
    assert [await _said(bench, run_id) for run_id in runs] == [0, 1, 1, 1, 1]


async def test_runs_that_somebody_holds_hold_up_no_other(bench: Bench) -> None:
    *held, free = await _runs(bench, 4)
    async with await psycopg.AsyncConnection.connect(bench.superuser) as other:
        await other.execute("SELECT FROM runs WHERE run_id = ANY(%s) FOR UPDATE", (held,))
        waiting = []
        for run_id in held:  # one after the other: each is a set of its own
            waiting.append(asyncio.create_task(bench.engine.on_run(run_id, _transaction)))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await bench.engine.on_run(free, _transaction)
        assert not any(one.done() for one in waiting)
        await other.rollback()
        await asyncio.gather(*waiting)
    assert [await _said(bench, run_id) for run_id in (*held, free)] == [1] * 4


async def test_what_the_database_refuses_of_one_is_done_of_the_others(bench: Bench) -> None:
    runs = await _runs(bench, 3)

    async def refused(tx: RunTx) -> None:
        await tx.conn.execute("SELECT 1 / 0")

    found = await asyncio.gather(
        *(bench.engine.on_run(run_id, _transaction) for run_id in runs[:2]),
        bench.engine.on_run(runs[2], refused),
        return_exceptions=True,
    )
    assert isinstance(found[2], psycopg.errors.DivisionByZero)
    assert [await _said(bench, run_id) for run_id in runs] == [1, 1, 0]


async def test_what_the_database_undoes_of_a_deadlock_is_done_piece_by_piece(bench: Bench) -> None:
    """Ours is undone, as it looks for a deadlock after a second and the other after a day."""
    runs = await _runs(bench, 3)
    holds, wants = asyncio.Event(), asyncio.Event()
    tries: list[int] = []

    async def entangled(tx: RunTx) -> str:
        tries.append(1)
        await tx.conn.execute("SELECT pg_advisory_xact_lock(1)")
        holds.set()
        await wants.wait()
        await tx.conn.execute("SELECT pg_advisory_xact_lock(2)")
        return await _transaction(tx)

    async with await psycopg.AsyncConnection.connect(bench.superuser) as other:
        await other.execute("SET LOCAL deadlock_timeout = '1d'")
        await other.execute("SELECT pg_advisory_xact_lock(2)")
        ours = [bench.engine.on_run(run_id, entangled if run_id == runs[0] else _transaction) for run_id in runs]
        done = asyncio.gather(*ours)
        await holds.wait()
        waiting = asyncio.create_task(other.execute("SELECT pg_advisory_xact_lock(1)"))
        while not await bench.rows("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            await asyncio.sleep(0)
        wants.set()
        await waiting
        await other.rollback()
        await done
    assert len(tries) == 2
    assert [await _said(bench, run_id) for run_id in runs] == [1] * 3


async def test_a_run_that_somebody_holds_holds_up_no_other(bench: Bench) -> None:
    held, *others = await _runs(bench, 4)
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await bench.engine.lock_run(conn, held)
        waiting = asyncio.create_task(bench.engine.on_run(held, _transaction))
        async with asyncio.timeout(MINUTE):
            await asyncio.gather(*(bench.engine.on_run(run_id, _transaction) for run_id in others))
        assert not waiting.done()
    assert await waiting
    assert [await _said(bench, run_id) for run_id in (held, *others)] == [1] * 4


async def test_an_effect_whose_lease_was_lost_leaves_its_set(bench: Bench, targets: Targets) -> None:
    runs = await _runs(bench, 3)
    lost: list[str] = []

    class Meddling:
        async def __call__(self, call: Any) -> dict[str, Any]:
            if not lost:
                lost.append(call.run_id)
                await bench.meddle("UPDATE effects SET attempt = attempt + 1 WHERE run_id = %s", call.run_id)
            return {"ok": True}

    targets.note.run = Meddling()  # type: ignore[method-assign]
    await bench.settle()
    ended = {run_id: (await bench.run(run_id))["status"] for run_id in runs}
    assert ended == {run_id: "running" if run_id in lost else "succeeded" for run_id in runs}
    receipts = await bench.rows("SELECT run_id FROM receipts WHERE document->>'step' = 'note'")
    assert {row["run_id"] for row in receipts} == set(runs) - set(lost)


async def test_limits_hold_for_all_that_begin_in_one_set(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.fan", {})).run_id
    await bench.settle()
    assert len(targets.note.calls) == 60, "policy allows as many writes in one run"
    assert (await bench.run(run_id))["status"] == "failed_terminal"


@asynccontextmanager
async def _counted(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Bench]:
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK], targets.handlers(), cursor_factory=Counting) as bench,
    ):
        yield replace(bench, worker=Worker(bench.engine, concurrency=32))


async def test_a_step_that_runs_alone_costs_few_statements(dsn: str, opa: OpaChild, targets: Targets) -> None:
    sent = []
    async with _counted(dsn, opa, targets) as bench:
        await bench.start("bench.note", NOTE, ref="first")  # after which everything is cached
        await bench.settle()
        for trigger, payload in (("bench.note", {**NOTE, "text": "again"}), ("bench.chain", {"case": "C"})):
            Counting.sent = 0
            await bench.start(trigger, payload)
            await bench.settle()
            sent.append(Counting.sent)
    assert len(targets.note.calls) == 12
    assert (sent[1] - sent[0]) / 9 <= 8


async def test_steps_that_run_together_share_their_statements(dsn: str, opa: OpaChild, targets: Targets) -> None:
    async with _counted(dsn, opa, targets) as bench:
        for number in range(32):
            await bench.start("bench.chain", {"case": f"C{number}"}, ref=str(number))
        Counting.sent = 0
        await bench.settle()
        assert len(targets.note.calls) == 320
        assert Counting.sent / 320 <= 3


async def _started_by(bench: Bench) -> list[str]:
    """Return the transactions that started runs."""
    rows = await bench.rows("SELECT DISTINCT xmin::text AS commit FROM runs WHERE status = 'running'")
    return [row["commit"] for row in rows]


async def test_runs_that_are_queued_are_started_together(bench: Bench) -> None:
    runs = await _runs(bench, STARTS + 3)
    assert await start_next(bench.engine, set()) == STARTS
    assert len(await _started_by(bench)) == 1
    assert await start_next(bench.engine, set()) == 3
    assert await start_next(bench.engine, set()) == 0
    assert len(await bench.rows("SELECT 1 FROM effects WHERE step = 'note'")) == len(runs)


async def test_a_run_that_cannot_be_started_holds_up_no_other_of_its_set(bench: Bench) -> None:
    (first,) = await _runs(bench, 1)
    bench.clock.move(seconds=1)
    broken = (await bench.start("bench.note", NOTE, ref="broken")).run_id
    bench.clock.move(seconds=1)
    others = [(await bench.start("bench.note", NOTE, ref=f"other {n}")).run_id for n in range(4)]
    await bench.meddle(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no note'; END $$;"
        f"CREATE TRIGGER no BEFORE INSERT ON effects FOR EACH ROW WHEN (NEW.run_id = '{broken}') EXECUTE FUNCTION no()"
    )
    but: set[str] = set()
    with pytest.raises(Exception, match="note"):
        await start_next(bench.engine, but)
    assert but == {broken}
    assert (await bench.run(first))["status"] == "running"
    assert await start_next(bench.engine, but) == len(others)
    assert (await bench.run(broken))["status"] == "queued"


async def test_a_run_that_somebody_else_starts_holds_up_no_other_of_its_set(bench: Bench) -> None:
    held, *others = await _runs(bench, 4)
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await bench.engine.lock_run(conn, held)
        assert await start_next(bench.engine, set()) == len(others)
    assert (await bench.run(held))["status"] == "queued"


_SCANS = """
    SELECT relname, seq_scan FROM pg_stat_user_tables
     WHERE relname IN ('runs', 'steps', 'effects', 'receipts', 'reads', 'approvals', 'votes', 'waits', 'notifications')
"""


async def _whole_reads(dsn: str) -> dict[str, int]:
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        return dict(await (await conn.execute(_SCANS)).fetchall())


async def test_no_statement_of_a_run_reads_a_whole_table_though_nothing_is_known_of_its_size(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with _counted(dsn, opa, targets) as bench:
        before = await _whole_reads(dsn)
        for number in range(8):
            await bench.start("bench.chain", {"case": f"C{number}"}, ref=str(number))
        await bench.settle()
    assert len(targets.note.calls) == 80
    assert await _whole_reads(dsn) == before  # connections tell of it when they are closed


async def test_clicks_and_answers_that_come_together_share_their_statements(
    dsn: str, opa: OpaChild, targets: Targets
) -> None:
    async with _counted(dsn, opa, targets) as bench:
        for number in range(16):
            await bench.start("bench.file", {"company": f"ACME {number}", "text": "report"}, ref=f"f{number}")
            await bench.start("bench.wait", {"case": f"C{number}"}, ref=f"w{number}")
        await bench.settle()
        asked = [row["approval_id"] for row in await bench.rows("SELECT approval_id FROM approvals")]
        keys = [
            row["correlation_key"]
            for row in await bench.rows("SELECT correlation_key FROM waits WHERE type = 'external'")
        ]
        assert (len(asked), len(keys)) == (16, 16)
        Counting.sent = 0
        clicks = await asyncio.gather(*(bench.click("ann", approval) for approval in asked))
        assert all(click.counted for click in clicks)
        assert Counting.sent / 16 <= 2
        Counting.sent = 0
        answers = await asyncio.gather(*(bench.complete(key, {"answer": "yes"}, key) for key in keys))
        assert {answer["status"] for answer in answers} == {"applied"}
        assert (Counting.sent - 16) / 16 <= 2, "the bench itself looks for each token"
