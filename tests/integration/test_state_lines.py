"""The program tells what it does: one line for each state change that was committed, by ids alone."""

import logging
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from countersign.logs import STATE, formatter
from runtime.store.database.pool import make_pool
from tests.bench import Bench

CANARY = "canary-7c3e"


def told(caplog: pytest.LogCaptureFixture) -> list[Any]:
    records: list[Any] = [record for record in caplog.records if record.name == STATE]
    return sorted(records, key=lambda record: record.seq)


async def test_every_leaf_is_a_line_with_the_ids_of_what_it_is_about(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, STATE)
    run_id = (await bench.start("bench.file", {"company": CANARY, "text": CANARY})).run_id
    await bench.settle()
    approval = await bench.approval_id()
    assert not (await bench.click("rita", approval, reason=CANARY)).counted
    assert (await bench.click("ann", approval, reason=CANARY)).counted
    assert (await bench.click("ben", approval, "reject", reason=CANARY)).counted
    await bench.settle()
    leaves = await bench.chain(run_id)
    lines = told(caplog)
    assert [(line.seq, line.message, line.actor) for line in lines] == [
        (leaf.seq, leaf.event, leaf.actor.id) for leaf in leaves
    ]
    assert {"vote.refused", "vote.counted", "approval.rejected", "run.failed_terminal"} <= {
        line.message for line in lines
    }
    (vote,) = (line for line in lines if line.message == "vote.counted" and line.actor == "ann")
    assert (vote.run_id, vote.approval_id, vote.request_id, vote.tenant) == (run_id, approval, "req-click", "acme")
    assert all(line.levelname == "INFO" for line in lines)
    assert CANARY not in "".join(formatter("json").format(line) for line in lines)


async def test_what_is_rolled_back_is_not_told(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "x"})).run_id
    caplog.set_level(logging.INFO, STATE)
    caplog.clear()
    async with bench.engine.pool.connection() as conn:
        with suppress(ZeroDivisionError):
            async with conn.transaction():
                tx = await bench.engine.lock_run(conn, run_id)
                tx.leaf("run.started", {})
                await tx.flush()
                assert 1 / 0
    assert told(caplog) == []
    async with bench.engine.pool.connection() as conn, conn.transaction():
        tx = await bench.engine.lock_run(conn, run_id)
        tx.leaf("run.started", {})
        await tx.flush()
        assert told(caplog) == []
    assert [line.message for line in told(caplog)] == ["run.started"]


async def test_only_the_outermost_commit_tells(dsn: str) -> None:
    said: list[str] = []
    async with make_pool(dsn, size=1, behind_pooler=False) as pool, pool.connection() as conn:
        async with conn.transaction():
            async with conn.transaction():
                conn.on_commit(lambda: said.append("inner"))
            assert said == []
        assert said == ["inner"]
        async with conn.transaction(force_rollback=True):
            conn.on_commit(lambda: said.append("never"))
        with pytest.raises(psycopg.errors.UniqueViolation):
            await _fails_at_its_commit(conn, said)
    assert said == ["inner"]


async def _fails_at_its_commit(conn: Any, said: list[str]) -> None:
    await conn.execute("CREATE TEMP TABLE late (x int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    async with conn.transaction():
        await conn.execute("INSERT INTO late VALUES (1), (1)")
        conn.on_commit(lambda: said.append("never"))
