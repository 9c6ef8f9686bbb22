"""Runs that a step waits for no more: they are canceled, whenever that comes, and a step that is held may ask anew."""

import pytest

from receipts.chain import Actor
from runtime.desk.children.connector import START
from runtime.handlers import Call, Handler, JsonObject, RefusedError
from runtime.inbox import inbox
from runtime.model.notification.notification import Notification
from runtime.model.notification.runs import CancelPayload
from tests.bench import TENANT, Bench, with_handlers
from tests.integration.conftest import Targets
from tests.integration.nodes_stage import Opener, status
from tests.integration.test_child_runs import child_of
from tests.integration.test_mending import Opener as HeldOpener
from tests.integration.test_mending import started

__all__ = ["started"]

OMAR = Actor(id="omar", kind="person")
LASTING = """
steps:
  - id: sub
    run: { runbook: bench-timer, trigger: {}, timeout: PT10M }
"""
NOTE = "  - { id: sub, run: { runbook: bench-note, timeout: P1D, trigger: { incident: I1, text: a, api_token: t } } }\n"


async def children(bench: Bench) -> list[str]:
    rows = await bench.rows("SELECT status FROM runs WHERE parent IS NOT NULL ORDER BY status")
    return [row["status"] for row in rows]


async def test_a_run_whose_time_is_over_is_canceled_though_a_branch_goes_on(opened: Opener) -> None:
    async with opened(f"{LASTING}    on: {{ timeout: [{{ id: after, wait: {{ for: P9D }} }}] }}\n") as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        await bench.settle()
        await bench.later(minutes=10)
        assert (await bench.run(run_id))["status"] == "waiting"
        assert await children(bench) == ["canceled"]
        reason = next(
            leaf.data["reason"]
            for leaf in await bench.chain(await child_of(bench, run_id))
            if leaf.event == "run.cancel_requested"
        )
        assert reason == f"sub of run {run_id}, which started this one, waits for it no more"


async def test_one_of_several_runs_that_is_waited_for_no_more_is_canceled_alone(opened: Opener) -> None:
    beside = "  - { id: other, run: { runbook: bench-timer, trigger: {}, timeout: P1D } }\n"
    handled = "    on: { timeout: [{ id: after, wait: { for: P9D } }] }\n"
    async with opened(LASTING + handled + beside) as bench:
        await bench.start("bench.tree", {})
        await bench.settle()
        await bench.later(minutes=10)
        rows = await bench.rows("SELECT parent ->> 'step' AS step, status FROM runs WHERE parent IS NOT NULL")
        assert {row["step"]: row["status"] for row in rows} == {"sub": "canceled", "other": "waiting"}


async def test_a_held_step_that_is_tried_anew_starts_another_run_and_waits_for_that(
    started: HeldOpener, targets: Targets
) -> None:
    targets.note.answers = [RefusedError("closed")]
    async with started(NOTE) as held:
        assert await held.status() == {"run": "held", "sub": "held"}
        assert (await held.act("retry", "sub"))["status"] == "applied"
        assert await held.status() == {"run": "succeeded", "sub": "succeeded"}
        assert await children(held.bench) == ["failed_terminal", "succeeded"]


async def test_a_run_that_lasted_too_long_for_a_step_that_is_held_is_canceled_before_another_starts(
    started: HeldOpener,
) -> None:
    async with started(LASTING.removeprefix("\nsteps:\n")) as held:
        await held.bench.later(minutes=10)
        assert await held.status() == {"run": "held", "sub": "held"}
        assert await children(held.bench) == ["canceled"]
        await held.act("retry", "sub")
        assert await held.status() == {"run": "waiting", "sub": "parked"}
        assert await children(held.bench) == ["canceled", "waiting"]


async def test_nothing_is_started_for_a_step_that_ends_just_before(opened: Opener) -> None:
    async with opened(LASTING) as bench:
        original = bench.engine.handlers[START]

        async def canceled_before(call: Call) -> JsonObject:
            cancel = CancelPayload(run_id=call.run_id, reason="the client left")
            word = Notification("ntf_1", TENANT, "c", call.run_id, cancel, OMAR, "")
            await inbox.apply(bench.engine, await inbox.record(bench.engine, word))
            answer = await original.run(call)
            assert isinstance(answer, dict)
            return answer

        raced = with_handlers(bench, {START: Handler(canceled_before)})
        run_id = (await raced.start("bench.tree", {})).run_id
        await raced.settle()
        assert await status(raced, run_id) == {"run": "canceled", "sub": "canceled"}
        assert await children(raced) == []
        (effect,) = await raced.rows("SELECT status, error FROM effects WHERE run_id = %s AND step = 'sub'", run_id)
        assert effect == {"status": "failed", "error": "the step that asked for it has ended"}


async def test_a_trigger_under_the_name_of_the_step_does_not_take_the_place_of_its_run(opened: Opener) -> None:
    async with opened(LASTING) as bench:
        run_id = (await bench.start("bench.tree", {})).run_id
        other = (await bench.start("bench.timer", {}, ref=f"{run_id}:sub")).run_id
        await bench.settle()
        assert await child_of(bench, run_id) != other


@pytest.mark.parametrize("ends", [False, True])
async def test_a_start_that_is_tried_again_finds_its_run_whether_that_has_ended_or_not(
    opened: Opener, targets: Targets, *, ends: bool
) -> None:
    """The worker is lost when the run was started, and before anybody was told."""
    runbook = f"\nsteps:\n{NOTE}" if ends else LASTING
    async with opened(runbook) as bench:
        original, lost = bench.engine.handlers[START], [True]

        async def lost_after(call: Call) -> JsonObject:
            answer = await original.run(call)
            if lost and lost.pop():
                raise ConnectionResetError("gone")
            assert isinstance(answer, dict)
            return answer

        raced = with_handlers(bench, {START: Handler(lost_after)})
        run_id = (await raced.start("bench.tree", {})).run_id
        await raced.settle()
        await raced.later(minutes=2)
        assert len(await children(raced)) == 1
        assert (await status(raced, run_id))["sub"] == ("succeeded" if ends else "parked")
        assert len(targets.note.calls) == ends
