"""Reviews of the KYC onboarding: rejected, asked again in rounds, and timed out.

A no, of the review or under the filing, ends a run as rejected, and withdraws what the client did not answer.

The client is asked again for what is still missing, three times at most; then a person decides.

A review waits seven days, then three more for senior compliance, and then the run ends as timed out.
"""

from typing import Any

import pytest
from countersign_kyc.seed_data import INCOMPLETE

from runtime.inbox import inbox
from runtime.services.operator import OperatorService
from tests.integration.packs_stage import KINDS, Case, about, documents

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
    recorded = await OperatorService(case.bench.engine.pool, case.bench.engine.clock, "acme").cancel(
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
    desk = OperatorService(case.bench.engine.pool, case.bench.engine.clock, "acme")
    facts = await inbox.apply(case.bench.engine, await desk.undo("omar", run_id, None, "the wrong client", None))
    await case.bench.settle()
    assert [item["step"] for item in facts["undone"]] == ["closing", "pending"]
    assert (await case.turns())[-2:] == ["pending_review", "open"]
    left = {item["step"]: item["why"] for item in facts["left"]}
    assert left["case.opened"] == "only by hand: delete the case, which only marks it"
    assert left["documents"] == "only by hand: cancel the request at the portal"


CERTIFICATE, REGISTER = KINDS


def gaps(asked: list[dict[str, Any]]) -> list[list[str]]:
    """Return what was missing, by code and subject, each time that the client was asked again."""
    return [[f"{gap['code']} {gap['subject']}" for gap in one["gaps"]] for one in asked if one["kind"] == "information"]


async def test_each_round_asks_for_what_is_still_missing_until_nothing_is(case: Case) -> None:
    run_id = await case.start()
    await case.answer(documents())
    await case.answer({"answers": [], **documents(REGISTER)})
    await case.answer({"answers": [], **documents(CERTIFICATE)})
    both = [f"documents.missing {kind}" for kind in KINDS]
    assert gaps(await case.asked()) == [both, both[:1]]
    assert (await case.statuses(run_id))["review"] == "parked"
    await case.say("ben")
    await case.sign("ann", "ben")
    outcome, output = await case.end(run_id)
    assert (outcome, output["rounds"]) == ("filed", 2)


async def test_each_round_looks_everything_up_again(case: Case) -> None:
    await case.start(trigger=about(INCOMPLETE))
    await case.answer(documents(*KINDS))
    await case.tell("gleif/renewals", {"lei": INCOMPLETE})
    await case.answer({"answers": [{"code": "entity.lei_not_current", "answer": "renewed today"}]})
    nominees = "ownership.holder_without_lei Coral Nominees Ltd"
    assert gaps(await case.asked()) == [[f"entity.lei_not_current {INCOMPLETE}", nominees], [nominees]]


async def test_after_three_rounds_nobody_asks_again_and_a_person_decides(case: Case) -> None:
    run_id = await case.to_decision()
    assert [one["kind"] for one in await case.asked()] == ["documents", *["information"] * 3]
    assert (await case.statuses(run_id))["decision.going_on"] == "parked"
    (task,) = case.bench.chat.said("post_task")
    assert task["title"] == "Continue without missing information"
    assert await case.turns() == ["open", "escalated"]


async def test_whoever_goes_on_has_what_is_missing_reviewed_and_filed_with_the_report(case: Case) -> None:
    run_id = await case.to_decision()
    await case.say("ben", reason="the documents are with the branch")
    report = await case.result(run_id, "report")
    missing = [f"The client has not given the document {kind}" for kind in KINDS]
    assert [gap["msg"] for gap in report["report"]["gaps"]] == missing
    assert all(f"Missing: {msg}." in report["summary"] for msg in missing)
    await case.say("ann")
    await case.sign("ann", "ben")
    outcome, output = await case.end(run_id)
    assert (outcome, [gap["msg"] for gap in output["gaps"]]) == ("filed", missing)
    assert await case.turns() == ["open", "escalated", "pending_review", "closed"]


async def test_whoever_does_not_go_on_ends_the_case_as_incomplete(case: Case) -> None:
    run_id = await case.to_decision()
    await case.say("ben", "reject", "we have no ground to stand on")
    outcome, output = await case.end(run_id)
    assert (outcome, output["reason"]) == ("incomplete", "we have no ground to stand on")
    statuses = await case.statuses(run_id)
    assert {statuses[step] for step in ("report", "pending", "review", "filing")} == {"skipped"}
    assert await case.turns() == ["open", "escalated", "closed"]


async def test_a_decision_that_nobody_takes_ends_the_case_as_timed_out(case: Case) -> None:
    run_id = await case.to_decision()
    await case.bench.later(days=7)
    assert (await case.statuses(run_id))["decision.going_on"] == "parked", "senior compliance has three days"
    await case.bench.later(days=3, seconds=1)
    assert (await case.end(run_id))[0] == "timed_out"


async def test_a_client_who_does_not_answer_is_asked_again(case: Case) -> None:
    run_id = await case.start()
    for _ in range(4):
        await case.bench.later(days=14, seconds=1)
    assert gaps(await case.asked()) == [[f"documents.missing {kind}" for kind in KINDS]] * 3
    statuses = await case.statuses(run_id)
    assert (statuses["documents"], statuses["rounds[2].ask"]) == ("failed_handled", "failed_handled")
    assert statuses["decision.going_on"] == "parked"


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
