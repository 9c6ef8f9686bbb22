"""The KYC onboarding: from trigger to filing, its subsidiaries, look-ups and earlier votes.

The KYC onboarding, from trigger to filing, on real PostgreSQL and OPA; its connectors' other sides are stand-ins.

Each subsidiary above the threshold is looked at by a run of its own, side by side; the report has their findings.

A look-up of GLEIF that fails is tried again, and then held: a person supplies what it did not give.

A card says of a vote that its person reviewed or signed before in the same run, and that it came at once.
"""

import json
from datetime import timedelta
from typing import Any

from countersign_kyc.lei import with_check_digits
from countersign_kyc.seed_data import AGENCY, BROKER, CLIENT, CREWING, TERMINAL

from bot.views.card import card
from bot.views.wording import QUICK
from evidence.reading import exceptions
from receipts.chain import verify_chain
from runtime.handlers import Answer, Call, Handler, JsonObject, TransientError
from runtime.inbox import inbox
from runtime.model.person import Person
from runtime.model.run import RepairAction
from runtime.services.home import HomeQueries
from runtime.services.operator import OperatorService, StepRepair
from tests.bench import TENANT, with_handlers
from tests.integration.packs_stage import CASE_ID, KINDS, TRIGGER, Case, about, documents, statuses


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


GLEIF = "gleif::discover_hierarchy"


async def children(case: Case) -> dict[str, dict[str, Any]]:
    """Return the runs that looked at subsidiaries, by LEI."""
    rows = await case.bench.rows("SELECT * FROM runs WHERE definition_name = 'kyc-subsidiary'")
    return {row["trigger"]["lei"]: row for row in rows}


async def test_each_subsidiary_above_the_threshold_has_a_run_of_its_own(case: Case) -> None:
    run_id = await case.start()
    found = await children(case)
    assert BROKER not in found, "an eighth of it is held, and that is below"
    assert {lei: (row["status"], row["reference"], row["parent"]["run_id"]) for lei, row in found.items()} == {
        lei: ("succeeded", f"subsidiary:{lei}", run_id) for lei in (TERMINAL, AGENCY, CREWING)
    }


async def test_the_runs_go_on_side_by_side(case: Case) -> None:
    gleif = case.bench.engine.handlers[GLEIF]

    async def look(call: Call) -> JsonObject | Answer:
        if call.params["max_depth"] == 0 and case.bench.clock() < back_at:
            raise TransientError("busy", retry_after=30)
        return await gleif.run(call)

    back_at = case.bench.clock() + timedelta(minutes=1)
    beside = Case(with_handlers(case.bench, {GLEIF: Handler(look, writes=False)}), case.url)
    run_id = await beside.start()
    assert [row["status"] for row in (await children(beside)).values()] == ["failed_retryable"] * 3, (
        "none waits for one"
    )
    await beside.bench.later(minutes=1)
    assert (await beside.statuses(run_id))["subsidiaries"] == "succeeded"


async def test_the_report_has_what_was_found_and_what_was_not(case: Case) -> None:
    run_id = await case.to_review()
    report = await case.result(run_id, "report")
    looked_up = {one["lei"]: one for one in report["report"]["subsidiaries"]["looked_up"]}
    percents = {TERMINAL: "100", AGENCY: "74.9", CREWING: "50.1"}
    assert {lei: one["voting_percent"] for lei, one in looked_up.items()} == percents
    terminal = looked_up[TERMINAL]
    assert terminal["entity"]["legal_name"] == terminal["name"] == "Halvorsen Terminal Kiel GmbH"
    assert terminal["notes"] == ["the register does not know it"]
    assert "3 subsidiaries checked; all incomplete." in report["summary"]


async def test_a_subsidiary_that_gleif_does_not_know_ends_nothing(case: Case) -> None:
    unknown = {"lei": with_check_digits("984500000000009999"), "name": "Nowhere", "voting_percent": ""}
    run_id = (await case.bench.start("kyc.subsidiary", unknown)).run_id
    await case.bench.settle()
    run = await case.bench.run(run_id)
    assert (run["status"], run["output"]["entity"], run["output"]["officers"]) == ("succeeded", None, [])
    assert run["output"]["notes"] == [
        "GLEIF answered 404: No such resource.",
        "the register does not know it",
    ]


async def test_where_bloomberg_knows_nothing_the_report_says_so_and_nobody_is_looked_at(case: Case) -> None:
    run_id = await case.start(trigger=about(AGENCY))
    await case.answer(documents(*KINDS))
    for _ in range(3):
        await case.answer({"answers": []})
    await case.say("ben")
    steps = await case.statuses(run_id)
    assert (steps["holdings"], steps["subsidiaries"]) == ("failed_handled", "skipped")
    assert await children(case) == {}
    said = f"Subsidiaries are not known: Bloomberg has no data on {AGENCY}: return code 10."
    assert (await case.result(run_id, "report"))["summary"].endswith(said)


ENTITY = {
    "lei": CLIENT,
    "legal_name": "Halvorsen Seefracht GmbH",
    "jurisdiction": "DE",
    "status": "ACTIVE",
    "registration_status": "ISSUED",
}
SUPPLIED = {
    "root": ENTITY,
    "direct_parent": {"entity": None, "exception": "NATURAL_PERSONS"},
    "ultimate_parent": {"entity": None, "exception": "NATURAL_PERSONS"},
    "entities": [{**ENTITY, "parent_lei": "", "depth": 0}],
    "truncated": False,
    "golden_copy": "2026-03-02T00:00:00Z",
}


async def to_attention(case: Case) -> str:
    """Start a run whose look-up fails each time."""
    for _ in range(5):
        await case.tell("faults", {"next": "500", "on": "read"})
    run_id = (await case.bench.start("kyc.onboarding", TRIGGER)).run_id
    await case.bench.settle()
    for _ in range(4):
        await case.bench.later(minutes=1)
    return run_id


async def mend(case: Case, run_id: str, act: RepairAction, result: object = None) -> str:
    desk = OperatorService(case.bench.engine.pool, case.bench.engine.clock, "acme")
    recorded = await desk.repair_step("omar", StepRepair(run_id, "hierarchy", act, "read by hand", result))
    outcome = await inbox.apply(case.bench.engine, recorded)
    await case.bench.settle()
    return str(outcome["status"])


async def test_a_look_up_is_tried_five_times_and_then_held(case: Case) -> None:
    run_id = await to_attention(case)
    run = await case.bench.run(run_id)
    assert (run["status"], run["steps"]["hierarchy"]["status"]) == ("needs_attention", "needs_attention")
    reads = await case.bench.rows("SELECT outcome FROM reads WHERE run_id = %s AND step = 'hierarchy'", run_id)
    assert [row["outcome"] for row in reads] == ["failure"] * 5
    assert await case.asked() == [], "nobody is asked for anything meanwhile"


async def test_what_a_person_supplies_is_worked_with(case: Case) -> None:
    run_id = await to_attention(case)
    assert await mend(case, run_id, RepairAction.SUPPLY, SUPPLIED) == "applied"
    await case.bench.later(minutes=5)  # GLEIF was left alone meanwhile
    await case.answer(documents(*KINDS))
    assert (await case.result(run_id, "report"))["report"]["subject"] == ENTITY
    await case.say("ben")
    await case.sign("ann", "cat")
    assert (await case.end(run_id))[0] == "filed"
    (leaf,) = [leaf for leaf in await case.bench.chain(run_id) if leaf.event == "repair.decided"]
    assert (leaf.actor.id, leaf.data["act"]) == ("omar", "supply")


async def test_what_is_no_answer_of_gleif_is_not_taken_from_a_person_either(case: Case) -> None:
    run_id = await to_attention(case)
    assert await mend(case, run_id, RepairAction.SUPPLY, {**SUPPLIED, "entities": "none"}) != "applied"
    assert (await case.bench.run(run_id))["status"] == "needs_attention"


async def test_a_person_may_have_it_looked_up_again(case: Case) -> None:
    run_id = await to_attention(case)
    assert await mend(case, run_id, RepairAction.RETRY) == "applied"
    await case.bench.later(minutes=5)  # GLEIF is left alone for that long
    assert (await case.statuses(run_id))["documents"] == "parked"


async def _shown(case: Case, approval: str) -> str:
    view = await case.bench.desk.approval(approval)
    assert view is not None
    return json.dumps(card(view, now=case.bench.clock()).blocks, ensure_ascii=False)


async def test_a_card_says_that_the_signer_reviewed_the_run_and_signed_soon_after_opening(case: Case) -> None:
    _, approval = await case.to_filing()
    case.bench.clock.move(seconds=2)
    await case.bench.desk.looked(approval, Person("ben", "Ben", ()))
    case.bench.clock.move(seconds=4)
    assert (await case.bench.click("ben", approval)).counted
    said = "Ben approved (4 s after opening it, reviewed this run 6 s before)"
    assert said in await _shown(case, approval)
    (entry,) = await HomeQueries(case.bench.engine, TENANT).requests([approval])
    view = await case.bench.desk.approval(approval)
    assert view is not None
    assert entry.view.votes == view.votes
    assert (await case.bench.click("cat", approval)).counted
    shown = await _shown(case, approval)
    assert "⚠ 4 s after opening it, reviewed this run 6 s before" in shown
    assert shown.count("⚠") == 1, "Cat opened nothing, and reviewed nothing"


async def test_a_card_says_nothing_of_a_vote_that_was_thought_over_by_another_person(case: Case) -> None:
    _, approval = await case.to_filing()
    await case.bench.desk.looked(approval, Person("ann", "Ann", ()))
    case.bench.clock.move(seconds=11)
    assert (await case.bench.click("ann", approval)).counted
    shown = await _shown(case, approval)
    assert "Ann approved" in shown
    assert "after opening" not in shown
    assert "reviewed this run" not in shown


def test_cards_and_reports_call_the_same_votes_quick() -> None:
    assert QUICK == exceptions.QUICK
