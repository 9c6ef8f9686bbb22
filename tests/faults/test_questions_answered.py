"""A person is not asked what our own rows know: the answer of the other side settles what was asked about its start."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evidence.verify.verify import verify
from runtime.gate import gate
from runtime.handlers import OutcomeUnknownError
from runtime.outbox.attempts import make_attempt
from tests.bench import Bench, Target, with_handlers
from tests.faults.test_doubt import KEY, _outcomes
from tests.integration.conftest import Targets
from tests.integration.forger import Forged
from tests.integration.played import stories_of
from tests.unit.evidence_sample import Office

YES = {"outcome": "succeeded", "result": {"answer": "yes", "request_id": "REQ-1"}}
NO = {"outcome": "failed", "result": None}


async def _asked(bench: Bench, targets: Targets) -> tuple[str, str]:
    """Have a start whose outcome nobody knows; return its run, and the question to people."""
    targets.portal.answers = [OutcomeUnknownError("503") for _ in range(9)]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    for _ in range(20):
        await bench.later(minutes=1)
    return run_id, await bench.approval_id("in_doubt")


async def _answered(bench: Bench, said: dict[str, Any]) -> None:
    error = "no such case" if said["outcome"] == "failed" else ""
    told = await bench.complete(KEY, said["result"], outcome=said["outcome"], error=error)
    assert told["status"] == "applied"
    await bench.later(minutes=1)


@pytest.mark.parametrize(("said", "ends"), [(YES, "succeeded"), (NO, "failed_terminal")])
async def test_what_people_were_asked_about_a_start_is_settled_by_its_answer(
    bench: Bench, targets: Targets, tmp_path: Path, said: dict[str, Any], ends: str
) -> None:
    run_id, question = await _asked(bench, targets)
    await _answered(bench, said)
    assert (await bench.run(run_id))["status"] == ends
    ended = await bench.rows("SELECT status, result ->> 'code' AS said FROM approvals WHERE approval_id = %s", question)
    assert ended == [{"status": "canceled", "said": "answered"}]
    receipts = "SELECT outcome FROM receipts WHERE run_id = %s AND document ->> 'step' = 'ask' ORDER BY seq"
    assert {row["outcome"] for row in (await bench.rows(receipts, run_id))[:-1]} == {"in_doubt"}
    assert (await bench.rows(receipts, run_id))[-1]["outcome"] == "success"
    await _verified(bench, run_id, tmp_path)


async def _verified(bench: Bench, run_id: str, folder: Path) -> None:
    office = Office.in_folder(folder)
    story = (await stories_of(office.key, bench, {"run": run_id}))["run"]
    verify(office.write(Forged.of(story).seal(office.key)), office.public)


async def test_what_people_were_asked_about_a_review_is_settled_by_its_end(bench: Bench, tmp_path: Path) -> None:
    lost = Target(answers=[OutcomeUnknownError("reset") for _ in range(9)])
    other = with_handlers(bench, {"slack::post_task": lost.handler()})
    task = await other.review()
    for _ in range(20):
        await other.later(minutes=1)
    question = await other.approval_id("in_doubt")
    assert (await other.click("ann", task, "reject", "not like this")).counted
    await other.later(minutes=1)
    ended = await other.rows("SELECT run_id, status FROM approvals WHERE approval_id = %s", question)
    assert ended[0]["status"] == "canceled"
    assert (await _outcomes(other, ended[0]["run_id"]))[-1] == "success"
    await _verified(other, ended[0]["run_id"], tmp_path)


async def test_nobody_is_asked_when_the_answer_comes_just_before(bench: Bench, targets: Targets) -> None:
    targets.portal.answers = [OutcomeUnknownError("503") for _ in range(9)]
    run_id = (await bench.start("bench.wait", {"case": "C1"})).run_id
    await bench.settle()
    bench.clock.move(hours=1)
    (leased,) = await bench.lease("bench", bench.engine.timing.lease)
    leased = replace(leased, tries=9)  # it has none left
    attempt = make_attempt(leased, await bench.engine.facts_of(leased))
    assert (await bench.complete(KEY, YES["result"]))["status"] == "applied"
    await gate._Gate(bench.engine, attempt, lambda _: False).go()
    await bench.later(minutes=1)
    assert await bench.rows("SELECT 1 FROM approvals") == []
    assert await _outcomes(bench, run_id) == ["in_doubt", "success", "success"]  # the second is the next step's


async def test_whoever_says_too_late_that_it_did_not_happen_is_not_believed(bench: Bench, targets: Targets) -> None:
    run_id, question = await _asked(bench, targets)
    await _answered(bench, YES)
    late = await bench.click("omar", question, "reject", "it is not there")
    assert (late.counted, late.refusal and late.refusal.code) == (False, "vote.closed")
    failed = "SELECT 1 FROM receipts WHERE run_id = %s AND outcome = 'failure'"
    assert await bench.rows(failed, run_id) == []
