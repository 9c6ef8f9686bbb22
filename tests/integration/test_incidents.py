"""Incident triage: writes, incidents that change meanwhile, and their cards in Slack.

The incident triage on real PostgreSQL and OPA: reversible writes go by themselves, urgent ones ask first.

Incidents that change while they are triaged: the run that is at it hears of it, and nobody signs what is over.

Cards of an incident that was closed meanwhile, in a real workspace: they are edited, and nobody can sign them.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer
from countersign_incident_triage.standins import OUTAGE_INCIDENT, VPN_INCIDENT, build

from bot.views.references import APPROVE
from countersign.embedded.opa import OpaChild
from evidence.verify.verify import verify
from policy.client import OpaEngine
from receipts.signing import public_path
from tests.bench import Bench, open_bench
from tests.browser import failure_of, verify_page
from tests.integration.chat_stage import Chat, chatting
from tests.integration.evidence_stage import open_office
from tests.integration.packs_stage import PACK, Desk, ServiceNow
from tests.integration.test_replay import replayed
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


CLOSED, ON_HOLD = "7", "3"
REFUSED = {"next": "403", "on": "read", "skip": 0}


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


CHANNEL = "C0APPROVALS"
WITHDRAWN = "Canceled"


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[tuple[Chat, Desk]]:
    async with TestServer(build()) as server:
        servicenow = ServiceNow(str(server.make_url("")).rstrip("/"))
        async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, servicenow, PACK) as running:
            yield running, Desk(running.bench, servicenow.url)


def _buttons(card: dict[str, Any]) -> list[str]:
    return [one["action_id"] for block in card["blocks"] if block["type"] == "actions" for one in block["elements"]]


async def test_the_open_cards_of_an_incident_that_was_closed_meanwhile_are_edited_to_say_so(
    chat: tuple[Chat, Desk],
) -> None:
    running, desk = chat
    await desk.triaged(OUTAGE_INCIDENT, "1")
    before = await running.cards(CHANNEL)
    assert [APPROVE in _buttons(card) for card in before] == [True, True], "the assignment and the labels"
    await desk.change(OUTAGE_INCIDENT, state="7")
    await desk.triaged(OUTAGE_INCIDENT, "2")
    await running.bench.later(seconds=3)
    after = await running.cards(CHANNEL)
    assert [card["ts"] for card in after] == [card["ts"] for card in before]
    for card in after:
        assert APPROVE not in _buttons(card)
        assert WITHDRAWN in str(card["blocks"])


async def test_a_click_on_a_card_that_was_withdrawn_changes_nothing(chat: tuple[Chat, Desk]) -> None:
    running, desk = chat
    run_id = await desk.triaged(OUTAGE_INCIDENT, "1")
    approval_id = await desk.asked(run_id, "assign")
    await desk.change(OUTAGE_INCIDENT, state="7")
    await desk.triaged(OUTAGE_INCIDENT, "2")
    assert not (await running.bench.click("ivy", approval_id)).counted
    assert (await desk.incident(OUTAGE_INCIDENT))["labels"] == []
