"""Starts with their first effects: leased, and begun, in the transaction that starts the run, if a worker has room."""

import asyncio

import psycopg
import pytest

from runtime.engine import Engine
from runtime.gate.beginning import begin_ahead
from runtime.handlers import Call, Handler, JsonObject
from runtime.model.effect import ChainedLease
from runtime.planning.run_starts import start_next
from runtime.store.run_tx import RunTx
from tests.bench import Bench, with_handlers
from tests.integration.acts_stage import Opener
from tests.integration.conftest import Targets
from tests.integration.evidence_stage import NOTE
from tests.integration.test_ahead import ROW
from tests.integration.test_inbox_sets import REFUSE, _chaining, _status, _taken


async def queued(bench: Bench, ref: str = "1") -> str:
    return (await bench.start("bench.note", {**NOTE, "incident": f"I{ref}"}, ref=ref)).run_id


async def start(bench: Bench) -> int:
    return await start_next(bench.engine, set(), begin_ahead)


async def written(bench: Bench, run_id: str) -> dict[str, str]:
    """Return of each event of a run the transaction that put it on record."""
    query = "SELECT tx, leaf->>'event' AS event FROM audit_leaves WHERE run_id = %s"
    return {row["event"]: row["tx"] for row in await bench.rows(query, run_id)}


async def test_the_first_effect_begins_with_the_commit_that_starts_its_run(opened: Opener, targets: Targets) -> None:
    async with opened(ROW) as bench:
        await queued(bench, "0")  # policy has been asked once, so its text is kept
        await bench.settle()
        run_id = (await bench.start("bench.tree", {})).run_id
        async with _chaining(bench.worker):
            assert await start(bench) == 1
            (effect,) = _taken(bench.worker)
            assert (effect.step, effect.attempt, effect.lease_owner) == ("one", 1, bench.engine.worker)
        assert await _status(bench, run_id) == "succeeded"
        by = await written(bench, run_id)
        query = (
            "SELECT min(seq) AS first, xmin::text AS tx FROM policy_decisions WHERE run_id = %s GROUP BY 2 ORDER BY 1"
        )
        first = (await bench.rows(query, run_id))[0]
        assert by["run.started"] == first["tx"]
        assert [call.step for call in targets.note.calls][-3:] == ["one", "two", "three"]


async def test_without_a_worker_that_has_room_a_run_starts_and_its_effect_waits(bench: Bench, targets: Targets) -> None:
    run_id = await queued(bench)
    assert await start(bench) == 1
    (effect,) = await bench.rows("SELECT status, attempt FROM effects WHERE run_id = %s", run_id)
    assert (effect["status"], effect["attempt"], targets.note.calls) == ("pending", 0, [])
    await bench.settle()
    assert await _status(bench, run_id) == "succeeded"


async def test_what_cannot_begin_with_its_run_starts_it_all_the_same(bench: Bench, targets: Targets) -> None:
    run_id, failing = await queued(bench), set[str]()

    async def broken(engine: Engine, tx: RunTx, chained: ChainedLease | None, ended: str) -> None:
        raise RuntimeError("not now")

    async with _chaining(bench.worker):
        assert await start_next(bench.engine, failing, broken) == 1
    assert (failing, len(targets.note.calls)) == (set(), 1)
    assert await _status(bench, run_id) == "succeeded"


async def test_no_more_is_taken_from_starts_than_one_connector_may_have(bench: Bench) -> None:
    let_go = asyncio.Event()

    async def hang(_: Call) -> JsonObject:
        await let_go.wait()
        return {}

    held = with_handlers(bench, {"servicenow::add_work_note": Handler(hang)})
    cap = held.worker.slots.connector_cap
    count = cap + 2
    runs = [await queued(held, f"r{number}") for number in range(count)]
    async with _chaining(held.worker):
        assert await start(held) == count
        assert len(_taken(held.worker)) == cap
        let_go.set()
    await held.settle()
    assert [await _status(held, run_id) for run_id in runs] == ["succeeded"] * count


async def test_a_start_that_is_not_committed_leases_nothing(bench: Bench, targets: Targets) -> None:
    run_id = await queued(bench)
    await bench.meddle(REFUSE)
    failing: set[str] = set()
    async with _chaining(bench.worker):
        with pytest.raises(psycopg.errors.RaiseException):
            await start_next(bench.engine, failing, begin_ahead)
        assert _taken(bench.worker) == []
    assert (failing, targets.note.calls) == ({run_id}, [])
    await bench.meddle("DROP TRIGGER refuse ON effects")
    await bench.settle()
    assert await _status(bench, run_id) == "succeeded"
