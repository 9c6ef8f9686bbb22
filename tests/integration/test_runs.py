"""Runs: waits, timers, branches, deadlines and escalation; what comes late, twice or to nobody changes nothing."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from receipts.chain import Actor
from runtime.handlers import RefusedError, TransientError
from runtime.inbox import inbox
from runtime.model.approval import Result, ResultCode
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.worker import sweeps
from runtime.worker.worker import Worker
from tests.bench import Bench, Target
from tests.integration.conftest import Targets

KEY = "acme:await_answer:C1"


async def _status(bench: Bench, run_id: str) -> dict[str, str]:
    run = await bench.run(run_id)
    return {"run": run["status"], **{path: step["status"] for path, step in run["steps"].items()}}


async def _result(bench: Bench, approval_id: str) -> Result | None:
    view = await bench.desk.approval(approval_id)
    assert view is not None
    return view.result


async def test_a_timer_fires_when_it_is_due_and_not_before(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.timer", {})).run_id
    await bench.settle()
    await bench.later(minutes=59)
    assert await _status(bench, run_id) == {"run": "waiting", "pause": "parked", "note": "pending"}
    await bench.later(minutes=1)
    assert await _status(bench, run_id) == {"run": "succeeded", "pause": "succeeded", "note": "succeeded"}
    assert len(targets.note.calls) == 1


async def test_two_sweepers_at_once_fire_a_timer_once(bench: Bench, targets: Targets) -> None:
    await bench.start("bench.timer", {})
    await bench.settle()
    bench.clock.move(hours=1)
    await asyncio.gather(*(sweeps.sweep(bench.engine) for _ in range(4)))
    await bench.settle()
    assert len(targets.note.calls) == 1
    fired = await bench.rows("SELECT status FROM notifications WHERE kind = 'deadline'")
    assert [row["status"] for row in fired] == ["applied"]


async def test_only_the_branch_whose_condition_holds_is_taken(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.branches", {})).run_id
    await bench.settle()
    status = await _status(bench, run_id)
    assert status["run"] == "succeeded"
    assert (status["big"], status["small"], status["after_big"]) == ("skipped", "succeeded", "skipped")
    assert [call.params["text"] for call in targets.note.calls] == ["small"]


async def test_a_read_is_tried_again_and_fails_for_good_on_a_refusal(bench: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("busy"), RefusedError("gone")]
    run_id = (await bench.start("bench.branches", {})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "failed_terminal"
    assert targets.note.calls == []


async def test_a_transient_read_resumes_the_run_after_its_pause(bench: Bench, targets: Targets) -> None:
    targets.look.answers = [TransientError("busy")]
    run_id = (await bench.start("bench.branches", {})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "failed_retryable"
    await bench.later(seconds=3)
    assert (await bench.run(run_id))["status"] == "succeeded"


async def test_a_result_that_does_not_fit_the_schema_fails_the_step(bench: Bench, targets: Targets) -> None:
    targets.look.default = {"value": "three"}
    run_id = (await bench.start("bench.branches", {})).run_id
    await bench.settle()
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "value" in run["error"]


async def test_a_completion_resumes_the_parked_step_once(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    assert (await _status(bench, run_id))["ask"] == "parked"
    assert targets.portal.calls[0].correlation_key == KEY
    assert (await bench.complete(KEY, {"answer": "yes"}, "d1"))["status"] == "applied"
    assert (await bench.complete(KEY, {"answer": "yes"}, "d1"))["status"] == "applied", "a repeat gets the first answer"
    assert (await bench.complete(KEY, {"answer": "no"}, "d2"))["status"] == "stale"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert [call.params["text"] for call in targets.note.calls] == ["yes"]


async def test_a_completion_before_the_start_has_its_receipt_is_not_lost(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id

    class Quick(Target):
        async def run(self, call):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            await bench.complete(call.correlation_key, {"answer": "at once"}, "quick", call.token)
            return {"request_id": "R1"}

    handlers = dict(bench.engine.handlers)
    handlers["portal::request_documents"] = Quick().handler()

    await Worker(replace(bench.engine, handlers=handlers)).drain()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert targets.note.calls[0].params["text"] == "at once"


async def test_a_wait_times_out_after_asking_the_next_in_line(bench: Bench) -> None:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await bench.later(days=10)
    told = {message["user"] for message in bench.chat.said("direct_message")}
    assert {"UANN", "UBEN"} <= told
    assert (await _status(bench, run_id))["ask"] == "parked"
    await bench.later(days=4)
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "no answer in time" in run["error"]
    assert (await bench.complete(KEY, {"answer": "late"}))["status"] == "stale"


async def test_an_approval_that_nobody_decides_expires_and_is_never_consent(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval)).counted
    await bench.later(hours=8)
    run = await bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert "expiry is never consent" in run["error"]
    assert await _result(bench, approval) == Result(ResultCode.NOT_IN_TIME)
    assert targets.file.calls == []
    late = await bench.click("ben", approval)
    assert late.refusal is not None
    assert late.refusal.code == "vote.closed"


@pytest.mark.parametrize(
    ("verdict", "result"),
    [("approve", Result(ResultCode.PERFORMED)), ("reject", Result(ResultCode.REJECTED, ("Ben",)))],
)
async def test_what_became_of_an_action_is_data(bench: Bench, verdict: str, result: Result) -> None:
    await bench.start("bench.file", {"company": "ACME", "text": "r"})
    await bench.settle()
    approval = await bench.approval_id()
    assert (await bench.click("ann", approval)).counted
    assert await _result(bench, approval) is None
    assert (await bench.click("ben", approval, verdict)).counted
    await bench.settle()
    assert await _result(bench, approval) == result


async def test_when_time_runs_short_the_next_in_line_may_vote(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await bench.settle()
    approval = await bench.approval_id()
    early = await bench.click("sue", approval)
    assert early.refusal is not None
    assert early.refusal.code == "vote.not_in_group"
    await bench.later(hours=6)
    assert (await bench.click("sue", approval, nonce="2")).counted
    assert (await bench.click("ann", approval)).counted
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.file.calls) == 1


@pytest.mark.parametrize("result", [{"value": 2**60}, {"value": 1, "text": "\x00"}, ["no object"], {"value": "\ud800"}])
async def test_a_read_whose_result_cannot_be_recorded_fails_its_step(
    bench: Bench, targets: Targets, result: Any
) -> None:
    targets.look.default = result
    run_id = (await bench.start("bench.branches", {})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "failed_terminal"


async def test_a_write_whose_answer_cannot_be_recorded_still_acts_once_and_has_its_receipt(
    bench: Bench, targets: Targets
) -> None:
    targets.note.answers = [{"number": 2**60}]
    run_id = (await bench.start("bench.note", {"incident": "I1", "text": "seen", "api_token": "t"})).run_id
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert len(targets.note.calls) == 1


async def test_an_error_with_a_nul_in_it_is_kept_without(bench: Bench, targets: Targets) -> None:
    targets.note.answers = [RefusedError("bad \x00 byte")]
    run_id = (await bench.start("bench.note", {"incident": "I1", "text": "seen", "api_token": "t"})).run_id
    await bench.settle()
    assert "bad \\0 byte" in (await bench.run(run_id))["error"]


async def test_a_canceled_run_does_nothing_more_and_its_card_says_so(bench: Bench, targets: Targets) -> None:
    run_id = (await bench.start("bench.file", {"company": "ACME", "text": "r"})).run_id
    await bench.settle()
    approval = await bench.approval_id()
    cancel = Notification(
        notification_id="ntf_1",
        tenant="acme",
        dedupe_key="c1",
        correlation_key=run_id,
        payload=CancelPayload(run_id=run_id, reason="wrong client"),
        actor=Actor(id="omar", kind="person"),
        request_id="req",
    )
    facts = await inbox.apply(bench.engine, await inbox.record(bench.engine, cancel))
    assert facts["status"] == "applied"
    await bench.settle()
    assert (await bench.run(run_id))["status"] == "canceled"
    assert (await bench.click("ann", approval)).counted is False
    assert bench.chat.said("update_card")[-1]["approval_id"] == approval
    assert targets.file.calls == []


async def test_a_run_that_cannot_be_started_does_not_hold_up_the_others(bench: Bench, targets: Targets) -> None:
    broken = (await bench.start("bench.note", {"incident": "I1", "text": "a", "api_token": "t"}, ref="1")).run_id
    async with bench.engine.pool.connection() as conn:
        await conn.execute("INSERT INTO definitions SELECT 'broken', 1, '', '{', now()")
    await bench.meddle("UPDATE runs SET definition_name = 'broken' WHERE run_id = %s", broken)
    other = (await bench.start("bench.note", {"incident": "I2", "text": "b", "api_token": "t"}, ref="2")).run_id
    await bench.settle()
    assert (await bench.run(other))["status"] == "succeeded"
    assert (await bench.run(broken))["status"] == "queued"
    assert len(targets.note.calls) == 1
