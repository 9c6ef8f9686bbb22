"""Incidents that change while they are triaged: the run that is at it hears of it, and nobody signs what is over."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_incident_triage.standins import OUTAGE_INCIDENT, VPN_INCIDENT, build

from countersign.embedded.opa import OpaChild
from evidence.verify.verify import verify
from policy.client import OpaEngine
from receipts.signing import public_path
from tests.bench import Bench, open_bench
from tests.browser import failure_of, verify_page
from tests.integration.incident_stage import PACK, Desk, ServiceNow
from tests.integration.sealing_stage import open_office
from tests.integration.test_replay import replayed
from tests.patience import MINUTE

CLOSED, ON_HOLD = "7", "3"
REFUSED = {"next": "403", "on": "read", "skip": 0}


@pytest.fixture
async def desk(dsn: str, opa: OpaChild) -> AsyncIterator[Desk]:
    async with TestServer(build()) as server:
        url = str(server.make_url("")).rstrip("/")
        async with (
            OpaEngine(opa.url, timeout=MINUTE) as policy,
            open_bench(dsn, policy, [PACK], ServiceNow(url).handlers()) as bench,
        ):
            yield Desk(bench, url)


async def _outcome(bench: Bench, run_id: str) -> tuple[str, str, Any]:
    (row,) = await bench.rows("SELECT status, outcome, output FROM runs WHERE run_id = %s", run_id)
    return row["status"], row["outcome"], row["output"]


async def _updated(desk: Desk, sys_id: str, ref: str, **values: str) -> str:
    """Have the incident changed, and its webhook come in; return the run that heard of it."""
    await desk.change(sys_id, **values)
    run_id = await desk.triaged(sys_id, ref)
    await desk.bench.later(seconds=3)
    return run_id


async def _approvals(bench: Bench, run_id: str) -> set[str]:
    return {row["status"] for row in await bench.rows("SELECT status FROM approvals WHERE run_id = %s", run_id)}


async def test_two_webhooks_about_one_incident_are_one_run_with_a_signal(desk: Desk) -> None:
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    claim = await desk.hear(OUTAGE_INCIDENT, "2")
    assert claim.signal is not None
    assert (claim.run_id, claim.signal.name, claim.signal.status) == (run_id, "incident_updated", "applied")
    await desk.bench.settle()
    assert await _approvals(desk.bench, run_id) == {"requested"}, "nothing has changed, and the cards stand"
    assert [row["run_id"] for row in await desk.bench.rows("SELECT run_id FROM runs")] == [run_id]


async def test_the_webhooks_of_two_incidents_are_two_runs(desk: Desk) -> None:
    assert await desk.triaged(OUTAGE_INCIDENT, "1") != await desk.triaged(VPN_INCIDENT, "2")


async def test_an_incident_that_was_closed_meanwhile_ends_its_run_and_nobody_is_asked_any_more(desk: Desk) -> None:
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    assert await _approvals(desk.bench, run_id) == {"requested"}
    assert await _updated(desk, OUTAGE_INCIDENT, "2", state=CLOSED) == run_id
    assert await _outcome(desk.bench, run_id) == ("succeeded", "closed_meanwhile", {"state": "Closed"})
    assert await _approvals(desk.bench, run_id) == {"canceled"}
    assert (await desk.incident(OUTAGE_INCIDENT))["labels"] == []


async def test_what_was_closed_before_its_triage_began_is_left_alone(desk: Desk) -> None:
    await desk.change(VPN_INCIDENT, state=CLOSED)
    before = await desk.incident(VPN_INCIDENT)
    run_id = await desk.triaged(VPN_INCIDENT, "1")
    assert await _outcome(desk.bench, run_id) == ("succeeded", "closed_before", None)
    assert await desk.incident(VPN_INCIDENT) == before


async def test_an_incident_whose_text_has_changed_is_triaged_anew_and_the_old_cards_are_withdrawn(desk: Desk) -> None:
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    changed = {"short_description": "VPN tunnel to the bookings is down", "description": "No tunnel."}
    assert await _updated(desk, OUTAGE_INCIDENT, "2", **changed) == run_id
    await desk.bench.later(seconds=3)
    assert await _outcome(desk.bench, run_id) == ("succeeded", "changed_meanwhile", None)
    assert await _approvals(desk.bench, run_id) == {"canceled"}
    (anew,) = await desk.bench.rows("SELECT run_id, status FROM runs WHERE run_id <> %s", run_id)
    assert anew["status"] == "waiting_approval"
    for operation in ("assign", "add_labels"):
        assert (await desk.bench.click("ivy", await desk.asked(anew["run_id"], operation))).counted
    await desk.bench.settle()
    status, outcome, output = await _outcome(desk.bench, anew["run_id"])
    assert (status, outcome, output["category"]) == ("succeeded", "triaged", "network")


async def test_a_change_of_what_is_not_classified_leaves_the_cards(desk: Desk) -> None:
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    assert await _updated(desk, OUTAGE_INCIDENT, "2", state=ON_HOLD, category="software") == run_id
    assert await _approvals(desk.bench, run_id) == {"requested"}


async def test_the_end_of_the_triage_ends_what_listens_for_updates(desk: Desk) -> None:
    run_id = await desk.triaged(VPN_INCIDENT, "1")
    status, outcome, output = await _outcome(desk.bench, run_id)
    assert (status, outcome) == ("succeeded", "triaged")
    assert output == {"category": "network", "assignment_group": "Network", "labels": ["network", "vpn"]}
    steps = (await desk.bench.run(run_id))["steps"]
    assert steps["updates"]["status"] == steps["updates[0].word"]["status"] == "canceled"
    assert not await desk.bench.rows("SELECT 1 FROM waits WHERE status = 'active'")


async def test_an_update_after_the_triage_is_a_triage_of_its_own(desk: Desk) -> None:
    run_id = await desk.triaged(VPN_INCIDENT, "1")
    assert await _updated(desk, VPN_INCIDENT, "2", urgency="1") != run_id


@pytest.mark.parametrize(
    ("rejected", "outcome"),
    [
        (("assign",), "not_assigned"),
        (("add_labels",), "not_labeled"),
        (("assign", "add_labels"), "rejected"),
    ],
)
async def test_what_is_not_rejected_is_still_done_and_the_outcome_says_which(
    desk: Desk, rejected: tuple[str, ...], outcome: str
) -> None:
    before = await desk.incident(OUTAGE_INCIDENT)
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    for operation in ("assign", "add_labels"):
        verdict = {"verdict": "reject", "reason": "not so"} if operation in rejected else {}
        assert (await desk.bench.click("ivy", await desk.asked(run_id, operation), **verdict)).counted
    await desk.bench.settle()
    status, word, _ = await _outcome(desk.bench, run_id)
    assert (status, word) == ("succeeded", outcome)
    after = await desk.incident(OUTAGE_INCIDENT)
    assert (after["labels"] == []) == ("add_labels" in rejected)
    assert (after["category"] == before["category"]) == ("assign" in rejected)


async def test_an_incident_that_cannot_be_read_anew_is_held_and_the_triage_goes_on(desk: Desk) -> None:
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    async with ClientSession() as session, session.post(f"{desk.url}/__standin/faults", json=REFUSED) as response:
        assert response.ok
    await desk.triaged(OUTAGE_INCIDENT, "2")
    steps = (await desk.bench.run(run_id))["steps"]
    assert steps["updates[0].now"]["status"] == "needs_attention", steps["updates[0].now"]
    assert steps["assignment"]["status"] == "waiting_approval"
    for operation in ("assign", "add_labels"):
        assert (await desk.bench.click("ivy", await desk.asked(run_id, operation))).counted
    await desk.bench.settle()
    assert (await _outcome(desk.bench, run_id))[:2] == ("succeeded", "triaged")


async def test_people_find_the_run_by_the_number_of_the_incident(desk: Desk) -> None:
    await desk.triaged(OUTAGE_INCIDENT, "1")
    (row,) = await desk.bench.rows("SELECT reference, about FROM runs")
    assert row == {"reference": "incident:INC0010042", "about": f"incident:{OUTAGE_INCIDENT}"}


async def test_the_bundles_of_what_changed_and_what_closed_hold_for_both_verifiers(
    desk: Desk, dsn: str, tmp_path: Path
) -> None:
    office = open_office(desk.bench, tmp_path, dsn)
    first = await desk.triaged(OUTAGE_INCIDENT, "1")
    await _updated(desk, OUTAGE_INCIDENT, "2", short_description="VPN tunnel down")
    await desk.bench.later(seconds=3)
    second = await desk.triaged(OUTAGE_INCIDENT, "3")
    await _updated(desk, OUTAGE_INCIDENT, "4", state=CLOSED)
    words = [(await _outcome(desk.bench, run_id))[1] for run_id in (first, second)]
    assert words == ["changed_meanwhile", "closed_meanwhile"]
    while await office.sealer():
        pass
    public = public_path(office.settings.key_path)
    async with verify_page() as page:
        for run_id in (first, second):
            bundle = office.folder / f"{run_id}.zip"
            assert verify(bundle, public).run_id == run_id
            assert await failure_of(page, bundle.read_bytes(), public.read_text()) is None
            assert (await replayed(desk.bench, run_id)).difference is None
