"""Runs: waits, timers, branches, deadlines, and progress of steps.

Runs: waits, timers, branches, deadlines and escalation; what comes late, twice or to nobody changes nothing.

Word of progress: it is shown where the step is shown, is on record, is bounded, and resumes nothing.
"""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from receipts.chain import Actor
from runtime import sweeps
from runtime.handlers import RefusedError, TransientError
from runtime.inbox import inbox
from runtime.inbox.answer_rules import MOST_BYTES
from runtime.model.action import commitment
from runtime.model.approval import Result, ResultCode
from runtime.model.commands import CancelPayload
from runtime.model.notification import Notification
from runtime.worker import Worker
from tests.bench import BENCH_SECRET, Bench, Target
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


HALF = {"documents": {"wanted": 4, "got": 2}}


async def _started(bench: Bench) -> str:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    return run_id


async def _shown(bench: Bench, run_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = (await bench.run(run_id))["steps"]["ask"]["progress"]
    return shown


async def _leaves(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    return [leaf.data for leaf in await bench.chain(run_id) if leaf.event == "wait.progress"]


async def test_progress_is_shown_on_its_step_and_on_record_and_resumes_nothing(bench: Bench) -> None:
    run_id = await _started(bench)
    facts = await bench.progress(KEY, "two of four", HALF)
    assert facts["status"] == "applied"
    shown = await _shown(bench, run_id)
    assert (shown["message"], shown["data"], shown["count"]) == ("two of four", HALF, 1)
    (wait,) = await bench.rows("SELECT wait_id, r.salt FROM waits JOIN runs r USING (run_id)")
    (leaf,) = await _leaves(bench, run_id)
    assert leaf["wait_id"] == wait["wait_id"]
    assert (leaf["message"], leaf["count"]) == ("two of four", 1)
    assert leaf["data"] == commitment(HALF, wait["salt"]), "bound, and not to be guessed"
    assert (await bench.run(run_id))["steps"]["ask"]["status"] == "parked"


async def test_the_newest_word_takes_the_place_of_the_one_before(bench: Bench) -> None:
    run_id = await _started(bench)
    for got in range(4):
        await bench.progress(KEY, f"{got} of four", {"got": got})
    assert (await _shown(bench, run_id))["data"] == {"got": 3}
    assert (await _shown(bench, run_id))["count"] == 4
    await bench.progress(KEY, "nearly")
    assert (await _shown(bench, run_id))["data"] is None


async def test_progress_that_comes_often_leaves_one_leaf_a_minute_and_then_ever_fewer(bench: Bench) -> None:
    run_id = await _started(bench)
    for _ in range(200):
        await bench.progress(KEY, "still at it")
        bench.clock.move(seconds=30)
    counts = [leaf["count"] for leaf in await _leaves(bench, run_id)]
    assert counts[:3] == [1, 3, 5], "every other, half a minute apart"
    assert counts[-1] - counts[-2] == 4, "a fiftieth of an hour and a half, and more, later"
    bench.clock.move(days=10)
    await bench.progress(KEY, "after ten days")
    bench.clock.move(hours=1)
    await bench.progress(KEY, "after another hour")
    assert [leaf["message"] for leaf in await _leaves(bench, run_id)][-1] == "after ten days"
    assert (await _shown(bench, run_id))["message"] == "after another hour"


async def test_data_that_is_too_large_is_refused_and_what_was_there_stays(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.progress(KEY, "half", HALF)
    fits = {"text": "x" * (MOST_BYTES - len('{"text":""}'))}
    assert (await bench.progress(KEY, "all of it", {"text": fits["text"] + "x"}))["code"] == "answer.invalid"
    assert (await _shown(bench, run_id))["data"] == HALF
    assert (await bench.progress(KEY, "just", fits))["status"] == "applied"


async def test_secrets_in_progress_are_hidden_where_it_is_shown_and_where_it_is_kept(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.progress(KEY, f"with {BENCH_SECRET}", {"token": f"x {BENCH_SECRET}"})
    (row,) = await bench.rows("SELECT progress::text AS kept FROM waits")
    leaves = await bench.rows("SELECT leaf::text AS leaf FROM audit_leaves WHERE run_id = %s", run_id)
    assert not any(BENCH_SECRET in text for text in (row["kept"], *(one["leaf"] for one in leaves)))


async def test_a_caller_that_may_not_answer_for_the_verb_tells_no_progress(bench: Bench) -> None:
    run_id = await _started(bench)
    assert (await bench.progress(KEY, "half", verbs=["another"]))["code"] == "answer.not_yours"
    assert await _shown(bench, run_id) is None


async def test_progress_that_comes_when_the_step_has_its_answer_is_late(bench: Bench) -> None:
    await _started(bench)
    await bench.complete(KEY, {"answer": "yes"})
    facts = await bench.progress(KEY, "half")
    assert (facts["status"], facts["code"]) == ("stale", "answer.late")


async def test_the_newest_word_stays_on_the_step_when_it_has_ended(bench: Bench) -> None:
    run_id = await _started(bench)
    await bench.progress(KEY, "all four", HALF)
    await bench.complete(KEY, {"answer": "yes"})
    assert (await _shown(bench, run_id))["message"] == "all four"
