"""The handlers of the incident-triage pack against its stand-in, over HTTP."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp
import pytest
from aiohttp.test_utils import TestServer
from countersign_incident_triage.handlers import handlers
from countersign_incident_triage.incidents import marker
from countersign_incident_triage.standins import OUTAGE_INCIDENT, PASSWORD, USER, VPN_INCIDENT, build, settings

from runtime.definitions.schemas import violations
from runtime.handlers import (
    Answer,
    BlockedError,
    Call,
    Changed,
    Done,
    Handler,
    Json,
    JsonObject,
    Metadata,
    NotTakenError,
    OutcomeUnknownError,
    Reconciled,
    RefusedError,
    Untouched,
)
from tests.functions import result_of
from tests.integration.packs_stage import sync_verbs

NOTE = {"sys_id": VPN_INCIDENT, "number": "INC0010042", "priority": 3, "note": "Looks like the VPN."}
ASSIGN = {
    "sys_id": VPN_INCIDENT,
    "number": "INC0010042",
    "priority": 3,
    "category": "network",
    "assignment_group": "Network",
}
LABELS = {"sys_id": VPN_INCIDENT, "number": "INC0010042", "priority": 3, "labels": ["network", "vpn"]}


@pytest.fixture
async def base() -> AsyncIterator[str]:
    async with TestServer(build()) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
def pack(base: str) -> Mapping[str, Handler]:
    return handlers({**settings(base), "timeout": "2"})


def call(operation: str, params: JsonObject, key: str = "", before: JsonObject | None = None) -> Call:
    return Call("acme", "run-1", "step", operation, params, "target", key, before=before)


async def run(pack: Mapping[str, Handler], operation: str, params: JsonObject, key: str = "") -> JsonObject:
    result = await result_of(pack[operation], call(operation, params, key))
    verb = sync_verbs("incident-triage").get(operation)
    assert verb is None or violations(verb["output_schema"], result) == []
    return result


async def reconcile(
    pack: Mapping[str, Handler],
    operation: str,
    params: JsonObject,
    key: str = "",
    before: JsonObject | None = None,
) -> Reconciled:
    handler = pack[operation]
    assert handler.reconcile
    return await handler.reconcile(call(operation, params, key, before))


async def before(pack: Mapping[str, Handler], operation: str, params: JsonObject) -> JsonObject:
    handler = pack[operation]
    assert handler.before
    return await handler.before(call(operation, params))


async def ask(base: str, path: str, body: JsonObject | None = None, **query: str) -> tuple[int, Json]:
    """Ask the stand-in directly, as the user that it knows."""
    headers = {"Authorization": aiohttp.encode_basic_auth(USER, PASSWORD)}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.request("POST" if body else "GET", f"{base}{path}", params=query, json=body) as response,
    ):
        return response.status, json.loads(await response.read() or b"null")


async def actions(base: str) -> int:
    count: int = (await ask(base, "/__standin/actions"))[1]["count"]
    return count


async def test_incident_is_read_with_names_and_numbers(pack: Mapping[str, Handler]) -> None:
    assert await run(pack, "servicenow::read_incident", {"sys_id": VPN_INCIDENT}) == {
        "sys_id": VPN_INCIDENT,
        "number": "INC0010042",
        "short_description": "VPN drops every few minutes from the Rotterdam office",
        "description": "Since this morning the VPN client disconnects for about forty people.",
        "category": "inquiry",
        "assignment_group": "Service Desk",
        "impact": 2,
        "urgency": 2,
        "priority": 3,
        "state": "New",
        "is_closed": False,
    }


@pytest.mark.parametrize(
    ("state", "name", "is_closed"),
    [
        ("2", "In Progress", False),
        ("3", "On Hold", False),
        ("6", "Resolved", True),
        ("7", "Closed", True),
        ("8", "Canceled", True),
        ("9", "9", False),
    ],
)
async def test_an_incident_that_nobody_works_on_any_more_is_closed(
    pack: Mapping[str, Handler], base: str, state: str, name: str, *, is_closed: bool
) -> None:
    headers = {"Authorization": aiohttp.encode_basic_auth(USER, PASSWORD)}
    path = f"{base}/api/now/table/incident/{VPN_INCIDENT}"
    async with aiohttp.ClientSession(headers=headers) as session, session.patch(path, json={"state": state}) as answer:
        assert answer.ok
    found = await run(pack, "servicenow::read_incident", {"sys_id": VPN_INCIDENT})
    assert (found["state"], found["is_closed"]) == (name, is_closed)


async def test_reading_an_incident_tells_what_servicenow_answered(pack: Mapping[str, Handler]) -> None:
    operation = "servicenow::read_incident"
    answer = await pack[operation].run(call(operation, {"sys_id": VPN_INCIDENT}))
    assert isinstance(answer, Answer)
    assert (answer.metadata, answer.usage) == (Metadata(200, None, 1), ())


async def test_incident_without_group_reads_as_an_empty_name(pack: Mapping[str, Handler]) -> None:
    assert (await run(pack, "servicenow::read_incident", {"sys_id": OUTAGE_INCIDENT}))["assignment_group"] == ""


async def test_unknown_incident_is_refused_in_servicenows_words(pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match="ServiceNow answered 404: No Record found: Record doesn't exist"):
        await run(pack, "servicenow::read_incident", {"sys_id": "0" * 32})


@pytest.mark.parametrize("sys_id", ["", "A" * 32, "0" * 31, "0" * 32 + "\n", "x/../../y", "0" * 32 + "^active=true"])
async def test_sys_id_of_another_form_reaches_no_url(pack: Mapping[str, Handler], sys_id: str) -> None:
    with pytest.raises(RefusedError, match="sys_id"):
        await run(pack, "servicenow::read_incident", {"sys_id": sys_id})


async def test_wrong_password_can_be_mended_and_is_not_repeated_in_the_error(base: str) -> None:
    pack = handlers({**settings(base), "servicenow_password": "wr0ng-password"})
    with pytest.raises(BlockedError, match="401: User Not Authenticated") as caught:
        await run(pack, "servicenow::add_work_note", NOTE, "key-1")
    assert "wr0ng-password" not in str(caught.value)


async def test_work_note_is_written_to_the_journal_with_its_marker(base: str, pack: Mapping[str, Handler]) -> None:
    result = await run(pack, "servicenow::add_work_note", NOTE, "key-1")
    assert result == {"sys_id": VPN_INCIDENT, "marker": marker("key-1")}
    query = f"element_id={VPN_INCIDENT}^element=work_notes"
    _, found = await ask(base, "/api/now/table/sys_journal_field", sysparm_query=query, sysparm_fields="value")
    assert found == {"result": [{"value": f"Looks like the VPN.\n\n[{marker('key-1')}]"}]}


async def test_lost_reply_of_a_work_note_is_found_by_its_marker(base: str, pack: Mapping[str, Handler]) -> None:
    operation = "servicenow::add_work_note"
    assert await reconcile(pack, operation, NOTE, "key-1") == Untouched()
    await ask(base, "/__standin/faults", {"next": "drop_reply_after_commit"})
    with pytest.raises(OutcomeUnknownError):
        await run(pack, operation, NOTE, "key-1")
    found = await reconcile(pack, operation, NOTE, "key-1")
    assert found == Done({"sys_id": VPN_INCIDENT, "marker": marker("key-1")})
    assert await reconcile(pack, operation, NOTE, "key-2") == Untouched()
    assert await actions(base) == 1


async def test_work_note_that_would_become_html_is_refused(base: str, pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match="HTML"):
        await run(pack, "servicenow::add_work_note", {**NOTE, "note": "[CODE]<b>x</b>"}, "key-1")
    assert await actions(base) == 0


async def test_assignment_says_what_was_there_before(pack: Mapping[str, Handler]) -> None:
    former = {"category": "inquiry", "assignment_group": "Service Desk"}
    assert await before(pack, "servicenow::assign", ASSIGN) == former
    assert await run(pack, "servicenow::assign", ASSIGN) == {
        "sys_id": VPN_INCIDENT,
        "category": "network",
        "assignment_group": "Network",
        "former": former,
    }
    assert await before(pack, "servicenow::assign", ASSIGN) == {"category": "network", "assignment_group": "Network"}


async def test_assignment_is_undone_with_the_former_values(pack: Mapping[str, Handler]) -> None:
    done = await run(pack, "servicenow::assign", ASSIGN)
    undone = await run(pack, "servicenow::assign", {**ASSIGN, **done["former"]})
    assert undone["assignment_group"] == "Service Desk"
    assert undone["category"] == "inquiry"


async def test_unknown_group_is_refused_before_anything_is_written(base: str, pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match="no active groups named 'Netwrk'"):
        await run(pack, "servicenow::assign", {**ASSIGN, "assignment_group": "Netwrk"})
    assert await actions(base) == 0


async def test_name_cannot_widen_the_query(base: str, pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match="assignment_group"):
        await run(pack, "servicenow::assign", {**ASSIGN, "assignment_group": "x^ORname=Network"})
    assert await actions(base) == 0


@pytest.mark.parametrize("fault", ["drop_reply_after_commit", "503_after_commit", "500"])
async def test_assignment_in_doubt_is_settled_by_what_the_incident_holds(
    base: str, pack: Mapping[str, Handler], fault: str
) -> None:
    former = await before(pack, "servicenow::assign", ASSIGN)
    await ask(base, "/__standin/faults", {"next": fault})
    with pytest.raises(OutcomeUnknownError):
        await run(pack, "servicenow::assign", ASSIGN)
    found = await reconcile(pack, "servicenow::assign", ASSIGN, before=former)
    done = {"sys_id": VPN_INCIDENT, "category": "network", "assignment_group": "Network", "former": former}
    assert found == (Untouched() if fault == "500" else Done(done))
    assert await actions(base) == (0 if fault == "500" else 1)


async def test_what_a_person_assigned_meanwhile_is_neither_done_nor_untouched(pack: Mapping[str, Handler]) -> None:
    former = await before(pack, "servicenow::assign", ASSIGN)
    theirs = {"category": "hardware", "assignment_group": "Hardware"}
    await run(pack, "servicenow::assign", {**ASSIGN, **theirs})
    assert await reconcile(pack, "servicenow::assign", ASSIGN, before=former) == Changed(theirs)


async def test_an_assignment_whose_former_values_nobody_knows_is_left_to_people(pack: Mapping[str, Handler]) -> None:
    await run(pack, "servicenow::assign", ASSIGN)
    assert isinstance(await reconcile(pack, "servicenow::assign", ASSIGN, before=None), Changed)


async def test_labels_that_are_there_are_not_added_again(base: str, pack: Mapping[str, Handler]) -> None:
    first = await run(pack, "servicenow::add_labels", {**LABELS, "labels": ["vpn"]})
    assert [entry["label"] for entry in first["added"]] == ["vpn"]
    second = await run(pack, "servicenow::add_labels", LABELS)
    assert [entry["label"] for entry in second["added"]] == ["network"]
    assert await before(pack, "servicenow::add_labels", LABELS) == {"labels": ["network", "vpn"]}
    assert await actions(base) == 2


async def test_label_entry_points_to_the_incident(base: str, pack: Mapping[str, Handler]) -> None:
    entry = (await run(pack, "servicenow::add_labels", {**LABELS, "labels": ["vpn"]}))["added"][0]["entry"]
    _, found = await ask(base, f"/api/now/table/label_entry/{entry}", sysparm_fields="table,table_key,title")
    assert found == {"result": {"table": "incident", "table_key": VPN_INCIDENT, "title": "INC0010042"}}


async def test_label_that_nobody_made_is_refused(base: str, pack: Mapping[str, Handler]) -> None:
    with pytest.raises(RefusedError, match="no shared label named nonsense"):
        await run(pack, "servicenow::add_labels", {**LABELS, "labels": ["vpn", "nonsense"]})
    assert await actions(base) == 0


async def test_labels_in_doubt_are_there_only_when_all_are(base: str, pack: Mapping[str, Handler]) -> None:
    operation = "servicenow::add_labels"
    former = await before(pack, operation, LABELS)
    assert await reconcile(pack, operation, LABELS, before=former) == Untouched()
    await run(pack, operation, {**LABELS, "labels": ["vpn"]})
    assert await reconcile(pack, operation, LABELS, before=former) == Changed({"labels": ["vpn"]})
    await run(pack, operation, {**LABELS, "labels": ["network"]})
    assert isinstance(await reconcile(pack, operation, LABELS, before=former), Done)


async def test_labels_found_by_reading_back_say_which_entries_undo_them(base: str, pack: Mapping[str, Handler]) -> None:
    operation = "servicenow::add_labels"
    await run(pack, operation, {**LABELS, "labels": ["vpn"]})
    former = await before(pack, operation, LABELS)
    await ask(base, "/__standin/faults", {"next": "drop_reply_after_commit"})
    with pytest.raises(OutcomeUnknownError):
        await run(pack, operation, LABELS)
    found = await reconcile(pack, operation, LABELS, before=former)
    assert isinstance(found, Done)
    (added,) = found.result["added"]
    _, entry = await ask(base, f"/api/now/table/label_entry/{added['entry']}", sysparm_display_value="true")
    assert entry["result"]["label"]["display_value"] == added["label"] == "network"


async def test_a_label_that_a_person_took_off_meanwhile_is_not_put_back(pack: Mapping[str, Handler]) -> None:
    held = {"labels": ["vpn"]}
    assert await reconcile(pack, "servicenow::add_labels", LABELS, before=held) == Changed({"labels": []})


@pytest.mark.parametrize("table", ["incident", "sys_user_group", "label", "label_entry", "sys_journal_field"])
async def test_standin_wants_credentials_for_every_table(base: str, table: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{base}/api/now/table/{table}") as response:
        assert response.status == 401
        assert (await response.json())["status"] == "failure"


async def test_standin_pages_by_limit_and_offset(base: str) -> None:
    path = "/api/now/table/sys_user_group"
    _, whole = await ask(base, path, sysparm_fields="name")
    _, part = await ask(base, path, sysparm_fields="name", sysparm_limit="2", sysparm_offset="1")
    assert part["result"] == whole["result"][1:3]


@pytest.mark.parametrize(
    ("display", "shown"),
    [
        ("true", {"display_value": "Service Desk", "link": "LINK"}),
        ("false", {"value": "ID", "link": "LINK"}),
        ("all", {"display_value": "Service Desk", "value": "ID", "link": "LINK"}),
    ],
)
async def test_standin_shows_references_as_asked(base: str, display: str, shown: JsonObject) -> None:
    _, groups = await ask(base, "/api/now/table/sys_user_group", sysparm_query="name=Service Desk")
    sys_id = groups["result"][0]["sys_id"]
    link = f"{base}/api/now/table/sys_user_group/{sys_id}"
    expected = {name: value.replace("ID", sys_id).replace("LINK", link) for name, value in shown.items()}
    path = f"/api/now/table/incident/{VPN_INCIDENT}"
    _, found = await ask(base, path, sysparm_fields="assignment_group", sysparm_display_value=display)
    assert found["result"]["assignment_group"] == expected


@pytest.mark.parametrize("path", ["/api/now/table/nothing", f"/api/now/table/nothing/{VPN_INCIDENT}"])
async def test_standin_refuses_an_unknown_table(base: str, path: str) -> None:
    status, body = await ask(base, path)
    assert (status, body["error"]["message"]) == (400, "Invalid table nothing")


async def test_failure_after_a_first_label_leaves_the_outcome_unknown(base: str, pack: Mapping[str, Handler]) -> None:
    await ask(base, "/__standin/faults", {"next": "429"})
    with pytest.raises(NotTakenError):
        await run(pack, "servicenow::add_labels", LABELS)
    await ask(base, "/__standin/faults", {"next": "401", "skip": 1})
    with pytest.raises(OutcomeUnknownError, match="1 labels were added, then: ServiceNow answered 401"):
        await run(pack, "servicenow::add_labels", LABELS)


async def test_a_rate_limit_between_two_labels_is_waited_out(base: str, pack: Mapping[str, Handler]) -> None:
    await ask(base, "/__standin/faults", {"next": "429", "skip": 1})
    result = await run(pack, "servicenow::add_labels", LABELS)
    assert [entry["label"] for entry in result["added"]] == ["network", "vpn"]
    assert await actions(base) == 2


def test_example_trigger_names_a_seeded_incident() -> None:
    trigger = json.loads(Path("packs/incident-triage/example-trigger.json").read_text(encoding="utf-8"))
    assert trigger["sys_id"] == VPN_INCIDENT
