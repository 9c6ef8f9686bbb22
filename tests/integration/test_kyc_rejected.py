"""A no, of the review or under the filing, ends a run as rejected, and withdraws what the client did not answer."""

import pytest

from runtime.inbox import inbox
from runtime.services.operator import OperatorDesk
from tests.integration.kyc_stage import KINDS, Case, documents

NO = "an owner is missing"


async def test_a_review_that_says_no_ends_the_run_as_rejected(case: Case) -> None:
    run_id = await case.to_review()
    await case.say("ben", "reject", NO)
    outcome, output = await case.end(run_id)
    assert (outcome, output["reason"], output["report_id"]) == ("rejected", NO, None)
    assert await case.turns() == ["open", "pending_review", "closed"]
    assert await case.filings() == 0


async def test_whoever_asked_is_told_that_the_review_said_no_and_what_was_not_done(case: Case) -> None:
    run_id = await case.to_review()
    await case.say("ben", "reject", NO)
    said = [message["text"] for message in case.bench.chat.said("direct_message")][-1]
    assert said.startswith("Corporate onboarding (")
    nothing = "Nothing was filed for Halvorsen Seefracht GmbH."
    assert f") has ended: rejected. {nothing} Rejected: review ({NO}). Skipped: " in said
    assert run_id not in said
    assert "filing (not so: " in said
    assert "every step" not in said


async def test_a_filing_that_is_not_signed_ends_the_run_as_rejected_with_a_refusal_receipt(case: Case) -> None:
    run_id, approval = await case.to_filing()
    assert (await case.bench.click("ann", approval, "reject", "the shares do not add up")).counted
    await case.bench.settle()
    outcome, output = await case.end(run_id)
    assert (outcome, output["reason"]) == ("rejected", "rejected by Ann: the shares do not add up")
    refusals = await case.bench.rows("SELECT document FROM receipts WHERE run_id = %s AND outcome = 'refusal'", run_id)
    assert [row["document"]["operation"] for row in refusals] == ["file_report"]
    assert await case.filings() == 0
    assert await case.turns() == ["open", "pending_review", "closed"]


async def test_a_filing_that_nobody_signs_in_time_ends_the_run_as_timed_out(case: Case) -> None:
    run_id, _ = await case.to_filing()
    await case.bench.later(hours=9)
    assert (await case.end(run_id))[0] == "timed_out"
    assert await case.filings() == 0


@pytest.mark.parametrize("refused", ["review", "filing"])
async def test_what_the_client_has_not_answered_is_withdrawn(case: Case, refused: str) -> None:
    run_id = await case.start()
    await case.bench.later(days=14, seconds=1)
    await case.answer({"answers": [], **documents(*KINDS)})
    if refused == "filing":
        await case.say("ben")
        approval = await case.bench.approval_id()
        assert (await case.bench.click("ann", approval, "reject", NO)).counted
        await case.bench.settle()
    else:
        await case.say("ben", "reject", NO)
    assert (await case.end(run_id))[0] == "rejected"
    silent, answered = await case.asked()
    assert (await case.result(run_id, "withdrawal.requests"))["request_ids"] == [silent["request_id"]]
    assert (silent["is_withdrawn"], "is_withdrawn" in answered) == (True, False)


async def test_what_was_not_answered_is_withdrawn_where_the_report_was_filed_as_well(case: Case) -> None:
    run_id = await case.start()
    await case.bench.later(days=14, seconds=1)
    await case.answer({"answers": [], **documents(*KINDS)})
    await case.say("ben")
    await case.sign("ann", "cat")
    assert (await case.end(run_id))[0] == "filed"
    assert ["is_withdrawn" in one for one in await case.asked()] == [True, False]


async def test_a_canceled_onboarding_has_the_portal_told_that_no_answer_is_wanted(case: Case) -> None:
    run_id = await case.start()
    await case.answer(documents())
    recorded = await OperatorDesk(case.bench.engine.pool, case.bench.engine.clock, "acme").cancel(
        "omar", run_id, "the client has gone elsewhere", None
    )
    assert (await inbox.apply(case.bench.engine, recorded))["status"] == "applied"
    await case.bench.settle()
    assert (await case.bench.run(run_id))["status"] == "canceled"
    answered, asked = await case.asked()
    assert (asked["is_withdrawn"], "is_withdrawn" in answered) == (True, False)


async def test_an_undo_sets_the_status_of_the_case_back_step_by_step(case: Case) -> None:
    run_id = await case.to_review()
    await case.say("ben", "reject", NO)
    desk = OperatorDesk(case.bench.engine.pool, case.bench.engine.clock, "acme")
    facts = await inbox.apply(case.bench.engine, await desk.undo("omar", run_id, None, "the wrong client", None))
    await case.bench.settle()
    assert [item["step"] for item in facts["undone"]] == ["closing", "pending"]
    assert (await case.turns())[-2:] == ["pending_review", "open"]
    left = {item["step"]: item["why"] for item in facts["left"]}
    assert left["case.opened"] == "only by hand: delete the case, which only marks it"
    assert left["documents"] == "only by hand: cancel the request at the portal"
