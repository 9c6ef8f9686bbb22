"""What follows from an answer is leased with the answer's commit, where a worker of the process has room for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from runtime.handlers import Call, Handler, JsonObject
from runtime.model.effect import Effect
from runtime.worker.lanes import Lane
from runtime.worker.worker import Worker
from tests.bench import Bench, with_handlers
from tests.integration.conftest import Targets

KEY = "acme:await_answer:{}"
YES = {"answer": "yes"}
REFUSE = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON effects FOR EACH ROW WHEN (NEW.step = 'note') EXECUTE FUNCTION refuse();
"""


@asynccontextmanager
async def _chaining(worker: Worker) -> AsyncIterator[None]:
    """Have a worker that looks for nothing by itself take on what it is given."""
    with worker._chained_leases.offering():
        yield
    await worker._finish()


async def _parked(bench: Bench, case: str) -> str:
    run_id = (await bench.start("bench.wait", {"case": case}, ref=case)).run_id
    await bench.settle()
    return run_id


def _taken(worker: Worker) -> list[Effect]:
    return [one for one in worker._effects_in(Lane.EFFECTS) if isinstance(one, Effect)]


async def _status(bench: Bench, run_id: str) -> str:
    return str((await bench.run(run_id))["status"])


async def test_what_follows_from_an_answer_is_done_without_being_looked_for(bench: Bench) -> None:
    run_id = await _parked(bench, "C1")
    async with _chaining(bench.worker):
        assert (await bench.complete(KEY.format("C1"), YES))["status"] == "applied"
        (effect,) = _taken(bench.worker)
        assert (effect.step, effect.attempt, effect.lease_owner) == ("note", 1, bench.engine.worker)
    assert await _status(bench, run_id) == "succeeded"


async def test_what_was_not_committed_is_not_taken(bench: Bench, targets: Targets) -> None:
    run_id = await _parked(bench, "C1")
    await bench.meddle(REFUSE)
    async with _chaining(bench.worker):
        assert (await bench.complete(KEY.format("C1"), YES))["status"] == "received"
        assert _taken(bench.worker) == []
    assert targets.note.calls == []
    await bench.meddle("DROP TRIGGER refuse ON effects")
    await bench.later(minutes=1)
    assert await _status(bench, run_id) == "succeeded"


async def test_no_more_is_taken_than_one_connector_may_have(bench: Bench) -> None:
    let_go = asyncio.Event()

    async def hang(_: Call) -> JsonObject:
        await let_go.wait()
        return {}

    held = with_handlers(bench, {"servicenow::add_work_note": Handler(hang)})
    cap = held.worker.slots.target_cap
    cases = [f"C{number}" for number in range(cap + 1)]
    runs = [await _parked(held, case) for case in cases]
    async with _chaining(held.worker):
        for case in cases:
            await held.complete(KEY.format(case), {"answer": case}, dedupe=case)
        assert len(_taken(held.worker)) == cap
        let_go.set()
    await held.settle()
    assert [await _status(held, run_id) for run_id in runs] == ["succeeded"] * (cap + 1)


async def test_a_connector_in_trouble_is_given_nothing(bench: Bench) -> None:
    run_id = await _parked(bench, "C1")
    bench.engine.troubled.add(("servicenow", ""))
    async with _chaining(bench.worker):
        await bench.complete(KEY.format("C1"), YES)
        assert _taken(bench.worker) == []
    await bench.settle()
    assert await _status(bench, run_id) == "succeeded"


async def test_a_worker_that_stops_takes_nothing_on(bench: Bench) -> None:
    run_id = await _parked(bench, "C1")
    async with _chaining(bench.worker):
        bench.worker.stop()
        await bench.complete(KEY.format("C1"), YES)
        assert _taken(bench.worker) == []
    await Worker(bench.engine).drain()
    assert await _status(bench, run_id) == "succeeded"
