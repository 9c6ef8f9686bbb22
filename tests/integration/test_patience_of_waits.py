"""While a step waits, others are asked, those who are asked are reminded, time is given. Nothing of it is consent."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from receipts.fields import timestamp
from runtime import sweeps
from runtime.inbox import inbox
from runtime.model.payloads import DeadlinePayload
from runtime.model.votes import RefusalCode
from runtime.store import waits
from tests.bench import Bench
from tests.integration.conftest import Targets


async def _review(bench: Bench) -> tuple[str, str]:
    """Start a review, and return its run and its approval."""
    run_id = (await bench.start("patience.review", {}, "case-7")).run_id
    await bench.settle()
    return run_id, await bench.approval_id("task")


def _said(bench: Bench, words: str) -> list[str]:
    return [message["text"] for message in bench.chat.said("post_message") if words in message["text"]]


async def _escalated(bench: Bench, run_id: str) -> list[dict[str, Any]]:
    return [dict(leaf.data) for leaf in await bench.chain(run_id) if leaf.event == "wait.escalated"]


async def _refusal(bench: Bench, person: str, approval: str) -> RefusalCode | None:
    refusal = (await bench.click(person, approval, nonce=str(bench.clock()))).refusal
    return None if refusal is None else refusal.code


async def _until(bench: Bench, days: int) -> None:
    """Let days pass, one by one."""
    for _ in range(days):
        await bench.later(days=1)


async def test_groups_are_asked_one_after_the_other_and_each_may_answer_from_then_on(patient: Bench) -> None:
    _, approval = await _review(patient)
    assert await _refusal(patient, "omar", approval) == "vote.not_in_group"
    await _until(patient, 5)
    assert await _refusal(patient, "sue", approval) == "vote.not_in_group", "her time has not come"
    await _until(patient, 2)
    assert (await patient.click("sue", approval)).counted


async def test_who_was_asked_first_may_still_answer(patient: Bench) -> None:
    run_id, approval = await _review(patient)
    await _until(patient, 5)
    assert (await patient.click("omar", approval)).counted
    await patient.settle()
    assert (await patient.run(run_id))["status"] == "succeeded"


async def test_what_nobody_reviews_goes_to_others_for_some_days_more(patient: Bench) -> None:
    run_id, approval = await _review(patient)
    await _until(patient, 9)
    assert (await patient.run(run_id))["status"] == "waiting", "it would have timed out after seven"
    view = await patient.desk.approval(approval)
    assert view is not None
    assert (view.expires_at - view.requested_at).days == 10
    assert (await patient.click("sue", approval)).counted
    await patient.settle()
    assert (await patient.run(run_id))["status"] == "succeeded"


async def test_the_time_that_was_given_ends_too(patient: Bench) -> None:
    run_id, approval = await _review(patient)
    await _until(patient, 10)
    run = await patient.run(run_id)
    assert (run["status"], run["error"]) == ("failed_terminal", "review: nobody answered in time")
    assert await _refusal(patient, "sue", approval) == "vote.closed"


async def test_each_entry_is_on_record_with_what_it_did(patient: Bench) -> None:
    run_id, _ = await _review(patient)
    await _until(patient, 7)
    asked = patient.clock()
    await _until(patient, 2)
    [wait] = await patient.rows("SELECT wait_id FROM waits WHERE type = 'human_task'")
    first, second, third = await _escalated(patient, run_id)
    of = {**wait, "type": "human_task"}
    assert first == {**of, "entry": 0, "to": ["operators"]}
    deadline = timestamp(asked + timedelta(days=3))
    assert second == {**of, "entry": 1, "to": ["senior-compliance"], "deadline": deadline}
    assert {**third, "started": third["started"]["runbook"]} == {
        **of,
        "entry": 2,
        "to": [],
        "started": "patience-rescue",
    }


async def test_whoever_is_asked_next_is_told_and_sees_it_on_the_card(patient: Bench) -> None:
    _, approval = await _review(patient)
    await _until(patient, 7)
    assert any("Escalated to operators" in text for text in _said(patient, "Escalated"))
    [given] = set(_said(patient, "Escalated to senior-compliance"))
    assert "Due " in given
    view = await patient.desk.approval(approval)
    assert view is not None
    assert view.escalated
    assert [update["approval_id"] for update in patient.chat.said("update_card")].count(approval) == 2


async def test_what_would_have_prolonged_a_deadline_comes_before_it_though_nobody_swept_in_time(patient: Bench) -> None:
    run_id, approval = await _review(patient)
    await patient.later(days=30)
    assert (await patient.run(run_id))["status"] == "waiting"
    view = await patient.desk.approval(approval)
    assert view is not None
    assert (view.expires_at - patient.clock()).days in (2, 3), "three days from when they were asked"
    await patient.later(days=4)
    assert (await patient.run(run_id))["status"] == "failed_terminal"


async def test_a_wait_for_another_system_is_prolonged_as_well(patient: Bench, targets: Targets) -> None:
    run_id = (await patient.start("patience.ask", {})).run_id
    await patient.settle()
    await _until(patient, 17)
    assert (await patient.run(run_id))["status"] == "waiting"
    await _until(patient, 1)
    run = await patient.run(run_id)
    assert (run["status"], run["error"]) == ("failed_terminal", "ask: no answer in time")


async def test_a_runbook_takes_up_what_waits_too_long_on_behalf_of_whoever_asked_for_it(
    patient: Bench, targets: Targets
) -> None:
    run_id, _ = await _review(patient)
    await _until(patient, 9)
    [started] = await patient.rows("SELECT * FROM runs WHERE definition_name = 'patience-rescue'")
    assert started["trigger"] == {
        "run": run_id,
        "step": "review",
        "reference": "case-7",
        "what": "Ask the desk, then others, and wait for the decision",
    }
    assert (started["requested_by"], started["submitted_by"]) == ("rita", "portal-bot")
    assert started["status"] == "succeeded"
    assert [call.params["incident"] for call in targets.note.calls] == [run_id]
    assert (await _escalated(patient, run_id))[-1]["started"] == {
        "runbook": "patience-rescue",
        "run_id": started["run_id"],
    }


async def test_a_runbook_that_cannot_be_started_is_told_to_operators_and_stops_nothing(patient: Bench) -> None:
    run_id, approval = await _review(patient)
    await patient.meddle("UPDATE definitions SET name = 'gone' WHERE name = 'patience-rescue'")
    await _until(patient, 9)
    assert (await _escalated(patient, run_id))[-1]["started"] == {
        "runbook": "patience-rescue",
        "error": "there is no such runbook",
    }
    assert _said(patient, "patience-rescue could not be started for review")
    assert (await patient.click("sue", approval)).counted


async def test_reminders_come_with_growing_pauses_in_the_thread_of_the_card(patient: Bench) -> None:
    await _review(patient)
    reminded = []
    for day in range(1, 10):
        before = len(_said(patient, "Still open"))
        await patient.later(days=1)
        reminded += [day] * (len(_said(patient, "Still open")) - before)
    assert reminded == [1, 3, 7], "after one day, two and four more; eight more would be too late"
    assert "Asked: compliance." in _said(patient, "Still open")[0]
    assert "Asked: compliance, operators, senior-compliance." in _said(patient, "Still open")[-1]


async def test_a_step_says_itself_whom_it_asks_next_for_how_long_and_when_people_are_reminded(patient: Bench) -> None:
    run_id = (await patient.start("patience.here", {})).run_id
    await patient.settle()
    approval = await patient.approval_id("task")
    await patient.later(hours=12)
    assert [len(_said(patient, "Still open")), await _refusal(patient, "sue", approval)] == [1, "vote.not_in_group"]
    await patient.later(hours=12)
    assert await _refusal(patient, "omar", approval) == "vote.not_in_group", "the verb's list is not asked"
    view = await patient.desk.approval(approval)
    assert view is not None
    assert (view.expires_at - view.requested_at).days == 4
    await _until(patient, 1)
    assert len(await patient.rows("SELECT 1 FROM runs WHERE definition_name = 'patience-rescue'")) == 1
    assert [entry["to"] for entry in await _escalated(patient, run_id)] == [["senior-compliance"], []]
    assert len(_said(patient, "Still open")) == 1
    assert (await patient.click("sue", approval)).counted
    await patient.settle()
    assert (await patient.run(run_id))["status"] == "succeeded"


async def test_after_a_long_sleep_one_reminder_is_enough(patient: Bench) -> None:
    await _review(patient)
    await patient.later(days=4)
    assert len(_said(patient, "Still open")) == 1
    await _until(patient, 1)
    assert len(_said(patient, "Still open")) == 1


async def test_nobody_is_reminded_or_asked_once_it_is_decided(patient: Bench) -> None:
    run_id, approval = await _review(patient)
    assert (await patient.click("ann", approval)).counted
    await patient.settle()
    await _until(patient, 9)
    assert (_said(patient, "Still open"), await _escalated(patient, run_id)) == ([], [])


async def test_a_reminder_is_no_leaf_of_its_own_and_no_consent(patient: Bench) -> None:
    run_id, _ = await _review(patient)
    await patient.later(days=1)
    assert _said(patient, "Still open")
    assert {leaf.event.partition(".")[0] for leaf in await patient.chain(run_id)} >= {"wait", "approval"}
    assert [leaf.event for leaf in await patient.chain(run_id) if leaf.event.startswith("wait.")] == ["wait.opened"]
    assert (await patient.run(run_id))["status"] == "waiting"


async def test_two_sweepers_at_once_ask_once_and_remind_once(patient: Bench) -> None:
    run_id, _ = await _review(patient)
    patient.clock.move(days=5)
    await asyncio.gather(*(sweeps.sweep(replace(patient.engine, worker=f"w{n}")) for n in range(3)))
    await patient.settle()
    assert len(await _escalated(patient, run_id)) == 1
    assert len(_said(patient, "Still open")) == 1


@pytest.mark.parametrize("days", [0, 5])
async def test_a_sweep_finds_only_what_is_due(patient: Bench, days: int) -> None:
    await _review(patient)
    await _until(patient, days)
    assert await sweeps.fire_escalations(patient.engine) == 0


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ("expires_at - interval '1 second'", "kind = 'task'"),
        ("NULL", "kind = 'task'"),
        ("expires_at + interval '1 day'", "kind = 'effect'"),
        ("expires_at + interval '20 days'", "kind = 'task' AND status = 'approved'"),
    ],
)
async def test_only_an_open_review_is_given_more_time_and_never_less(patient: Bench, change: str, where: str) -> None:
    _, approval = await _review(patient)
    await _until(patient, 8)
    if "approved" in where:
        assert (await patient.click("sue", approval)).counted
    if "effect" in where:
        await patient.meddle("UPDATE approvals SET kind = 'effect'")
    with pytest.raises(psycopg.errors.RaiseException, match="this of approvals is written once"):
        await patient.rows(f"UPDATE approvals SET prolonged_until = {change} WHERE {where} RETURNING 1")


async def test_a_deadline_that_was_told_before_it_was_prolonged_ends_nothing_and_the_later_one_does(
    patient: Bench,
) -> None:
    run_id, _ = await _review(patient)
    await _until(patient, 6)
    patient.clock.move(days=1)
    [told] = await sweeps._record(patient.engine, waits.due_deadlines, DeadlinePayload)
    assert await sweeps.fire_escalations(patient.engine) == 1
    assert (await inbox.apply(patient.engine, told))["reason"] == "the wait has gone on since"
    assert (await patient.run(run_id))["status"] == "waiting"
    await _until(patient, 3)
    assert (await patient.run(run_id))["status"] == "failed_terminal"


async def _due_in(bench: Bench, **time: float) -> str:
    """Start the runbook all of whose steps wait until a moment, or a day before it; return its run."""
    due = timestamp(bench.clock() + timedelta(**time))
    run_id = (await bench.start("patience.until", {"due": due})).run_id
    await bench.settle()
    return run_id


async def _silent(bench: Bench, run_id: str) -> dict[str, str]:
    """Return the error of each step that has ended without an answer."""
    (row,) = await bench.rows("SELECT state FROM runs WHERE run_id = %s", run_id)
    return dict(row["state"] or {})


async def test_reviews_questions_and_runs_wait_until_the_moment_that_their_step_says(patient: Bench) -> None:
    run_id = await _due_in(patient, days=3)
    await _until(patient, 1)
    assert await _silent(patient, run_id) == {}
    await _until(patient, 1)
    assert await _silent(patient, run_id) == {"ask": "no answer in time"}
    await _until(patient, 1)
    assert (await _silent(patient, run_id)).keys() == {"ask", "review", "below"}
    [below] = await patient.rows("SELECT status FROM runs WHERE run_id != %s", run_id)
    assert below["status"] == "canceled"


async def test_a_card_says_the_moment_until_which_a_step_waits(patient: Bench) -> None:
    due = patient.clock() + timedelta(days=3)
    await _due_in(patient, days=3)
    [review] = await patient.rows("SELECT approval_id FROM approvals WHERE step = 'review' AND expires_at = %s", due)
    view = await patient.desk.approval(review["approval_id"])
    assert view is not None
    assert view.expires_at == due


async def test_nothing_is_begun_for_which_the_moment_has_passed(patient: Bench, targets: Targets) -> None:
    run_id = await _due_in(patient, hours=12)
    late = timestamp(patient.clock() - timedelta(hours=12))
    error = f"not begun until the deadline: an answer was wanted by {late}"
    assert await _silent(patient, run_id) == {"ask": error}
    assert targets.portal.calls == []
    steps = (await patient.run(run_id))["steps"]
    assert steps["ask"]["error_code"] == "not_begun"
