"""The KYC onboarding, from trigger to filing, on real PostgreSQL and OPA; its connectors' other sides are stand-ins."""

from countersign_kyc.seed_data import AGENCY, CREWING, TERMINAL

from receipts.chain import verify_chain
from tests.integration.kyc_stage import CASE_ID, KINDS, TRIGGER, Case, documents, statuses


async def test_onboarding_parks_until_the_client_uploads(case: Case) -> None:
    run_id = await case.start()
    run = await case.bench.run(run_id)
    assert run["status"] == "waiting"
    assert statuses(run)["documents"] == "parked"
    assert statuses(run)["shareholdings"] == "succeeded"


async def test_the_case_is_the_runs_reference(case: Case) -> None:
    run_id = await case.start()
    assert (await case.bench.run(run_id))["reference"] == CASE_ID


async def test_a_run_shows_how_many_requests_gleif_and_bloomberg_counted(case: Case) -> None:
    run_id = await case.start()
    costs = {one["provider"]: one for one in (await case.bench.run(run_id))["costs"]}
    assert {name: one["calls_without_cost"] for name, one in costs.items()} == {"gleif": 1, "bloomberg": 2}
    assert set(costs["gleif"]["units"]) == {"requests"}
    assert costs["bloomberg"]["units"]["data_requests"] == "1"


async def test_filing_needs_two_distinct_people_and_happens_once(case: Case) -> None:
    run_id, approval = await case.to_filing()
    assert (await case.bench.run(run_id))["status"] == "waiting_approval"
    assert (await case.bench.click("rita", approval)).refusal.code == "vote.requester"  # type: ignore[union-attr]
    assert (await case.bench.click("ann", approval)).counted
    await case.bench.settle()
    assert await case.filings() == 0
    assert (await case.bench.click("ann", approval, nonce="2")).refusal.code == "vote.repeated"  # type: ignore[union-attr]
    assert (await case.bench.click("ben", approval)).counted
    await case.bench.settle()
    run = await case.bench.run(run_id)
    assert (run["status"], run["outcome"]) == ("succeeded", "filed"), run
    assert (await case.result(run_id, "withdrawal"))["branch"] == "else", "nothing is withdrawn"
    assert await case.filings() == 1
    verify_chain(await case.bench.chain(run_id))


async def test_whoever_asked_gets_what_was_filed_and_for_whom(case: Case) -> None:
    run_id, _ = await case.to_filing()
    await case.sign("ann", "cat")
    outcome, output = await case.end(run_id)
    filed = await case.result(run_id, "filing")
    assert outcome == "filed"
    assert {name: output[name] for name in ("case_id", "reason", "gaps", "rounds")} == {
        "case_id": CASE_ID,
        "reason": "",
        "gaps": [],
        "rounds": 0,
    }
    assert (output["report_id"], output["filed_at"]) == (filed["report_id"], filed["filed_at"])
    assert [owner["name"] for owner in output["beneficial_owners"]] == ["Ingrid Halvorsen", "Tobias Lindqvist"]


async def test_the_case_is_opened_reviewed_and_closed_and_opened_again_by_the_next_run(case: Case) -> None:
    await case.to_filing()
    await case.sign("ann", "cat")
    assert await case.turns() == ["open", "pending_review", "closed"]
    await case.to_filing("2")
    await case.sign("ann", "cat")
    assert await case.turns() == ["open", "pending_review", "closed"] * 2


async def test_a_second_claim_of_a_trigger_returns_the_first_run(case: Case) -> None:
    first = await case.bench.start("kyc.onboarding", TRIGGER)
    second = await case.bench.start("kyc.onboarding", TRIGGER)
    assert second.run_id == first.run_id
    assert not second.is_new


async def test_a_review_goes_to_the_channel_of_its_groups(case: Case) -> None:
    await case.to_review()
    (task,) = case.bench.chat.said("post_task")
    assert task["channel"] == "C0COMPLIANCE"
    (effect,) = await case.bench.rows("SELECT target, fields FROM effects WHERE operation = 'post_task'")
    assert (effect["target"], effect["fields"]["channel"]) == ("C0COMPLIANCE", "C0COMPLIANCE")


async def test_a_case_of_which_nothing_is_missing_asks_the_client_once(case: Case) -> None:
    await case.start()
    await case.answer(documents(*KINDS))
    assert [one["kind"] for one in await case.asked()] == ["documents"]
    assert {TERMINAL, AGENCY, CREWING} == {child["trigger"]["lei"] for child in await _children(case)}


async def _children(case: Case) -> list[dict[str, dict[str, str]]]:
    rows: list[dict[str, dict[str, str]]] = await case.bench.rows(
        "SELECT trigger FROM runs WHERE definition_name = 'kyc-subsidiary'"
    )
    return rows
