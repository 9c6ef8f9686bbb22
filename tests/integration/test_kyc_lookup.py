"""A look-up of GLEIF that fails is tried again, and then held: a person supplies what it did not give."""

from countersign_kyc.seed_data import CLIENT

from runtime.inbox import inbox
from runtime.model.run import RepairAction
from runtime.services.operator import OperatorDesk, StepRepair
from tests.integration.kyc_stage import KINDS, TRIGGER, Case, documents

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
    desk = OperatorDesk(case.bench.engine.pool, case.bench.engine.clock, "acme")
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
