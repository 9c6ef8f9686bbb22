"""Slack as a connector: what is posted once is found again, edited in place, and data stays data."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from bot.slack.client import slack_client
from bot.slack.connector import slack_handlers
from bot.slack.posts import BURST, Pace
from runtime.handlers import (
    Done,
    HeldError,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    Untouched,
)
from runtime.model.approval import AskKind
from runtime.model.states import ApprovalStatus
from runtime.services.approval_view import Declared, FieldView
from sandbox.harness import HandClock, messages, served
from sandbox.slack_errors import Limits
from tests.handled import result_of
from tests.integration.bot_stage import CHANNEL, WORKSPACE, MemoryDesk, Stage, ask, call, card_of, staged, the_card

EVIL = "<!channel> <https://evil.example|ok> *bold* :tada: `x`\n> \u202eeno\u200b"


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged() as running:
        yield running


async def test_a_card_is_posted_with_its_key_and_remembered_as_shown(stage: Stage) -> None:
    await stage.post(ask())
    [(channel, ts, shown)] = stage.desk.cards["apr-1"]
    history = await stage.raw.conversations_history(channel=channel, include_all_metadata=True)
    message = history["messages"][0]
    assert message["ts"] == ts
    assert message["metadata"]["event_type"] == "countersign_card"
    assert message["metadata"]["event_payload"] == {"approval_id": "apr-1", "key": "card:apr-1"}
    assert message["text"] == shown["text"]


async def test_a_card_that_is_remembered_is_not_posted_again(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    await stage.post(ask())
    assert len(messages(await anna.see())) == 1


async def test_a_review_is_posted_with_whatever_else_its_verb_was_given(stage: Stage) -> None:
    stage.desk.approvals["apr-1"] = ask(kind=AskKind.TASK)
    place = await stage.run("slack::post_task", approval_id="apr-1", channel=CHANNEL, question="Complete?")
    assert place["channel"] == CHANNEL


async def test_a_card_posted_without_an_answer_is_found_and_remembered(stage: Stage) -> None:
    stage.desk.approvals["apr-1"] = ask()
    stage.desk.down.add("remember")
    posted = call("slack::post_card", "k-1", approval_id="apr-1", channel=CHANNEL)
    with pytest.raises(Exception, match="remember"):
        await stage.handlers["slack::post_card"].run(posted)
    stage.desk.down.clear()
    reconcile = stage.handlers["slack::post_card"].reconcile
    assert reconcile
    found = await reconcile(posted)
    assert isinstance(found, Done)
    assert await stage.desk.location("apr-1") == (found.result["channel"], found.result["ts"])
    assert await reconcile(replace(posted, key="k-2")) == Untouched()


async def test_a_message_posted_without_an_answer_is_found_anywhere(stage: Stage) -> None:
    await stage.post(ask())
    for operation, params in (
        ("slack::post_message", {"channel": CHANNEL, "text": "hello", "thread_of": None}),
        ("slack::post_message", {"channel": CHANNEL, "text": "hello", "thread_of": "apr-1"}),
        ("slack::direct_message", {"user": "U0CARLA", "text": "hello"}),
    ):
        made = call(operation, f"k-{operation}-{params.get('thread_of')}", **params)
        handler = stage.handlers[operation]
        assert handler.reconcile
        assert await handler.reconcile(made) == Untouched()
        place = await result_of(handler, made)
        assert await handler.reconcile(made) == Done(place)


async def test_a_message_is_found_on_a_later_page(stage: Stage) -> None:
    async with staged(limits=Limits(channel_per_second=10_000, channel_burst=10_000, burst=10_000)) as fast:
        made = call("slack::post_message", "first", channel=CHANNEL, text="first", thread_of=None)
        handler = fast.handlers["slack::post_message"]
        place = await result_of(handler, made)
        for n in range(210):
            await fast.raw.chat_postMessage(channel=CHANNEL, text=str(n))
        assert handler.reconcile
        assert await handler.reconcile(made) == Done(place)


async def test_a_card_follows_the_newest_truth_whoever_writes_last(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    stage.desk.approvals["apr-1"] = ask(revision=2, purpose="two")
    first = asyncio.create_task(stage.refresh())
    stage.desk.approvals["apr-1"] = ask(revision=3, status=ApprovalStatus.APPROVED)
    await asyncio.gather(first, stage.refresh(), stage.refresh())
    assert (await the_card(anna, stage))["text"].startswith("Approved:")


async def test_a_card_that_is_not_posted_cannot_be_edited(stage: Stage) -> None:
    stage.desk.approvals["apr-1"] = ask()
    with pytest.raises(TransientError, match="not posted"):
        await stage.refresh()


async def test_a_copy_that_was_not_posted_before_its_request_ended_is_nothing_to_edit(stage: Stage) -> None:
    copy: dict[str, Any] = {"approval_id": "apr-1", "revision": 2, "copy_at": "U0ANNA"}
    stage.desk.approvals["apr-1"] = ask()
    with pytest.raises(TransientError, match="not posted"):
        await stage.run("slack::update_card", **copy)
    stage.desk.approvals["apr-1"] = ask(status=ApprovalStatus.REJECTED)
    assert await stage.run("slack::update_card", **copy) == {"is_shown": False}


@pytest.mark.parametrize("text", [EVIL, EVIL * 400, "Ω" * 10_000, "\u202e" * 10_000])
async def test_hostile_text_is_data_everywhere(stage: Stage, text: str) -> None:
    anna = await stage.person("U0ANNA")
    fields = tuple(FieldView(text, text, [text]) for _ in range(8))
    await stage.post(ask(fields=fields, purpose=text, target=text, requester=text, reasons=((text, text),)))
    await stage.run("slack::post_message", "k", channel=CHANNEL, text=text, thread_of="apr-1")
    await stage.run("slack::direct_message", "d", user="U0ANNA", text=text)
    seen = messages(await anna.see())
    assert len(seen) == 3
    for message in seen:
        assert message["mentions"] == message["links"] == message["unfurls"] == []
        assert '"emoji"' not in json.dumps([node for node in nodes(message) if node["t"] != "text"])


def nodes(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [one for member in value for one in nodes(member)]
    if not isinstance(value, dict):
        return []
    return [*([value] if "t" in value else []), *(one for member in value.values() for one in nodes(member))]


async def test_a_message_of_a_run_on_mocks_says_so_first_of_all(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    on_mocks = slack_handlers(stage.raw, stage.desk, stage.desk, stage.clock, mocked=True)
    await result_of(
        on_mocks["slack::direct_message"], call("slack::direct_message", "m", user="U0ANNA", text="it ended")
    )
    [message] = messages(await anna.see())
    assert message["text"] == "On mocks: it ended"
    assert message["blocks"][0]["text"]["text"] == "On mocks: it ended"


async def test_a_long_message_says_how_much_is_left_out(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.run("slack::direct_message", "d", user="U0ANNA", text="x" * 30_000)
    [message] = messages(await anna.see())
    assert message["blocks"][-1]["text"]["text"] == "… 20,000 more characters"


@pytest.mark.parametrize(
    ("operation", "params", "words"),
    [
        ("slack::post_card", {"approval_id": "apr-9", "channel": CHANNEL}, "no approval"),
        ("slack::post_card", {"approval_id": "apr-1"}, "params.channel: Field required"),
        ("slack::post_card", {"approval_id": "apr-1", "channel": CHANNEL, "as": "x"}, "params.as: Extra"),
        ("slack::update_card", {"approval_id": "apr-1", "revision": "2"}, "params.revision"),
        ("slack::direct_message", {"user": "U0GONE", "text": "x"}, "user_disabled"),
        ("slack::direct_message", {"user": "U0ROBOT", "text": "x"}, "cannot_dm_bot"),
    ],
)
async def test_a_refusal_that_nobody_can_mend_is_final_and_named(
    stage: Stage, operation: str, params: dict[str, Any], words: str
) -> None:
    stage.desk.approvals["apr-1"] = ask()
    with pytest.raises(RefusedError, match=words.replace(".", r"\.")):
        await stage.run(operation, "k", **params)


async def test_too_many_posts_are_tried_again_when_slack_says() -> None:
    async with staged(limits=Limits(channel_burst=1)) as stage:
        await stage.run("slack::post_message", "1", channel=CHANNEL, text="x", thread_of=None)
        with pytest.raises(TransientError) as caught:
            await stage.run("slack::post_message", "2", channel=CHANNEL, text="x", thread_of=None)
        assert caught.value.retry_after == 1


@asynccontextmanager
async def answering(response: Any) -> AsyncIterator[tuple[str, list[str]]]:
    """Serve one answer to every method, and count the calls; None hangs up without an answer."""
    calls: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        await request.read()
        calls.append(request.path)
        if response is None:
            assert request.transport
            request.transport.close()
            return web.Response()
        status, body, kind = response
        return web.Response(status=status, text=body, content_type=kind)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    async with served(app) as url:
        yield f"{url}/api/", calls


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (None, OutcomeUnknownError),
        ((500, "oops", "text/plain"), OutcomeUnknownError),
        ((502, "<html>", "text/html"), OutcomeUnknownError),
        ((503, "later", "text/plain"), OutcomeUnknownError),
        ((200, '{"ok": false, "error": "fatal_error"}', "application/json"), OutcomeUnknownError),
        ((200, '{"ok": false, "error": "service_unavailable"}', "application/json"), OutcomeUnknownError),
        ((200, '{"ok": false, "error": "ratelimited"}', "application/json"), NotTakenError),
        ((200, '{"ok": false, "error": "invalid_auth"}', "application/json"), HeldError),
        ((200, '{"ok": false, "error": "invalid_blocks"}', "application/json"), RefusedError),
        ((200, '{"ok": false}', "application/json"), OutcomeUnknownError),
        ((200, "{", "application/json"), OutcomeUnknownError),
        ((200, '{"ok": true}', "application/json"), OutcomeUnknownError),
    ],
)
async def test_an_answer_says_whether_anything_was_done_and_is_asked_for_once(
    response: Any, expected: type[Exception]
) -> None:
    async with answering(response) as (url, calls):
        desk = MemoryDesk()
        handlers = slack_handlers(slack_client("xoxb-1", url), desk, desk, HandClock(), mocked=False)
        with pytest.raises(expected):
            await result_of(
                handlers["slack::post_message"],
                call("slack::post_message", "k", channel=CHANNEL, text="x", thread_of=None),
            )
        assert calls == ["/api/chat.postMessage"]


async def test_a_slack_that_cannot_be_reached_did_nothing() -> None:
    async with answering(None) as (url, _):
        pass
    desk = MemoryDesk()
    handlers = slack_handlers(slack_client("xoxb-1", url), desk, desk, HandClock(), mocked=False)
    with pytest.raises(TransientError):
        await result_of(handlers["slack::direct_message"], call("slack::direct_message", "k", user="U1", text="x"))


async def test_nothing_is_posted_into_an_archived_channel() -> None:
    async with staged(channels=[{**WORKSPACE["channels"][0], "is_archived": True}]) as stage:
        with pytest.raises(HeldError, match="is_archived"):
            await stage.post(ask())


MENDABLE = (
    *("not_in_channel", "channel_not_found", "is_archived", "invalid_auth", "token_revoked", "account_inactive"),
    *("missing_scope", "restricted_action", "ekm_access_denied", "team_access_not_granted", "not_authed"),
)


@pytest.mark.parametrize("code", MENDABLE)
async def test_what_somebody_can_mend_is_held_and_done_once_it_is_mended(stage: Stage, code: str) -> None:
    anna = await stage.person("U0ANNA")
    stage.faults.refuse("chat.postMessage", code)
    for _ in range(3):
        with pytest.raises(HeldError, match=code):
            await stage.post(ask())
    stage.faults.lift("chat.postMessage")
    await stage.post(ask())
    assert len(messages(await anna.see())) == 1


async def test_a_deleted_card_is_posted_again_with_the_next_change_while_it_is_open(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    first = await stage.desk.location("apr-1")
    assert first
    await _delete(stage, *first)
    stage.desk.approvals["apr-1"] = ask(revision=2)
    await asyncio.gather(stage.refresh(), stage.refresh())
    assert await stage.desk.location("apr-1") != first
    assert len(messages(await anna.see())) == 1
    assert (await the_card(anna, stage))["text"].startswith("Approval needed")


async def test_a_card_deleted_after_the_decision_stays_deleted(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    await _delete(stage, *stage.desk.cards["apr-1"][-1][:2])
    stage.desk.approvals["apr-1"] = ask(revision=2, status=ApprovalStatus.APPROVED)
    await stage.refresh()
    assert messages(await anna.see()) == []


async def test_word_for_the_thread_of_a_deleted_card_brings_the_card_back(stage: Stage) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    await _delete(stage, *stage.desk.cards["apr-1"][-1][:2])
    await stage.run("slack::post_message", "k", channel=CHANNEL, text="hello", thread_of="apr-1")
    card = await the_card(anna, stage)
    assert [reply["text"] for reply in card["replies"]] == ["hello"]


@pytest.mark.parametrize("code", ["cant_update_message", "edit_window_closed"])
async def test_a_card_that_cannot_be_edited_points_to_the_one_in_its_place(stage: Stage, code: str) -> None:
    anna = await stage.person("U0ANNA")
    await stage.post(ask())
    first = stage.desk.cards["apr-1"][-1][1]
    stage.faults.refuse("chat.update", code)
    stage.desk.approvals["apr-1"] = ask(revision=2)
    await asyncio.gather(stage.refresh(), stage.refresh())
    stage.faults.lift("chat.update")
    await stage.refresh()
    old = card_of(await anna.see(), first)
    present = await the_card(anna, stage)
    assert present["ts"] != first
    here = (await stage.raw.chat_getPermalink(channel=CHANNEL, message_ts=present["ts"]))["permalink"]
    assert {link for reply in old["replies"] for link in reply["links"]} == {here}
    assert len(messages(await anna.see())) == 3


async def test_what_is_said_of_a_request_names_it_as_its_card_does_and_leads_there(stage: Stage) -> None:
    title = 'Raise "the" limit of <ACME>'
    await stage.post(ask(declared=Declared(title=title)))
    until = "2026-03-02T17:00:00.000000Z"
    said = {"kind": "reminder", "run": {"title": "T", "reference": "R-1"}, "step": "filing", "groups": ["a"]}
    told = {**said, "until": until}
    await stage.run("slack::direct_message", "d", user="U0ANNA", said=told, card_of="apr-1")
    anna = await stage.person("U0ANNA")
    (message, *_) = messages(await anna.see())
    shown = "".join(node["v"] for node in nodes(message) if "v" in node)
    assert f"Still open: {json.dumps(title)} of T (R-1)." in shown
    assert "Open the card" in shown
    assert "filing" not in shown


async def _delete(stage: Stage, channel: str, ts: str) -> None:
    await stage.raw.chat_delete(channel=channel, ts=ts)


async def test_posts_wait_their_turn_and_what_slack_says_of_a_channel_holds_for_all_that_go_there() -> None:
    now, slept = 0.0, list[float]()

    async def sleep(seconds: float) -> None:
        nonlocal now
        slept.append(seconds)
        now += seconds

    pace = Pace(lambda: now, sleep)
    for _ in range(BURST + 3):
        await pace.turn("C1")
    assert slept == [1.0, 1.0, 1.0]
    await pace.turn("C2")
    assert len(slept) == 3
    pace.close("C1", 3.0)
    await pace.open("C1")
    assert slept[3:] == [3.0]
    pace.close("C1", 30.0)
    for attempt in (pace.open, pace.turn):
        with pytest.raises(TransientError) as caught:
            await attempt("C1")
        assert caught.value.retry_after == 30.0
    await pace.turn("C2")


async def test_a_limit_met_by_one_message_is_known_to_the_others(stage: Stage) -> None:
    stage.faults.throttle("chat.postMessage", retry_after=30)
    for key in ("1", "2", "3"):
        with pytest.raises(TransientError) as caught:
            await stage.run("slack::post_message", key, channel=CHANNEL, text="x", thread_of=None)
        assert caught.value.retry_after == pytest.approx(30, abs=2)
    assert stage.faults.calls["chat.postMessage"] == 1
