"""Triggers in sets: what comes at one moment is claimed in one transaction, and none is held up by another."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from receipts.chain import Actor
from runtime.planning.triggers import CheckedTrigger, Claim, Trigger, TriggerConflictError, claim_all
from runtime.store.runs import Subject, lock_subjects
from tests.bench import TENANT, Bench, open_bench
from tests.integration.conftest import PACK, Targets
from tests.integration.test_trigger_about import RITA, RUNBOOK, TYPE, come
from tests.patience import MINUTE, until


@pytest.fixture
async def bench(dsn: str, opa: OpaChild, targets: Targets, tmp_path: Path) -> AsyncIterator[Bench]:
    (tmp_path / "runbooks").mkdir()
    (tmp_path / "runbooks" / "case.yaml").write_text(RUNBOOK, encoding="utf-8")
    async with (
        OpaEngine(opa.url, timeout=MINUTE) as policy,
        open_bench(dsn, policy, [PACK, tmp_path], targets.handlers()) as found,
    ):
        yield found


def wanted(bench: Bench, ref: str, type_: str = "bench.timer", by: Actor = RITA, **payload: Any) -> CheckedTrigger:
    trigger = Trigger(TENANT, type_, ref, payload, by, "portal-bot", "req-1")
    return CheckedTrigger.of(bench.definitions[type_], trigger)


def about(bench: Bench, ref: str, case: str) -> CheckedTrigger:
    return wanted(bench, ref, TYPE, case=case, text=ref)


async def refs_of(bench: Bench) -> list[str]:
    return [row["trigger_ref"] for row in await bench.rows("SELECT trigger_ref FROM runs ORDER BY trigger_ref")]


def started(claims: Sequence[Claim | Exception]) -> list[bool]:
    return [isinstance(one, Claim) and one.is_new and one.signal is None for one in claims]


async def commits(bench: Bench, table: str, where: str = "true") -> set[str]:
    """Return the transactions that wrote rows of a table last."""
    return {row["at"] for row in await bench.rows(f"SELECT xmin::text AS at FROM {table} WHERE {where}")}


async def test_triggers_of_one_moment_share_a_commit(bench: Bench) -> None:
    await asyncio.gather(*(come(bench, f"r{n}", case=f"C{n}") for n in range(5)))  # each by a door of its own
    desk_commits = await commits(bench, "runs")
    claims = await claim_all(bench.engine, [wanted(bench, f"t{n}") for n in range(5)])
    set_commits = await commits(bench, "runs", "trigger_ref LIKE 't%%'")
    assert (len(desk_commits), started(claims), len(set_commits)) == (5, [True] * 5, 1)


async def test_each_of_a_set_has_its_steps_its_chain_and_its_place_in_the_log(bench: Bench) -> None:
    claims = await claim_all(
        bench.engine, [wanted(bench, "t1"), about(bench, "c1", "C1"), wanted(bench, "t2"), about(bench, "c2", "C2")]
    )
    runs = [one.run_id for one in claims if isinstance(one, Claim)]
    steps = [set((await bench.run(run))["steps"]) for run in runs]
    assert steps == [{"pause", "note"}, {"first", "between", "second"}] * 2
    assert [[leaf.event for leaf in await bench.chain(run)] for run in runs] == [["run.queued"]] * 4
    pending = await bench.rows("SELECT chain FROM log_pending WHERE chain = ANY(%s)", runs)
    assert {row["chain"] for row in pending} == set(runs)
    await bench.settle()
    assert {(await bench.run(run))["status"] for run in runs} == {"waiting"}


async def test_a_trigger_that_comes_twice_in_a_set_starts_one_run(bench: Bench) -> None:
    first, again, other = await claim_all(bench.engine, [wanted(bench, "t1"), wanted(bench, "t1"), wanted(bench, "t2")])
    assert started([first, again, other]) == [True, False, True]
    assert isinstance(first, Claim)
    assert again == Claim(first.run_id, is_new=False)
    assert await claim_all(bench.engine, [wanted(bench, "t1")]) == [again]
    assert await refs_of(bench) == ["t1", "t2"]


async def test_a_trigger_that_says_something_else_than_before_harms_no_other_of_its_set(bench: Bench) -> None:
    sam = Actor(id="sam", kind="person")
    await claim_all(bench.engine, [wanted(bench, "t1"), about(bench, "c1", "C1")])
    claims = await claim_all(
        bench.engine,
        [wanted(bench, "t0"), wanted(bench, "t1", by=sam), wanted(bench, "c1", TYPE, case="C2", text="else"),
         about(bench, "c2", "C2")],
    )  # fmt: skip
    assert [type(one) for one in claims] == [Claim, TriggerConflictError, TriggerConflictError, Claim]
    assert await refs_of(bench) == ["c1", "c2", "t0", "t1"]


async def test_of_a_set_about_one_subject_the_first_starts_a_run_and_the_others_are_its_signals_in_order(
    bench: Bench,
) -> None:
    claims = await claim_all(
        bench.engine,
        [about(bench, "a", "C1"), about(bench, "b", "C2"), about(bench, "c", "C1"), about(bench, "d", "C1")],
    )
    assert started(claims) == [True, True, False, False]
    runs = [one.run_id for one in claims if isinstance(one, Claim)]
    assert runs == [runs[0], runs[1], runs[0], runs[0]]
    sent = [one.signal.notification_id for one in claims if isinstance(one, Claim) and one.signal]
    query = "SELECT payload -> 'data' ->> 'text' AS text FROM notifications WHERE notification_id = ANY(%s)"
    assert [[row["text"] for row in await bench.rows(query, [one])] for one in sent] == [["c"], ["d"]]


async def test_who_locks_several_subjects_takes_them_in_their_order(bench: Bench) -> None:
    """Two who took them in other orders would wait for each other: who waits for the first has none behind it."""
    first, second = (Subject(TENANT, "case", f"case:{name}") for name in ("C1", "C2"))
    pool = bench.engine.pool
    async with pool.connection() as one, one.transaction():
        lock_subjects(one, [first])
        await one.write()
        waiting = asyncio.create_task(_lock(bench, [second, first]))
        await until(partial(_waits_for_a_lock, bench))
        async with asyncio.timeout(MINUTE):
            await _lock(bench, [second])
    await waiting


async def _lock(bench: Bench, subjects: Sequence[Subject]) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        lock_subjects(conn, subjects)
        await conn.write()


async def _waits_for_a_lock(bench: Bench) -> bool:
    return bool(await bench.rows("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))


async def test_what_fails_in_a_set_of_the_callers_door_fails_alone(bench: Bench) -> None:
    """A reference that the database refuses: one that is too long for its index."""
    long = "".join(chr(0x4E00 + number * 7 % 20000) for number in range(4000))
    ends = await asyncio.gather(
        *(come(bench, ref, text=f"x{n}", case=f"C{n}") for n, ref in enumerate(("one", long, "three"))),
        return_exceptions=True,
    )
    assert [isinstance(one, Claim) for one in ends] == [True, False, True]
    assert await refs_of(bench) == ["one", "three"]
