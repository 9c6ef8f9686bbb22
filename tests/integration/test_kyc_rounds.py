"""The client is asked again for what is still missing, three times at most; then a person decides."""

from typing import Any

from countersign_kyc.seed_data import INCOMPLETE

from tests.integration.kyc_stage import KINDS, Case, about, documents

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
