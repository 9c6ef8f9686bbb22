"""A review waits seven days, then three more for senior compliance, and then the run ends as timed out."""

from tests.integration.kyc_stage import Case


async def test_after_seven_days_senior_compliance_has_three_more(case: Case) -> None:
    run_id = await case.to_review()
    task = await case.bench.approval_id("task")
    await case.bench.later(days=6, hours=23)
    refused = await case.bench.click("sue", task)
    assert refused.refusal is not None, "until then it is not theirs"
    await case.bench.later(hours=1)
    await case.bench.later(days=2, hours=23)
    assert (await case.statuses(run_id))["review"] == "parked"
    assert (await case.bench.click("sue", task, nonce="2")).counted
    await case.bench.settle()
    await case.sign("ann", "cat")
    assert (await case.end(run_id))[0] == "filed"


async def test_a_review_that_nobody_gives_ends_the_run_as_timed_out(case: Case) -> None:
    run_id = await case.to_review()
    await case.bench.later(days=7)
    await case.bench.later(days=3)
    outcome, output = await case.end(run_id)
    assert (outcome, output["report_id"]) == ("timed_out", None)
    assert output["reason"]
    assert await case.filings() == 0
    assert (await case.statuses(run_id))["review"] == "failed_handled"


async def test_the_case_is_escalated_with_its_review_and_closed_at_the_end(case: Case) -> None:
    await case.to_review()
    await case.bench.later(days=7)
    assert await case.turns() == ["open", "pending_review", "escalated"]
    await case.bench.later(days=3)
    assert await case.turns() == ["open", "pending_review", "escalated", "closed"]


async def test_a_case_that_was_decided_meanwhile_is_not_escalated(case: Case) -> None:
    run_id = await case.to_review()
    await case.say("ben", "reject", "an owner is missing")
    payload = {"run": run_id, "step": "review", "reference": (await case.bench.run(run_id))["reference"], "what": "x"}
    late = (await case.bench.start("kyc.escalated", payload)).run_id
    await case.bench.settle()
    run = await case.bench.run(late)
    assert (run["status"], run["output"]) == ("succeeded", {"escalated": False})
    assert await case.turns() == ["open", "pending_review", "closed"]
