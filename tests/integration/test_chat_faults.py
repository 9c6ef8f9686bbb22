"""When Slack refuses while people are asked: nothing is lost, nobody is blocked, and what waits can be decided."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

from bot.views.references import APPROVE
from countersign.doctor.needs_attention import stopped_work
from countersign.embedded.opa import OpaChild
from edge.messages import RunOut
from policy.client import OpaEngine
from runtime.model.search import ListFilter
from runtime.model.states import ApprovalStatus
from runtime.services.ballots import refusal_to_decide
from runtime.store.database.pool import Conn
from runtime.store.request_lists import Viewer, find_waiting
from sandbox.harness import SandboxUser, messages
from tests.bench import TENANT
from tests.integration.chat_stage import CHANNEL, Chat, chatting
from tests.integration.conftest import Targets
from tests.integration.program_stage import settings_of
from tests.patience import MINUTE


@pytest.fixture
async def chat(dsn: str, opa: OpaChild, targets: Targets) -> AsyncIterator[Chat]:
    async with OpaEngine(opa.url, timeout=MINUTE) as policy, chatting(dsn, policy, targets) as running:
        yield running


async def _sign(chat: Chat, person: SandboxUser, approval_id: str) -> None:
    """Click the newest card that the person sees, and give a reason."""
    card = await person.find_card(lambda message: "Approval needed" in message["text"])
    await person.click(card, APPROVE)
    await person.find_modal()
    votes = len(await chat.bench.rows("SELECT FROM votes WHERE approval_id = %s", approval_id))
    await person.submit({"reason": "seen and checked"})
    await _voted(chat, approval_id, votes + 1)


async def _voted(chat: Chat, approval_id: str, count: int) -> None:
    async with asyncio.timeout(MINUTE):
        while len(await chat.bench.rows("SELECT FROM votes WHERE approval_id = %s", approval_id)) < count:
            await asyncio.sleep(0.02)


FIXABLE = (
    *("not_in_channel", "channel_not_found", "is_archived", "invalid_auth", "token_revoked", "account_inactive"),
    *("missing_scope", "restricted_action", "ekm_access_denied", "team_access_not_granted", "not_authed"),
)


async def test_a_card_that_is_refused_for_thirty_seconds_arrives_once_within_a_minute(chat: Chat) -> None:
    chat.faults.refuse("chat.postMessage", "not_in_channel")
    await chat.file()
    for _ in range(2):
        await chat.bench.later(seconds=15)
    assert await chat.cards() == []
    chat.faults.lift("chat.postMessage")
    for _ in range(3):
        await chat.bench.later(seconds=20)
    assert len(await chat.cards()) == 1


async def test_whatever_somebody_can_mend_holds_a_card_that_arrives_once_it_is_mended(chat: Chat) -> None:
    await chat.file()
    [first] = await chat.cards()
    for code in FIXABLE:
        chat.faults.refuse("chat.postMessage", code)
        if code == FIXABLE[0]:
            await chat.file("2")
        await chat.bench.later(minutes=2)
        [run_id] = {row["run_id"] for row in await chat.bench.rows("SELECT run_id FROM runs WHERE trigger_ref = '2'")}
        blocked = RunOut.model_validate(await chat.bench.run_summary(run_id)).blocked
        errors = [one.error for one in blocked if one.operation == "slack::post_card"]
        assert errors == [f"Slack refuses: {code}"]
    chat.faults.lift("chat.postMessage")
    await chat.bench.later(minutes=2)
    [second, again] = await chat.cards()
    assert (second["ts"] != first["ts"], again["ts"]) == (True, first["ts"])


async def test_what_has_no_card_is_decided_in_the_home(chat: Chat) -> None:
    chat.faults.refuse("chat.postMessage", "not_in_channel")
    approval_id = await chat.file()
    for name in ("ann", "ben"):
        person = await chat.person(name)
        home = await chat.home(person)
        assert "No card in its channel" in str(home)
        await person.click_view("home", APPROVE)
        await person.find_modal()
        await person.submit({"reason": "seen and checked"})
    await _voted(chat, approval_id, 2)
    assert await chat.decided(approval_id) is ApprovalStatus.APPROVED


async def test_what_is_held_stands_where_operators_and_callers_look(chat: Chat, dsn: str) -> None:
    chat.faults.refuse("chat.postMessage", "not_in_channel")
    await chat.file("1")
    await chat.file("2")
    found, _ = await stopped_work(settings_of(dsn, "http://127.0.0.1:1", Path("nowhere"), tenant=TENANT))
    assert (found.name, found.ok) == ("blocked effects", False)
    assert f"2 times slack::post_card to {CHANNEL}: Slack refuses: not_in_channel" in found.detail
    [run_id] = {row["run_id"] for row in await chat.bench.rows("SELECT run_id FROM runs WHERE trigger_ref = '1'")}
    run = RunOut.model_validate(await chat.bench.run_summary(run_id))
    card = ("slack::post_card", CHANNEL, "Slack refuses: not_in_channel")
    assert card in [(one.operation, one.target, one.error) for one in run.blocked]
    chat.faults.lift("chat.postMessage")
    await chat.bench.later(minutes=1)
    found, _ = await stopped_work(settings_of(dsn, "http://127.0.0.1:1", Path("nowhere"), tenant=TENANT))
    assert found.ok


async def test_what_has_a_card_is_decided_in_the_home_as_well(chat: Chat) -> None:
    approval_id = await chat.file()
    await chat.bench.settle()
    ann = await chat.person("ann")
    assert "Open the card" in str(await chat.home(ann))
    await ann.click_view("home", APPROVE)
    await ann.find_modal()
    await ann.submit({"reason": "seen and checked"})
    await _voted(chat, approval_id, 1)
    await ann.wait_for(lambda state: "Nothing is waiting for you" in str(state["home"]))


@pytest.mark.parametrize("code", ["invalid_auth", "cant_update_message"])
async def test_a_refused_edit_does_not_block_the_quorum(chat: Chat, code: str) -> None:
    approval_id = await chat.file()
    ann, ben = await chat.person("ann"), await chat.person("ben")
    chat.faults.refuse("chat.update", code)
    await _sign(chat, ann, approval_id)
    await chat.bench.settle()
    await _sign(chat, ben, approval_id)
    chat.faults.lift("chat.update")
    assert await chat.decided(approval_id) is ApprovalStatus.APPROVED
    for _ in range(12):
        await chat.bench.later(seconds=5)
    assert (await chat.cards())[0]["text"].startswith("Approved")


async def test_who_clicks_a_card_that_is_out_of_date_brings_it_up_to_date(chat: Chat) -> None:
    approval_id = await chat.file()
    chat.faults.refuse("chat.update", "invalid_blocks")  # what nobody can mend is not tried again
    for name in ("ann", "ben"):
        await chat.bench.click(name, approval_id)
    await chat.bench.settle()
    chat.faults.lift("chat.update")
    assert (await chat.cards())[0]["text"].startswith("Approval needed")
    cat = await chat.person("cat")
    await cat.click(await cat.find_card(lambda message: "Approval needed" in message["text"]), APPROVE)
    await cat.find_card(lambda message: "already approved" in message["text"])
    await chat.bench.settle()
    assert (await chat.cards())[0]["text"].startswith("Approved")


async def test_a_reason_for_what_has_ended_meanwhile_does_not_count_and_its_person_hears_why(chat: Chat) -> None:
    asked, ann = await chat.file(), await chat.person("ann")
    await ann.click({**(await chat.cards())[0], "channel": CHANNEL}, APPROVE)
    await ann.find_modal()
    assert (await chat.bench.click("ben", asked, "reject")).counted
    assert (await ann.submit({"reason": "seen and checked"}))["ok"]
    await ann.find_card(lambda message: "already rejected" in message["text"])
    assert [row["person"] for row in await chat.bench.rows("SELECT person FROM votes")] == ["ben"]


async def test_a_deleted_card_comes_back_when_somebody_looks_at_their_home(chat: Chat) -> None:
    await chat.file()
    [card] = await chat.cards()
    await chat.raw.chat_delete(channel=CHANNEL, ts=card["ts"])
    ann = await chat.person("ann")
    before = chat.faults.calls["chat.getPermalink"]
    for looks in (1, 2):
        await chat.home(ann)
        await chat.faults.called("chat.getPermalink", before + looks)
        await chat.bench.settle()
    assert len(await chat.cards()) == 1


async def test_a_home_asks_slack_for_no_link_and_for_each_card_once_in_a_while(chat: Chat) -> None:
    for number in range(3):
        await chat.file(str(number))
    ann = await chat.person("ann")
    before = chat.faults.calls["chat.getPermalink"]  # for who asked, who is told with a link
    chat.faults.hold("chat.getPermalink")
    assert "Open the card" in str(await chat.home(ann))
    chat.faults.lift("chat.getPermalink")
    await chat.faults.called("chat.getPermalink", before + 3)
    await chat.home(ann)
    await chat.home(ann)
    assert chat.faults.calls["chat.getPermalink"] == before + 3


async def test_many_homes_at_once_do_not_hold_up_a_click_and_are_drawn_as_they_are_then(chat: Chat) -> None:
    asked = [await chat.file(str(number)) for number in range(3)]
    ann, ben = await chat.person("ann"), await chat.person("ben")
    chat.faults.hold("views.publish")
    homes = [asyncio.create_task(ben.open_home()) for _ in range(24)]
    await chat.faults.called("views.publish")
    await asyncio.gather(*homes)
    await _sign(chat, ann, asked[-1])
    chat.faults.lift("views.publish")
    await chat.faults.called("views.publish", 2)  # who waits for their turn already is drawn once
    await ben.wait_for(lambda state: state["home"] and "1 of 2" in str(state["home"]))


async def test_an_older_drawing_of_a_home_does_not_stay_on_top_of_one_of_another_process(chat: Chat) -> None:
    approval_id = await chat.file()
    ann, ben = await chat.person("ann"), await chat.person("ben")
    await chat.home(ben)
    homes, drawn = chat.sandbox.store.data.homes, chat.faults.calls["views.publish"]
    chat.faults.hold("views.publish")
    await ben.open_home()
    await chat.faults.called("views.publish", drawn + 1)  # read before the vote, and on its way
    await _sign(chat, ann, approval_id)
    homes["UBEN"] = {**homes["UBEN"], "hash": "of what another process has drawn"}
    chat.faults.lift("views.publish")
    await ben.wait_for(lambda state: state["home"] and "1 of 2" in str(state["home"]))
    assert chat.faults.calls["views.publish"] == drawn + 2


async def test_what_waits_is_counted_whole_and_shown_in_part(chat: Chat) -> None:
    for number in range(4):
        await chat.file(str(number))
    pending = await chat.bench.pending("ann", 2)
    ends = [entry.view.expires_at for entry in pending.page.entries]
    assert (pending.total, len(ends)) == (4, 2)
    assert ends == sorted(ends)


PEOPLE = st.sampled_from(["rita", "ann", "sue", "portal-bot"])
GROUPS = st.lists(st.sampled_from(["compliance", "senior-compliance", "operators"]), max_size=2, unique=True)


def _line(groups: list[str]) -> list[dict[str, Any]]:
    """Return that these groups are next in line."""
    return [{"after": "PT1H", "to": groups}] if groups else []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=GROUPS,
    next_in_line=GROUPS,
    excluded=st.lists(PEOPLE, max_size=2, unique=True),
    joined=GROUPS,
    requester=PEOPLE,
    requester_accounts=st.lists(PEOPLE, max_size=2),
    hours=st.integers(-1, 1),
    kind=st.sampled_from(["effect", "in_doubt", "task", "task"]),
    assignee=st.sampled_from([None, "ann", "sue", "gone"]),
    status=st.sampled_from(["requested", "requested", "approved"]),
    votes=st.lists(st.tuples(PEOPLE, PEOPLE), max_size=2, unique_by=(lambda vote: vote[0], lambda vote: vote[1])),
)
@example(
    asked=["compliance"],
    next_in_line=[],
    excluded=[],
    joined=[],
    requester="rita",
    requester_accounts=[],
    hours=1,
    kind="task",
    assignee="ann",
    status="requested",
    votes=[],
)
async def test_what_waits_for_a_person_is_what_the_rules_let_them_decide(chat: Chat, **case: Any) -> None:
    """One query says of all approvals what the rules say of one."""
    engine = chat.bench.engine
    if not await chat.bench.rows("SELECT FROM approvals"):
        await chat.file()
    async with (
        await Conn.connect(chat.bench.superuser, row_factory=dict_row) as superuser,
        superuser.transaction(force_rollback=True),
    ):
        conn: Any = superuser
        await _make_so(conn, engine.clock(), case)
        [row] = await (await conn.execute("SELECT approval_id FROM approvals")).fetchall()
        for person in ("rita", "ann", "ben", "sue", "nobody", "portal-bot"):
            rows = await _pending(conn, person, engine.clock())
            refusal = await refusal_to_decide(conn, TENANT, row["approval_id"], person, engine.clock())
            is_person = person not in ("nobody", "portal-bot")
            assert bool(rows) == (refusal is None and is_person), (person, refusal)


async def _pending(conn: Any, person: str, now: Any) -> list[dict[str, Any]]:
    return await find_waiting(conn, Viewer(TENANT, person, now), ListFilter(), None, 10)


async def _make_so(conn: Any, now: Any, case: dict[str, Any]) -> None:
    await conn.execute("SET LOCAL session_replication_role = replica")  # what is made up here stands by itself
    changes = {"groups": case["asked"], "escalate_to": _line(case["next_in_line"]), "exclude": case["excluded"]}
    await conn.execute(
        "UPDATE approvals SET kind = %s, assignee = %s, status = %s, joined = %s, expires_at = %s,"
        " requirement = (requirement::jsonb || %s::jsonb)::json",
        (
            *(case["kind"], case["assignee"] if case["kind"] == "task" else None, case["status"]),
            *(json.dumps(case["joined"]), now + timedelta(hours=case["hours"])),
            json.dumps(changes),
        ),
    )
    accounts = [f"U{name.upper()}" for name in case["requester_accounts"]]
    await conn.execute(
        "UPDATE runs SET requested_by = %s, requester_accounts ="
        " (SELECT coalesce(json_agg(json_build_array('T0ACME', u)), '[]') FROM unnest(%s::text[]) AS u)",
        (case["requester"], accounts),
    )
    for person, account in case["votes"]:
        await conn.execute(
            "INSERT INTO votes SELECT approval_id, %s, '', '[]', 'approve', '', 'T0ACME', %s, %s, %s FROM approvals",
            (person, f"U{account.upper()}", f"ntf_{person}", now),
        )


async def test_who_is_asked_is_called_and_who_asked_is_told_in_words_with_the_way_to_the_card(chat: Chat) -> None:
    approval_id = await chat.file()
    ann, rita = await chat.person("ann"), await chat.person("rita")
    card = await ann.find_card(lambda message: "Approval needed" in message["text"])
    assert set(card["mentions"]) == {"UANN", "UBEN", "UCAT"}
    assert "register:Halvorsen Seefracht" in card["blocks"][1]["text"]["text"]
    await chat.bench.click("ann", approval_id, "reject", reason="wrong owner")
    await chat.bench.settle()
    told = [message for message in messages(await rita.see()) if message["channel"].startswith("D")]
    assert {message["text"].partition(")")[0] for message in told} == {"Your request in One filing (1", "One filing (1"}
    for message in told:
        assert any(f"/archives/{CHANNEL}/p" in link for link in message["links"])
        assert not {"run_", "failed_terminal", "succeeded"} & set(message["text"].replace(".", " ").split())
    assert (await ann.find_card(lambda message: message["ts"] == card["ts"]))["mentions"] == []
