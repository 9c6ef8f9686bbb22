"""Faults of ours while a notification is applied: nothing that people or other systems said is thrown away."""

import logging
from datetime import timedelta

import pytest

from tests.bench import Bench
from tests.integration.conftest import Targets

KEY = "acme:await_answer:C1"
YES = {"answer": "yes"}


async def _break(bench: Bench) -> str:
    """Ask for an approval whose requirement cannot be read; return the approval."""
    await bench.start("bench.file", {"company": "ACME", "text": "report"})
    await bench.settle()
    await bench.meddle("UPDATE approvals SET requirement = json_build_object('kept', requirement) RETURNING 1")
    return await bench.approval_id()


async def _repair(bench: Bench) -> None:
    await bench.meddle("UPDATE approvals SET requirement = requirement -> 'kept' RETURNING 1")


async def test_a_vote_that_a_fault_of_ours_keeps_from_counting_is_tried_again_until_it_counts(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    approval = await _break(bench)
    outcome = await bench.click("ann", approval)
    assert (outcome.counted, outcome.refusal and outcome.refusal.code) == (False, "inbox.failing")
    for _ in range(3):
        await bench.later(minutes=1)
    (row,) = await bench.rows("SELECT status, failures, error FROM notifications WHERE kind = 'vote'")
    assert (row["status"], row["failures"], row["error"]) == ("received", 4, "KeyError: 'quorum'")
    said = [record for record in caplog.records if "could not be applied" in record.message]
    assert [(record.levelno, bool(record.exc_info)) for record in said] == [(logging.ERROR, True)], "logged once"
    await _repair(bench)
    await bench.later(minutes=1)
    assert [vote["person"] for vote in await bench.rows("SELECT person FROM votes")] == ["ann"]


async def test_the_pauses_between_tries_grow_and_have_an_end(bench: Bench) -> None:
    await bench.click("ann", await _break(bench))
    pauses = []
    for _ in range(14):
        (row,) = await bench.rows("SELECT next_try_at FROM notifications WHERE kind = 'vote'")
        pauses.append(row["next_try_at"] - bench.clock())
        bench.clock.now = row["next_try_at"]
        await bench.settle()
    assert pauses == [min(timedelta(seconds=2**n), timedelta(minutes=10)) for n in range(14)]


async def test_an_answer_that_a_fault_of_ours_keeps_from_counting_is_tried_again(
    bench: Bench, targets: Targets
) -> None:
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'ask' RETURNING 1")
    facts = await bench.complete(KEY, YES)
    assert (facts["status"], facts["code"]) == ("received", "inbox.failing")
    await bench.meddle("UPDATE steps SET path = 'ask' WHERE path = 'gone' RETURNING 1")
    await bench.later(minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
    assert (await bench.complete(KEY, YES))["status"] == "applied"
    assert len(targets.note.calls) == 1


async def test_a_deadline_that_a_fault_of_ours_holds_up_is_not_tried_at_every_sweep(bench: Bench) -> None:
    run_id = (await bench.start("bench.timer", {})).run_id
    await bench.settle()
    await bench.meddle("UPDATE steps SET path = 'gone' WHERE path = 'pause' RETURNING 1")
    await bench.later(hours=1)
    for _ in range(20):
        await bench.later(seconds=0.1)
    (row,) = await bench.rows("SELECT failures FROM notifications WHERE kind = 'deadline'")
    assert row["failures"] == 2
    await bench.meddle("UPDATE steps SET path = 'pause' WHERE path = 'gone' RETURNING 1")
    await bench.later(minutes=1)
    assert (await bench.run(run_id))["status"] == "succeeded"
