"""The incident triage on real PostgreSQL and OPA: reversible writes go by themselves, urgent ones ask first."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_incident_triage.handlers import handlers
from countersign_incident_triage.standin_records import OUTAGE_INCIDENT, VPN_INCIDENT
from countersign_incident_triage.standins import build, settings

from countersign.embedded.opa import OpaChild
from policy.client import OpaEngine
from tests.bench import Bench, open_bench
from tests.patience import MINUTE

PACK = Path(__file__).parents[2] / "packs/incident-triage"


@dataclass
class Desk:
    """A bench with ServiceNow's stand-in beside it."""

    bench: Bench
    url: str

    async def actions(self) -> list[str]:
        async with ClientSession() as session, session.get(f"{self.url}/__standin/actions") as response:
            return [action["operation"] for action in (await response.json())["actions"]]

    async def start(self, sys_id: str, ref: str) -> str:
        trigger = {"sys_id": sys_id, "number": "INC0010042", "priority": 3}
        return (await self.bench.start("servicenow.incident", trigger, ref, by="portal-bot")).run_id


@pytest.fixture
async def desk(dsn: str, opa: OpaChild) -> AsyncIterator[Desk]:
    async with TestServer(build()) as server:
        url = str(server.make_url("")).rstrip("/")
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], handlers(settings(url))) as bench,
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
