"""Child runs: started and waited for, canceled, and asked anew.

Runs that start runs: the step waits for the end of the one, and goes on at once after the other.

Runs that a step waits for no more: they are canceled, whenever that comes, and a step that is held may ask anew.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evidence.verify.verify import verify
from receipts.chain import Actor
from runtime.handlers import Call, Handler, JsonObject, RefusedError
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.services import run_in_full
from runtime.services.child_runs import START
from runtime.services.definition_versions import Mover
from runtime.store.database.pool import Conn
from runtime.store.definitions import find_version
from tests.bench import TENANT, Bench, with_handlers
from tests.integration.acts_stage import Opener, status
from tests.integration.conftest import Targets
from tests.integration.forger import Forged
from tests.integration.played import stories_of
from tests.integration.test_step_repair import Opener as RepairOpener
from tests.integration.test_step_repair import started
from tests.patience import until
from tests.unit.evidence_sample import Office

__all__ = ["started"]


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
            found = await run_in_full.find_run(conn, TENANT, run_id)
            below = await run_in_full.find_run(conn, TENANT, child)
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
    started: RepairOpener, targets: Targets
) -> None:
    targets.note.answers = [RefusedError("closed")]
    async with started(NOTE) as stage:
        assert await stage.status() == {"run": "needs_attention", "sub": "needs_attention"}
        assert (await stage.act("retry", "sub"))["status"] == "applied"
        assert await stage.status() == {"run": "succeeded", "sub": "succeeded"}
        assert await children(stage.bench) == ["failed_terminal", "succeeded"]


async def test_a_run_that_lasted_too_long_for_a_step_that_is_held_is_canceled_before_another_starts(
    started: RepairOpener,
) -> None:
    async with started(LASTING.removeprefix("\nsteps:\n")) as stage:
        await stage.bench.later(minutes=10)
        assert await stage.status() == {"run": "needs_attention", "sub": "needs_attention"}
        assert await children(stage.bench) == ["canceled"]
        await stage.act("retry", "sub")
        assert await stage.status() == {"run": "waiting", "sub": "parked"}
        assert await children(stage.bench) == ["canceled", "waiting"]


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


class Losing:
    """The connector of runs, whose worker is lost once: before or after the run was started."""

    def __init__(self, bench: Bench, *, after: bool = True, looks_back: bool = True) -> None:
        self._real, self._after, self._lost = bench.engine.handlers[START], after, False
        handler = Handler(self._run, reconcile=self._real.reconcile if looks_back else None)
        self.bench = with_handlers(bench, {START: handler})

    async def _run(self, call: Call) -> JsonObject:
        answer = await self._real.run(call) if self._lost or self._after else None
        if not self._lost:
            self._lost = True
            raise ConnectionResetError("gone")
        assert isinstance(answer, dict)
        return answer

    async def receipts(self, run_id: str) -> list[dict[str, Any]]:
        return await self.bench.rows(
            "SELECT outcome, document -> 'response' AS response FROM receipts"
            " WHERE run_id = %s AND document ->> 'step' = 'sub' ORDER BY seq",
            run_id,
        )

    async def verified(self, run_id: str, folder: Path) -> None:
        """Verify the bundle of a run, of which every one that it started has ended."""
        office = Office.in_folder(folder)
        story = (await stories_of(office.key, self.bench, {"run": run_id}))["run"]
        verify(office.write(Forged.of(story).seal(office.key)), office.public)

    async def asked(self) -> int:
        return len(await self.bench.rows("SELECT 1 FROM approvals"))


@pytest.mark.parametrize("looks_back", [True, False])
async def test_the_failure_of_a_run_proves_that_it_was_started_and_nobody_is_asked(
    opened: Opener, targets: Targets, tmp_path: Path, *, looks_back: bool
) -> None:
    targets.note.answers = [RefusedError("closed")]
    async with opened(f"\nsteps:\n{NOTE}") as bench:
        losing = Losing(bench, looks_back=looks_back)
        run_id = (await losing.bench.start("bench.tree", {})).run_id
        await losing.bench.settle()
        await losing.bench.later(minutes=2)
        assert await status(losing.bench, run_id) == {"run": "failed_terminal", "sub": "failed_terminal"}
        known = {"run_id": await child_of(bench, run_id)}
        said = known if looks_back else {"known_from": "the completion of the step", "ids": {}}
        assert [(one["outcome"], one["response"]) for one in await losing.receipts(run_id)] == [
            ("in_doubt", None),
            ("success", said),
        ]
        assert await losing.asked() == 0
        await losing.verified(run_id, tmp_path)


@pytest.mark.parametrize("after", [True, False])
async def test_whether_a_run_was_started_for_a_step_that_was_canceled_is_found_in_our_own_rows(
    opened: Opener, tmp_path: Path, *, after: bool
) -> None:
    async with opened(LASTING) as bench:
        losing = Losing(bench, after=after)
        run_id = (await losing.bench.start("bench.tree", {})).run_id
        await losing.bench.settle()
        cancel = CancelPayload(run_id=run_id, reason="the client left")
        word = Notification("ntf_1", TENANT, "c", run_id, cancel, OMAR, "")
        await inbox.apply(losing.bench.engine, await inbox.record(losing.bench.engine, word))
        await losing.bench.later(minutes=2)
        assert await status(losing.bench, run_id) == {"run": "canceled", "sub": "canceled"}
        assert await children(losing.bench) == ["canceled"] * after
        assert [one["outcome"] for one in await losing.receipts(run_id)] == [
            "in_doubt",
            "success" if after else "refusal",
        ]
        assert await losing.asked() == 0
        await losing.verified(run_id, tmp_path)
