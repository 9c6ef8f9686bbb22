"""The worker: slots, caps, circuit breakers, and one log line for each change of state.

What a worker takes on: slots by purpose, caps, circuit breakers, its own tenant's work, and only what it can do.

The program tells what it does: one line for each state change that was committed, by ids alone.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg
import pytest

from countersign.logs import STATE, formatter
from runtime import sweeps
from runtime.handlers import Call, Handler, JsonObject, TransientError
from runtime.lanes import Lane
from runtime.model.run import ReadLease
from runtime.model.states import NotificationStatus
from runtime.store import leases, notifications, runs
from runtime.store.database.pool import make_pool
from runtime.store.database.signals import beside
from runtime.store.leases import Lessee
from runtime.worker import Worker
from tests.bench import Bench, with_handlers
from tests.integration.conftest import Targets
from tests.patience import MINUTE

FILE = {"company": "ACME", "text": "r"}


def _note(number: int) -> dict[str, str]:
    return {"incident": f"I{number}", "text": "seen", "api_token": "t"}


@dataclass
class Hanging:
    """A target that answers nobody until it is let go."""

    calls: int = 0
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    full: asyncio.Event = field(default_factory=asyncio.Event)
    expected: int = 0

    async def run(self, _: Call) -> JsonObject:
        self.calls += 1
        if self.calls == self.expected:
            self.full.set()
        await self.let_go.wait()
        return {"ok": True}


@dataclass
class Heard:
    """A chat that says when a card came."""

    card: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, _: Call) -> JsonObject:
        self.card.set()
        return {"channel": "C1", "ts": "1.0"}


@asynccontextmanager
async def working(worker: Worker) -> AsyncIterator[None]:
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def test_with_every_slot_of_a_hanging_target_in_use_a_card_on_another_connector_is_posted(bench: Bench) -> None:
    hanging, chat = Hanging(), Heard()
    held = with_handlers(
        bench,
        {"servicenow::add_work_note": Handler(run=hanging.run), "slack::post_card": Handler(run=chat.run)},
    )
    hanging.expected = held.worker.slots.connector_cap
    for number in range(3 * hanging.expected):
        await held.start("bench.note", _note(number), ref=f"n{number}")
    async with asyncio.timeout(MINUTE), working(held.worker):
        await hanging.full.wait()
        await held.start("bench.file", FILE, ref="f")
        await chat.card.wait()
        assert hanging.calls == hanging.expected, "one connector never has all slots"
        hanging.let_go.set()


async def test_a_connector_that_does_not_answer_is_left_alone_and_then_tried_with_one_call(
    bench: Bench, targets: Targets
) -> None:
    targets.note.answers = [TransientError("connection refused") for _ in range(7)]
    first = bench.worker.slots.connector_cap
    for number in range(first + 4):
        await bench.start("bench.note", _note(number), ref=f"n{number}")
    await Worker(replace(bench.engine, handlers={})).drain()  # all are proposed before the first is leased
    await bench.settle()
    assert len(targets.note.calls) == first, "the breaker is open"
    await bench.later(seconds=4)
    assert len(targets.note.calls) == first
    await bench.later(seconds=20)
    assert len(targets.note.calls) == first + 1, "half open: one call, which failed too"
    await bench.later(seconds=40)
    assert len(targets.note.done) == first + 4
    assert await bench.rows("SELECT * FROM circuit_breakers") == [], "closed again"


async def test_a_target_that_is_left_alone_holds_up_no_other_connector(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("connection refused") for _ in range(20)]
    for number in range(8):
        await bench.start("bench.note", _note(number), ref=f"n{number}")
    await bench.settle()
    await bench.start("bench.file", FILE, ref="f")
    await bench.settle()
    assert len(bench.chat.said("post_card")) == 1


async def test_fresh_work_goes_before_what_is_tried_again(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("429", retry_after=1) for _ in range(2)]
    for number in range(2):
        await bench.start("bench.note", _note(number), ref=f"n{number}")
    await bench.settle()
    bench.clock.move(minutes=1)
    run_id = (await bench.start("bench.note", _note(9), ref="fresh")).run_id
    await bench.worker._start_some()
    (leased,) = await bench.lease("other", slots=1)
    assert leased.run_id == run_id


async def test_fresh_work_does_not_keep_what_is_tried_again_from_its_share(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [TransientError("429", retry_after=1) for _ in range(4)]
    for number in range(4):
        await bench.start("bench.note", _note(number), ref=f"n{number}")
    await bench.settle()
    bench.clock.move(minutes=1)
    for number in range(10, 22):
        await bench.start("bench.note", _note(number), ref=f"n{number}")
    await bench.worker._start_some()
    leased = await bench.lease("other", slots=8)
    assert [effect.is_again for effect in leased].count(True) == 2, "a quarter"
    assert len(leased) == 6, "as many as one connector may have"


async def test_fresh_reads_do_not_keep_those_of_a_lost_worker_from_their_share(bench: Bench) -> None:
    await bench.start("bench.branches", {}, ref="lost")
    await bench.worker._start_some()
    assert len(await _lease_reads(bench, "lost", slots=8, again=0)) == 2
    for number in range(2):
        await bench.start("bench.branches", {}, ref=f"fresh{number}")
    await bench.worker._start_some()
    bench.clock.move(minutes=1)
    leased = await _lease_reads(bench, "other", slots=3, again=1)
    assert sorted(lease.attempt for lease in leased) == [1, 1, 2]


async def _lease_reads(bench: Bench, worker: str, *, slots: int, again: int) -> list[ReadLease]:
    now = bench.clock()
    lessee = Lessee("acme", worker, now, now + bench.engine.timing.lease)
    async with bench.engine.pool.connection() as conn:
        return await leases.lease_reads(conn, lessee, list(bench.engine.handlers), slots, again)


async def test_a_worker_leases_only_what_it_has_a_handler_for(bench: Bench, targets: Targets) -> None:
    others = {name: one for name, one in bench.engine.handlers.items() if name != "bench::look"}
    engine = replace(bench.engine, handlers=others)
    run_id = (await bench.start("bench.branches", {})).run_id
    await Worker(engine).drain()
    assert (await bench.run(run_id))["status"] == "running", "nothing has failed"
    async with bench.engine.pool.connection() as conn:
        assert await leases.unoffered(conn, "acme", bench.clock(), list(others)) == ["bench::look"]
    await bench.settle()
    assert len(targets.look.calls) >= 2
    assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_worker_of_another_tenant_leaves_everything_alone(bench: Bench) -> None:
    other = replace(bench.engine, tenant="globex")
    started = (await bench.start("bench.note", _note(1), ref="n")).run_id
    timer = (await bench.start("bench.timer", {}, ref="t")).run_id
    await Worker(other).drain()
    assert (await bench.run(started))["status"] == "queued"
    await bench.worker._start_some()
    await Worker(other).drain()
    assert {row["status"] for row in await bench.rows("SELECT status FROM effects")} == {"pending"}
    await bench.settle()
    bench.clock.move(days=30)
    assert await sweeps.sweep(other) == 0
    await Worker(other).drain()
    assert (await bench.run(timer))["status"] == "waiting"


async def test_no_two_workers_start_the_same_run_or_apply_the_same_notification(bench: Bench) -> None:
    for number in range(4):
        await bench.start("bench.note", _note(number), ref=f"n{number}")
    pool, now = bench.engine.pool, bench.clock()
    async with pool.connection() as one, pool.connection() as two, one.transaction(), two.transaction():
        assert await runs.next_queued(one, "acme", (), 1) != await runs.next_queued(two, "acme", (), 1)
    await bench.rows(
        "INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor,"
        " request_id, status, received_at, next_try_at)"
        " SELECT 'n' || i, 'acme', 'cancel', 'd' || i, '', '{}', '{}', '', %s, %s, %s FROM generate_series(1, 4) AS i"
        " RETURNING 1",
        NotificationStatus.RECEIVED,
        now,
        now,
    )
    async with pool.connection() as conn:
        first = await notifications.claim(conn, "acme", now, now + bench.engine.timing.lease, 2)
        second = await notifications.claim(conn, "acme", now, now + bench.engine.timing.lease, 4)
    assert (len(first), len(second)) == (2, 2)
    assert not set(first) & set(second)


async def test_deadlines_that_are_dead_letters_stop_no_other_deadline(bench: Bench) -> None:
    run_id = (await bench.start("bench.timer", {})).run_id
    await bench.settle()
    await bench.rows(
        """
        WITH bad AS (
            INSERT INTO waits (wait_id, run_id, step, type, correlation_key, token, deadline, moments, status,
                               correlate, created_at)
            SELECT 'bad' || i, run_id, 'bad' || i, 'timer', 'bad' || i, 't', deadline - interval '1 day', '[]',
                   'active', 'by_token', created_at
              FROM waits, generate_series(1, 150) AS i RETURNING wait_id)
        INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor,
                                   request_id, status, received_at, next_try_at)
        SELECT wait_id, 'acme', 'deadline', 'deadline:' || wait_id || ':t', wait_id, '{}', '{}', '', 'dead_letter',
               now(), now() FROM bad RETURNING 1
        """
    )
    await bench.later(hours=2)
    assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_run_that_somebody_holds_delays_no_deadline_of_another(bench: Bench) -> None:
    held = (await bench.start("bench.timer", {}, ref="1")).run_id
    other = (await bench.start("bench.timer", {}, ref="2")).run_id
    await bench.settle()
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await conn.execute("SELECT 1 FROM runs WHERE run_id = %s FOR UPDATE", (held,))
        async with asyncio.timeout(5):
            await bench.later(hours=2)
        assert (await bench.run(other))["status"] == "succeeded"
    await bench.later(seconds=1)
    assert (await bench.run(held))["status"] == "succeeded"


async def test_what_keeps_a_cancellation_to_itself_is_ended_all_the_same() -> None:
    kept = asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            kept.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(MINUTE), beside(stubborn()):
        await asyncio.sleep(0)
    assert kept.is_set()


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


async def _decided(bench: Bench) -> str:
    """Have people allow an effect that no worker has looked at since; return the request."""
    await bench.start("bench.file", FILE)
    await bench.settle()
    approval = await bench.approval_id()
    for person in ("ann", "ben"):
        assert (await bench.click(person, approval)).counted
    return approval


async def test_what_was_decided_is_begun_before_the_word_of_it(bench: Bench) -> None:
    await _decided(bench)
    await bench.worker.claim()
    lanes = [work.lane for work in bench.worker._tasks.values()]
    assert (lanes[0], set(lanes[1:])) == (Lane.EFFECTS, {Lane.MESSAGES})
    await bench.settle()


async def test_what_was_decided_is_begun_while_a_card_about_it_is_recorded(bench: Bench) -> None:
    """Whoever writes a request twice in a transaction, as that does, shares the key of its effect."""
    approval = await _decided(bench)
    with psycopg.connect(bench.superuser) as conn:
        for revision in (8, 9):
            conn.execute("UPDATE approvals SET revision = %s WHERE approval_id = %s", (revision, approval))
        await bench.worker.claim()
        rows = await bench.rows("SELECT status FROM effects WHERE purpose = 'step'")
        assert [row["status"] for row in rows] == ["leased"]
        conn.rollback()
    await bench.settle()
