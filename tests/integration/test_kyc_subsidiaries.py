"""Each subsidiary above the threshold is looked at by a run of its own, side by side; the report has their findings."""

from datetime import timedelta
from typing import Any

from countersign_kyc.lei import with_check_digits
from countersign_kyc.seed_data import AGENCY, BROKER, CREWING, TERMINAL

from runtime.handlers import Answer, Call, Handler, JsonObject, TransientError
from tests.bench import with_handlers
from tests.integration.kyc_stage import KINDS, Case, about, documents

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
