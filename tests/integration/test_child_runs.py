"""Runs that start runs: the step waits for the end of the one, and goes on at once after the other."""

import asyncio

import pytest

from receipts.chain import Actor
from runtime.handlers import RefusedError
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.services import listings
from runtime.services.definition_lives import Mover
from runtime.store.database.pool import Conn
from runtime.store.definitions import find_version
from tests.bench import TENANT, Bench
from tests.integration.conftest import Targets
from tests.integration.nodes_stage import Opener, status
from tests.patience import until

WAITING = """
steps:
  - id: sub
    run: { runbook: bench-note, trigger: { incident: I1, text: below, api_token: t }, timeout: P1D }
  - { id: after, verb: note, params: { incident: I1, text: "${steps.sub.result.run_id}" } }
"""


async def child_of(bench: Bench, run_id: str) -> str:
    (row,) = await bench.rows("SELECT run_id FROM runs WHERE parent ->> 'run_id' = %s", run_id)
    return str(row["run_id"])


async def test_the_end_of_the_run_is_the_steps_result(opened: Opener, targets: Targets) -> None:
    async with opened(WAITING) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert await status(bench, run_id) == {"run": "succeeded", "after": "succeeded", "sub": "succeeded"}
        child = await child_of(bench, run_id)
        assert [call.params["text"] for call in targets.note.calls] == ["below", child]
        (row,) = await bench.rows("SELECT requested_by, parent FROM runs WHERE run_id = %s", child)
        assert (row["requested_by"], row["parent"]["step"], row["parent"]["depth"]) == ("rita", "sub", 1)
        async with bench.engine.pool.connection() as conn:
            found = await listings.find_run(conn, TENANT, run_id)
            below = await listings.find_run(conn, TENANT, child)
        assert found is not None
        assert below is not None
        assert [(one["step"], one["run_id"], one["status"]) for one in found["runs"]] == [("sub", child, "succeeded")]
        assert (below["started_by"], below["started_by_step"]) == (run_id, "sub")
        queued = (await bench.chain(child))[0]
        assert queued.data["parent"] == {"run_id": run_id, "step": "sub"}


async def test_whoever_asked_is_told_of_their_own_run_and_not_of_one_that_a_step_waits_for(opened: Opener) -> None:
    async with opened(WAITING) as bench:
        await bench.start("bench.tree", {})
        await bench.settle()
        assert [one["text"] for one in bench.chat.said("direct_message")] == ["T (1) has finished: all steps done."]


async def test_a_run_that_fails_fails_the_step_and_takes_its_branch(opened: Opener, targets: Targets) -> None:
    targets.note.answers = [RefusedError("closed")]
    runbook = """
steps:
  - id: sub
    run: { runbook: bench-note, trigger: { incident: I1, text: below, api_token: t }, timeout: P1D }
    on:
      failure:
        - { id: tell, verb: note, params: { incident: I1, text: "${error.code}" } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert (await status(bench, run_id))["sub"] == "failed_handled"
        assert [call.params["text"] for call in targets.note.calls] == ["below", "failed"]


async def test_a_run_goes_on_without_the_one_that_it_continues_with(opened: Opener, targets: Targets) -> None:
    runbook = """
steps:
  - { id: next, continue_with: { runbook: bench-timer, trigger: {} } }
output: { next: "${steps.next.result.run_id}" }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        child = await child_of(bench, run_id)
        (row,) = await bench.rows("SELECT status, output FROM runs WHERE run_id = %s", run_id)
        assert row == {"status": "succeeded", "output": {"next": child}}
        assert (await bench.run(child))["status"] == "waiting"


async def test_a_run_is_canceled_with_the_one_that_waits_for_it(opened: Opener) -> None:
    runbook = """
steps:
  - { id: sub, run: { runbook: bench-timer, trigger: {}, timeout: P1D } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        child = await child_of(bench, run_id)
        word = Notification("ntf_1", TENANT, "c", run_id, CancelPayload(run_id=run_id, reason="x"), OMAR, "")
        await inbox.apply(bench.engine, await inbox.record(bench.engine, word))
        await bench.settle()
        assert [(await bench.run(one))["status"] for one in (run_id, child)] == ["canceled", "canceled"]


async def test_a_run_that_lasts_too_long_times_out_and_is_canceled_at_the_end(opened: Opener) -> None:
    runbook = """
steps:
  - { id: sub, run: { runbook: bench-timer, trigger: {}, timeout: PT10M } }
"""
    async with opened(runbook) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        child = await child_of(bench, run_id)
        await bench.later(minutes=10)
        assert [(await bench.run(one))["status"] for one in (run_id, child)] == ["failed_terminal", "canceled"]


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("{ runbook: nobody, trigger: {} }", "there is no runbook nobody"),
        ("{ runbook: bench-note, version: 9, trigger: {} }", "bench-note has no version 9"),
        ("{ runbook: bench-note, trigger: { incident: 1 } }", "bench-note version 1: payload: "),
    ],
)
async def test_what_cannot_start_fails_the_step_and_says_why(opened: Opener, asked: str, why: str) -> None:
    async with opened(f"\nsteps: [{{ id: next, continue_with: {asked} }}]\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        step = (await bench.run(run_id))["steps"]["next"]
        assert step["status"] == "failed_terminal"
        assert step["error"].startswith(why)


async def test_runs_that_start_themselves_end_at_some_depth(opened: Opener) -> None:
    async with opened("\nsteps: [{ id: more, run: { runbook: tree, trigger: {}, timeout: P1D } }]\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        rows = await bench.rows("SELECT status FROM runs")
        assert [row["status"] for row in rows] == ["failed_terminal"] * 11
        assert "no deeper" in (await bench.run(run_id))["steps"]["more"]["error"]


async def test_nobody_answers_for_a_run(opened: Opener) -> None:
    async with opened("steps: [{ id: sub, run: { runbook: bench-timer, trigger: {}, timeout: P1D } }]\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        outcome = await bench.complete(f"{run_id}:sub", {"run_id": "x", "outcome": "", "output": None})
        assert outcome["status"] == "refused"
        assert (await status(bench, run_id))["sub"] == "parked"


OMAR = Actor(id="omar", kind="person")


async def test_a_retired_runbook_is_started_by_no_other_run(opened: Opener, targets: Targets) -> None:
    async with opened(WAITING) as bench:
        async with bench.engine.pool.connection() as conn, conn.transaction():
            await _retire(bench, conn)
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        assert "bench-note version 1 is not active but retired" in (await bench.run(run_id))["error"]
        assert targets.note.calls == []


async def _retire(bench: Bench, conn: Conn) -> None:
    life = await find_version(conn, TENANT, "bench-note", 1)
    assert life is not None
    await Mover(conn, TENANT, OMAR, None, bench.clock()).retire(life)


@pytest.mark.parametrize("asks", ["run: {{ {}, timeout: P1D }}", "continue_with: {{ {} }}"])
async def test_a_runbook_that_is_retired_while_a_step_starts_it_starts_no_more(opened: Opener, asks: str) -> None:
    asked = asks.format("runbook: bench-note, trigger: { incident: I1, text: t, api_token: t }")
    async with opened(f"\nsteps: [{{ id: sub, {asked} }}]\n") as bench:
        await bench.start("bench.tree", {}, ref="1")
        await bench.settle()  # policy's text is on record by then: nothing but the start waits for the retirement
        run_id = (await bench.start("bench.tree", {}, ref="2")).run_id
        async with bench.engine.pool.connection() as conn, conn.transaction():
            await _retire(bench, conn)
            settling = asyncio.create_task(bench.settle())
            await until(lambda: bench.rows("SELECT 1 FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted"))
        await settling
        assert (await bench.run(run_id))["error"] == "sub: bench-note version 1 has retired just now"
        assert len(await bench.rows("SELECT 1 FROM runs WHERE parent IS NOT NULL")) == 1
