"""The inbox in sets, and what follows in the same commit.

The inbox in sets: what comes in at one moment is committed together, in order, and nobody is held up by others.

What follows from an answer is leased with the answer's commit, where a worker of the process has room for it.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from receipts.chain import Actor
from runtime import sweeps
from runtime.engine import new_id
from runtime.handlers import Call, Handler, JsonObject
from runtime.inbox import inbox
from runtime.lanes import Lane
from runtime.model.commands import CancelPayload
from runtime.model.effect import Effect
from runtime.model.notification import Notification
from runtime.model.payloads import CompletionPayload, DeadlinePayload, ProgressPayload
from runtime.store import waits
from runtime.worker import Worker
from tests.bench import TENANT, VERBS, Bench, with_handlers
from tests.integration.conftest import Targets
from tests.patience import MINUTE

YES = {"answer": "yes"}


async def _parked(bench: Bench, count: int) -> list[str]:
    """Start runs that wait for an answer each, under keys of their own."""
    runs = [(await bench.start("bench.wait", {"case": f"C{n}"}, ref=str(n))).run_id for n in range(count)]
    await bench.settle()
    return runs


def _key(number: int) -> str:
    return f"acme:await_answer:C{number}"


def _word(payload: Any, key: str, dedupe_key: str) -> Notification:
    actor = Actor(id="portal-bot", kind="agent")
    return Notification(new_id("ntf"), TENANT, dedupe_key, key, payload, actor, "req-done")


async def _answers(bench: Bench, count: int) -> list[Notification]:
    """Return an answer for each of the first waits."""
    tokens = {row["correlation_key"]: row["token"] for row in await bench.rows("SELECT * FROM waits")}
    return [
        _word(CompletionPayload(result=YES, token=tokens[_key(n)], verbs=VERBS), _key(n), f"yes {n}")
        for n in range(count)
    ]


async def _at_once(bench: Bench, new: Sequence[Notification]) -> list[Mapping[str, Any]]:
    """Record notifications, and have them applied, at one moment."""
    ids = await asyncio.gather(*(inbox.record(bench.engine, one) for one in new))
    return await asyncio.gather(*(inbox.apply(bench.engine, one) for one in ids))


async def _commits(bench: Bench, table: str) -> set[str]:
    """Return the transactions that wrote rows of a table last."""
    return {row["commit"] for row in await bench.rows(f"SELECT xmin::text AS commit FROM {table}")}


async def _asked(bench: Bench, runs: Sequence[str]) -> list[str]:
    return [(await bench.run(run_id))["steps"]["ask"]["status"] for run_id in runs]


async def test_answers_that_come_at_one_moment_share_the_commit_that_records_them(bench: Bench) -> None:
    await _parked(bench, 5)
    await asyncio.gather(*(inbox.record(bench.engine, one) for one in await _answers(bench, 5)))
    assert len(await _commits(bench, "notifications")) == 1


async def test_answers_that_come_at_one_moment_share_the_commit_that_applies_them(bench: Bench) -> None:
    runs = await _parked(bench, 5)
    facts = await _at_once(bench, await _answers(bench, 5))
    assert {one["status"] for one in facts} == {"applied"}
    assert await _asked(bench, runs) == ["succeeded"] * 5
    assert len(await _commits(bench, "notifications")) == 1
    assert await _commits(bench, "notifications") == await _commits(bench, "runs")


async def test_what_comes_for_one_wait_at_one_moment_is_applied_in_order(bench: Bench) -> None:
    (run_id,) = await _parked(bench, 1)
    (answer,) = await _answers(bench, 1)
    half = _word(ProgressPayload(message="half", token=answer.payload.token, verbs=VERBS), _key(0), "half")  # type: ignore[union-attr]
    late = _word(CompletionPayload(result={"answer": "no"}, token=half.payload.token, verbs=VERBS), _key(0), "no")  # type: ignore[union-attr]
    cancel = _word(CancelPayload(run_id=run_id, reason="seen", version=await _version(bench, run_id)), run_id, "stop")
    facts = await _at_once(bench, [half, answer, late])
    assert [one["status"] for one in facts] == ["applied", "applied", "stale"]
    (stopped,) = await _at_once(bench, [cancel])  # by itself: of what policy is asked first, no order is promised
    assert stopped["status"] == "stale"
    leaves = await bench.rows(
        "SELECT leaf FROM audit_leaves WHERE run_id = %s AND leaf->>'event' LIKE 'wait.%%' ORDER BY seq", run_id
    )
    assert [row["leaf"]["event"] for row in leaves] == ["wait.opened", "wait.progress", "wait.completed"]
    assert leaves[-1]["leaf"]["correlation"]["request_id"] == "req-done"
    assert (await bench.run(run_id))["steps"]["ask"]["status"] == "succeeded"


async def _version(bench: Bench, run_id: str) -> int:
    (row,) = await bench.rows("SELECT version FROM runs WHERE run_id = %s", run_id)
    return int(row["version"])


async def test_a_poisoned_answer_of_a_set_holds_up_no_other_and_its_failure_is_its_own(bench: Bench) -> None:
    runs = await _parked(bench, 4)
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'ask' AND run_id = %s RETURNING 1", runs[0])
    facts = await _at_once(bench, await _answers(bench, 4))
    assert [one["status"] for one in facts] == ["received", "applied", "applied", "applied"]
    assert await _asked(bench, runs[1:]) == ["succeeded"] * 3
    rows = await bench.rows("SELECT dedupe_key FROM notifications WHERE failures > 0")
    assert [row["dedupe_key"] for row in rows] == ["yes 0"]


async def test_one_that_cannot_be_recorded_holds_up_no_other(bench: Bench) -> None:
    await _parked(bench, 3)
    bad, *good = await _answers(bench, 3)
    unwritable = _word(bad.payload, "half a \ud800", "bad")
    found = await asyncio.gather(
        *(inbox.record(bench.engine, one) for one in (unwritable, *good)), return_exceptions=True
    )
    assert isinstance(found[0], Exception)
    assert found[1:] == [one.notification_id for one in good]


async def test_an_answer_that_is_sent_twice_at_one_moment_is_one_answer(bench: Bench) -> None:
    runs = await _parked(bench, 2)
    first, other = await _answers(bench, 2)
    again = _word(first.payload, first.correlation_key, first.dedupe_key)
    ids = await asyncio.gather(*(inbox.record(bench.engine, one) for one in (first, other, again)))
    assert ids == [first.notification_id, other.notification_id, first.notification_id]
    facts = await asyncio.gather(*(inbox.apply(bench.engine, one) for one in ids))
    assert facts[0] == facts[2]
    assert await _asked(bench, runs) == ["succeeded"] * 2
    assert [row["deliveries"] for row in await bench.rows("SELECT deliveries FROM notifications ORDER BY 1")] == [1, 2]


async def test_an_answer_for_a_run_that_somebody_holds_holds_up_no_other(bench: Bench) -> None:
    held, *others = await _parked(bench, 4)
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await bench.engine.lock_run(conn, held)
        waiting, *free = [asyncio.create_task(_at_once(bench, [one])) for one in await _answers(bench, 4)]
        async with asyncio.timeout(MINUTE):
            await asyncio.gather(*free)
        assert not waiting.done()
    assert (await waiting)[0]["status"] == "applied"
    assert await _asked(bench, [held, *others]) == ["succeeded"] * 4


async def test_whoever_recorded_an_answer_applies_it_and_if_they_are_gone_a_worker_does(
    bench: Bench, targets: Targets
) -> None:
    (run_id,) = await _parked(bench, 1)
    await inbox.record(bench.engine, (await _answers(bench, 1))[0])
    await bench.settle()
    assert await _asked(bench, [run_id]) == ["parked"]
    await bench.later(seconds=2)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1


async def test_a_worker_applies_all_that_waits_in_few_commits(bench: Bench) -> None:
    runs = await _parked(bench, 20)
    for one in await _answers(bench, 20):
        await inbox.record(bench.engine, one)
    await bench.later(seconds=2)
    assert await _asked(bench, runs) == ["succeeded"] * 20
    assert len(await _commits(bench, "notifications")) <= 2


async def _timers(bench: Bench, count: int) -> list[str]:
    runs = [(await bench.start("bench.timer", {}, ref=str(n))).run_id for n in range(count)]
    await bench.settle()
    bench.clock.move(hours=1)
    return runs


async def _paused(bench: Bench, runs: Sequence[str]) -> list[str]:
    return [(await bench.run(run_id))["steps"]["pause"]["status"] for run_id in runs]


async def test_deadlines_that_are_due_at_once_share_the_commits_that_record_and_apply_them(bench: Bench) -> None:
    runs = await _timers(bench, 20)
    assert await sweeps.fire_deadlines(bench.engine) == 20
    assert await _paused(bench, runs) == ["succeeded"] * 20
    assert len(await _commits(bench, "notifications")) == 1


async def test_a_sweep_goes_on_as_long_as_deadlines_are_due(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "BATCH", 3)
    runs = await _timers(bench, 8)
    assert await sweeps.fire_deadlines(bench.engine) == 8
    assert await _paused(bench, runs) == ["succeeded"] * 8


async def test_deadlines_fire_once_however_many_sweeps_find_them(bench: Bench, targets: Targets) -> None:
    runs = await _timers(bench, 20)
    assert sum(await asyncio.gather(*(sweeps.fire_deadlines(bench.engine) for _ in range(4)))) == 20
    assert await _paused(bench, runs) == ["succeeded"] * 20
    rows = await bench.rows("SELECT deliveries FROM notifications")
    assert [row["deliveries"] for row in rows] == [1] * 20


async def test_a_deadline_that_cannot_be_applied_holds_up_no_other(bench: Bench) -> None:
    broken, *others = await _timers(bench, 5)
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'pause' AND run_id = %s RETURNING 1", broken)
    await sweeps.fire_deadlines(bench.engine)
    assert await _paused(bench, others) == ["succeeded"] * 4
    (row,) = await bench.rows("SELECT failures FROM notifications WHERE status = 'received'")
    assert row["failures"] == 1


async def test_deadlines_whose_sweep_is_gone_after_it_recorded_them_are_applied_by_a_worker(bench: Bench) -> None:
    runs = await _timers(bench, 3)
    await sweeps._record(bench.engine, waits.due_deadlines, DeadlinePayload)
    assert await sweeps.fire_deadlines(bench.engine) == 0
    assert await _paused(bench, runs) == ["parked"] * 3
    bench.clock.now += bench.engine.timing.lease
    await bench.settle()
    assert await _paused(bench, runs) == ["succeeded"] * 3


KEY = "acme:await_answer:{}"

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


async def _parked_lease(bench: Bench, case: str) -> str:
    run_id = (await bench.start("bench.wait", {"case": case}, ref=case)).run_id
    await bench.settle()
    return run_id


def _taken(worker: Worker) -> list[Effect]:
    return [one for one in worker._effects_in(Lane.EFFECTS) if isinstance(one, Effect)]


async def _status(bench: Bench, run_id: str) -> str:
    return str((await bench.run(run_id))["status"])


async def test_what_follows_from_an_answer_is_done_without_being_looked_for(bench: Bench) -> None:
    run_id = await _parked_lease(bench, "C1")
    async with _chaining(bench.worker):
        assert (await bench.complete(KEY.format("C1"), YES))["status"] == "applied"
        (effect,) = _taken(bench.worker)
        assert (effect.step, effect.attempt, effect.lease_owner) == ("note", 1, bench.engine.worker)
    assert await _status(bench, run_id) == "succeeded"


async def test_what_was_not_committed_is_not_taken(bench: Bench, targets: Targets) -> None:
    run_id = await _parked_lease(bench, "C1")
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
    runs = [await _parked_lease(held, case) for case in cases]
    async with _chaining(held.worker):
        for case in cases:
            await held.complete(KEY.format(case), {"answer": case}, dedupe=case)
        assert len(_taken(held.worker)) == cap
        let_go.set()
    await held.settle()
    assert [await _status(held, run_id) for run_id in runs] == ["succeeded"] * (cap + 1)


async def test_a_connector_in_trouble_is_given_nothing(bench: Bench) -> None:
    run_id = await _parked_lease(bench, "C1")
    bench.engine.troubled.add(("servicenow", ""))
    async with _chaining(bench.worker):
        await bench.complete(KEY.format("C1"), YES)
        assert _taken(bench.worker) == []
    await bench.settle()
    assert await _status(bench, run_id) == "succeeded"


async def test_a_worker_that_stops_takes_nothing_on(bench: Bench) -> None:
    run_id = await _parked_lease(bench, "C1")
    async with _chaining(bench.worker):
        bench.worker.stop()
        await bench.complete(KEY.format("C1"), YES)
        assert _taken(bench.worker) == []
    await Worker(bench.engine).drain()
    assert await _status(bench, run_id) == "succeeded"
