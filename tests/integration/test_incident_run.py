"""The incident triage on real PostgreSQL and OPA: reversible writes go by themselves, urgent ones ask first."""

from collections.abc import AsyncIterator

import pytest
from aiohttp.test_utils import TestServer
from countersign_incident_triage.standins import OUTAGE_INCIDENT, VPN_INCIDENT, build

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.bench import open_bench
from tests.integration.incident_stage import PACK, Desk, ServiceNow
from tests.patience import MINUTE


@pytest.fixture
async def desk(dsn: str, opa: OpaChild) -> AsyncIterator[Desk]:
    async with TestServer(build()) as server:
        url = str(server.make_url("")).rstrip("/")
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], ServiceNow(url).handlers()) as bench,
        ):
            yield Desk(bench, url)


async def test_a_routine_incident_is_triaged_without_asking_anybody(desk: Desk) -> None:
    run_id = await desk.start(VPN_INCIDENT, "1")
    await desk.bench.settle()
    run = await desk.bench.run(run_id)
    assert run["status"] == "succeeded", run
    assert desk.bench.chat.said("post_card") == []
    actions = await desk.actions()
    assert actions.count("update incident") == 2, "the work note and the assignment"
    receipts = await desk.bench.rows(
        "SELECT document FROM receipts WHERE run_id = %s AND document->>'connector' = 'servicenow' ORDER BY seq", run_id
    )
    assert {row["document"]["operation"] for row in receipts} == {"add_work_note", "assign", "add_labels"}
    assert all(row["document"]["reversible_by"] for row in receipts), "each says how it is undone"


async def test_an_incident_of_priority_one_is_changed_only_when_an_incident_manager_says_so(desk: Desk) -> None:
    run_id = await desk.start(OUTAGE_INCIDENT, "1")
    await desk.bench.settle()
    assert (await desk.bench.run(run_id))["status"] == "waiting_approval"
    assert (await desk.actions()).count("update incident") == 1, "the work note is low tier and goes by itself"
    for approval in await desk.bench.rows("SELECT approval_id, before FROM approvals WHERE status = 'requested'"):
        refused = await desk.bench.click("ann", approval["approval_id"])
        assert refused.refusal is not None
        assert (await desk.bench.click("ivy", approval["approval_id"])).counted
    await desk.bench.settle()
    run = await desk.bench.run(run_id)
    assert run["status"] == "succeeded", run
    assert (await desk.actions()).count("update incident") == 2


async def test_the_card_shows_the_present_values_beside_the_new_ones(desk: Desk) -> None:
    await desk.start(OUTAGE_INCIDENT, "1")
    await desk.bench.settle()
    rows = await desk.bench.rows("SELECT a.approval_id, e.operation FROM approvals a JOIN effects e USING (effect_id)")
    approval = next(row["approval_id"] for row in rows if row["operation"] == "assign")
    view = await desk.bench.desk.approval(approval)
    assert view is not None
    group = next(field for field in view.fields if field.name == "assignment_group")
    assert group.before is not None
    assert group.before != group.after


async def test_an_incident_that_does_not_exist_fails_the_run_and_says_so(desk: Desk) -> None:
    run_id = await desk.start("0" * 32, "1")
    await desk.bench.settle()
    run = await desk.bench.run(run_id)
    assert run["status"] == "failed_terminal"
    assert run["error"].startswith("incident: ")
    assert await desk.actions() == []


async def test_a_triage_is_undone_labels_and_assignment_are_as_before_and_the_note_is_corrected(desk: Desk) -> None:
    before = await desk.incident(VPN_INCIDENT)
    run_id = await desk.start(VPN_INCIDENT, "1")
    await desk.bench.settle()
    assert await desk.incident(VPN_INCIDENT) != before
    undone = await desk.undo(run_id)
    assert undone["status"] == "succeeded", undone
    after = await desk.incident(VPN_INCIDENT)
    note, correction = after.pop("notes")
    assert after == {name: before[name] for name in after}
    marker = note.rpartition("[")[2].rstrip("]")
    assert f"the note marked [{marker}] does not hold any more" in correction
    assert run_id in correction


async def test_what_an_incident_manager_signed_is_undone_only_if_one_signs(desk: Desk) -> None:
    run_id = await desk.start(OUTAGE_INCIDENT, "1")
    await desk.bench.settle()
    for approval in await desk.bench.rows("SELECT approval_id FROM approvals WHERE status = 'requested'"):
        await desk.bench.click("ivy", approval["approval_id"])
    await desk.bench.settle()
    assigned = await desk.incident(OUTAGE_INCIDENT)
    undone = await desk.undo(run_id)
    assert undone["status"] == "waiting_approval", undone
    now = await desk.incident(OUTAGE_INCIDENT)
    assert (now["category"], now["labels"]) == (assigned["category"], assigned["labels"])


async def test_an_assignment_that_somebody_has_changed_since_is_not_restored(desk: Desk) -> None:
    run_id = await desk.start(VPN_INCIDENT, "1")
    await desk.bench.settle()
    await desk.change(VPN_INCIDENT, category="hardware")
    undone = await desk.undo(run_id)
    (refused,) = await desk.bench.rows(
        "SELECT document FROM receipts WHERE run_id = %s AND document ->> 'operation' = 'restore_assignment'",
        undone["run_id"],
    )
    assert refused["document"]["error"] == "somebody has changed the assignment since: it is hardware, Network"
    assert (await desk.incident(VPN_INCIDENT))["category"] == "hardware"
