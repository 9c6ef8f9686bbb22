"""Slack as a connector: what is posted once is found again, edited in place, and data stays data."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from bot.client import slack_client
from bot.connector import slack_handlers
from bot.posts import BURST, Pace
from countersign.embedded.opa import OpaChild
from runtime.handlers import (
    BlockedError,
    Done,
    Handler,
    NotTakenError,
    OutcomeUnknownError,
    RefusedError,
    TransientError,
    Untouched,
)
from runtime.services.cards import StoredCards
from sandbox.harness import messages, served
from sandbox.slack_errors import Limits
from tests.bench import PUBLIC_URL
from tests.databases import fresh_database
from tests.functions import result_of
from tests.integration.bot_stage import call, plain, run, staged, the_card, without
from tests.integration.chat_stage import CHANNEL, UNLIMITED, Chat, Slack
from tests.integration.seen import card_of

EVIL = "<!channel> <https://evil.example|ok> *bold* :tada: `x`\n> \u202eeno\u200b"


def words(text: str) -> dict[str, Any]:
    """Return what a message says that has these words."""
    return {"kind": "plain", "text": text}


@pytest.fixture
async def chat(dsn: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with staged(dsn, opa) as running:
        yield running


@pytest.fixture(scope="module")
async def shared(postgres: str, opa: OpaChild) -> AsyncIterator[Chat]:
    """Give what tests share in which nothing is posted that another looks at."""
    async with fresh_database(postgres) as dsn, staged(dsn, opa) as running:
        yield running


def over(chat: Chat, url: str, *, mocked: bool = False) -> dict[str, Handler]:
    """Return the chat's handlers for a Slack at this address."""
    bench = chat.bench
    return slack_handlers(
        slack_client("xoxb-bot", url), bench.desk, StoredCards(bench.engine), bench.clock, mocked=mocked
    )


async def refresh(chat: Chat, approval_id: str) -> Any:
    view = await chat.bench.desk.approval(approval_id)
    assert view
    return await run(chat, "slack::update_card", approval_id=approval_id, revision=view.revision)


async def location(chat: Chat, approval_id: str) -> tuple[str, str]:
    found = await StoredCards(chat.bench.engine).location(approval_id)
    assert found
    return found


async def test_a_card_is_posted_once_with_its_key_and_remembered_as_shown(chat: Chat) -> None:
    approval = await plain(chat)
    assert await run(chat, "slack::post_card", "k-1", approval_id=approval, channel=CHANNEL)
    [message] = (await chat.raw.conversations_history(channel=CHANNEL, include_all_metadata=True))["messages"]
    assert (CHANNEL, message["ts"]) == await location(chat, approval)
    assert message["metadata"]["event_type"] == "countersign_card"
    assert message["metadata"]["event_payload"]["approval_id"] == approval
    assert message["metadata"]["event_payload"]["key"] == f"slack:card:{approval}"
    [kept] = await chat.bench.rows("SELECT cards FROM approvals WHERE approval_id = %s", approval)
    assert message["text"] in str(kept["cards"])


async def test_a_review_is_posted_with_whatever_else_its_verb_was_given(chat: Chat) -> None:
    approval = await chat.file("1", "bench.review", case="C1")
    await chat.bench.meddle("UPDATE approvals SET channel = NULL, card_ts = NULL")
    place = await run(chat, "slack::post_task", approval_id=approval, channel=CHANNEL, question="Complete?")
    assert place["channel"] == CHANNEL


async def test_a_card_posted_without_an_answer_is_found_and_remembered(chat: Chat) -> None:
    chat.faults.refuse("chat.postMessage", "not_in_channel")
    approval = await plain(chat)
    chat.faults.lift("chat.postMessage")
    posted = call("slack::post_card", "k-1", approval_id=approval, channel=CHANNEL)
    handler = chat.bench.engine.handlers["slack::post_card"]
    async with without(chat, "leaf_sets"):
        with pytest.raises(Exception, match="leaf_sets"):
            await handler.run(posted)
    assert handler.reconcile
    found = await handler.reconcile(posted)
    assert isinstance(found, Done)
    assert await location(chat, approval) == (found.result["channel"], found.result["ts"])
    assert await handler.reconcile(replace(posted, key="k-2")) == Untouched()


async def test_a_message_posted_without_an_answer_is_found_anywhere(chat: Chat) -> None:
    approval = await plain(chat)
    for operation, params in (
        ("slack::post_message", {"channel": CHANNEL, "said": words("hello"), "thread_of": None}),
        ("slack::post_message", {"channel": CHANNEL, "said": words("hello"), "thread_of": approval}),
        ("slack::direct_message", {"user": "UCAT", "said": words("hello")}),
    ):
        made = call(operation, f"k-{operation}-{params.get('thread_of')}", **params)
        handler = chat.bench.engine.handlers[operation]
        assert handler.reconcile
        assert await handler.reconcile(made) == Untouched()
        place = await result_of(handler, made)
        assert await handler.reconcile(made) == Done(place)


async def test_a_message_is_found_on_a_later_page(dsn: str, opa: OpaChild) -> None:
    fast = replace(UNLIMITED, channel_per_second=10_000)
    async with staged(dsn, opa, Slack(limits=fast)) as chat:
        made = call("slack::post_message", "first", channel=CHANNEL, said=words("first"), thread_of=None)
        handler = chat.bench.engine.handlers["slack::post_message"]
        place = await result_of(handler, made)
        for n in range(210):
            await chat.raw.chat_postMessage(channel=CHANNEL, text=str(n))
        assert handler.reconcile
        assert await handler.reconcile(made) == Done(place)


async def test_a_card_follows_the_newest_truth_whoever_writes_last(chat: Chat) -> None:
    ann = await chat.person("ann")
    approval = await plain(chat)
    await chat.bench.click("ann", approval)
    first = asyncio.create_task(refresh(chat, approval))
    await chat.bench.click("ben", approval)
    await asyncio.gather(first, refresh(chat, approval), refresh(chat, approval))
    assert (await the_card(ann))["text"].startswith("Approved:")


async def test_what_was_not_posted_cannot_be_edited_and_is_nothing_to_edit_once_its_request_has_ended(
    chat: Chat,
) -> None:
    chat.faults.refuse("chat.postMessage", "not_in_channel")
    approval = await plain(chat)
    with pytest.raises(TransientError, match="not posted"):
        await refresh(chat, approval)
    copy: dict[str, Any] = {"approval_id": approval, "revision": 2, "copy_at": "UANN"}
    with pytest.raises(TransientError, match="not posted"):
        await run(chat, "slack::update_card", **copy)
    await chat.bench.click("ann", approval, "reject")
    assert await run(chat, "slack::update_card", **copy) == {"is_shown": False}


async def test_hostile_text_is_data_everywhere(chat: Chat) -> None:
    await chat.bench.meddle("UPDATE actors SET name = %s WHERE actor_id = 'rita'", EVIL)
    for number, text in enumerate([EVIL, EVIL * 400, "Ω" * 10_000, "\u202e" * 10_000]):
        approval = await chat.file(str(number), "bench.file", company="<!channel> *A* :tada:", text=text)
        await run(chat, "slack::post_message", f"m{number}", channel=CHANNEL, said=words(text), thread_of=approval)
        await run(chat, "slack::direct_message", f"d{number}", user="UANN", said=words(text))
    seen = messages(await (await chat.person("ann")).see())
    assert len(seen) == 3 * 4
    for message in seen:
        assert set(message["mentions"]) <= {"UANN", "UBEN", "UCAT"}
        assert [link for link in message["links"] if not link.startswith(PUBLIC_URL)] == message["unfurls"] == []
        assert '"emoji"' not in json.dumps([node for node in nodes(message) if node["t"] not in ("text", "user")])


def nodes(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [one for member in value for one in nodes(member)]
    if not isinstance(value, dict):
        return []
    return [*([value] if "t" in value else []), *(one for member in value.values() for one in nodes(member))]


async def test_a_message_says_first_of_all_that_it_is_of_a_run_on_mocks_and_how_much_is_left_out(chat: Chat) -> None:
    ann = await chat.person("ann")
    on_mocks = over(chat, chat.raw.base_url, mocked=True)
    direct = "slack::direct_message"
    await result_of(on_mocks[direct], call(direct, "m", user="UANN", said=words("it ended")))
    await run(chat, direct, "d", user="UANN", said=words("x" * 30_000))
    [long, mocked] = messages(await ann.see())
    assert mocked["text"] == mocked["blocks"][0]["text"]["text"] == "On mocks: it ended"
    assert long["blocks"][-1]["text"]["text"] == "… 20,000 more characters"


@pytest.mark.parametrize(
    ("operation", "params", "words"),
    [
        ("slack::post_card", {"approval_id": "apr-9", "channel": CHANNEL}, "no approval"),
        ("slack::post_card", {"approval_id": "apr-1"}, "params.channel: Field required"),
        ("slack::post_card", {"approval_id": "apr-1", "channel": CHANNEL, "as": "x"}, "params.as: Extra"),
        ("slack::update_card", {"approval_id": "apr-1", "revision": "2"}, "params.revision"),
        ("slack::direct_message", {"user": "UGONE", "said": words("x")}, "user_disabled"),
        ("slack::direct_message", {"user": "UROBOT", "said": words("x")}, "cannot_dm_bot"),
    ],
)
async def test_a_refusal_that_nobody_can_mend_is_final_and_named(
    shared: Chat, operation: str, params: dict[str, Any], words: str
) -> None:
    with pytest.raises(RefusedError, match=words.replace(".", r"\.")):
        await run(shared, operation, "k", **params)


async def test_too_many_posts_are_tried_again_when_slack_says(dsn: str, opa: OpaChild) -> None:
    async with staged(dsn, opa, Slack(limits=Limits(channel_burst=1))) as chat:
        await run(chat, "slack::post_message", "1", channel=CHANNEL, said=words("x"), thread_of=None)
        with pytest.raises(TransientError) as caught:
            await run(chat, "slack::post_message", "2", channel=CHANNEL, said=words("x"), thread_of=None)
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
        ((200, '{"ok": false, "error": "invalid_auth"}', "application/json"), BlockedError),
        ((200, '{"ok": false, "error": "invalid_blocks"}', "application/json"), RefusedError),
        ((200, '{"ok": false}', "application/json"), OutcomeUnknownError),
        ((200, "{", "application/json"), OutcomeUnknownError),
        ((200, '{"ok": true}', "application/json"), OutcomeUnknownError),
    ],
)
async def test_an_answer_says_whether_anything_was_done_and_is_asked_for_once(
    shared: Chat, response: Any, expected: type[Exception]
) -> None:
    async with answering(response) as (url, calls):
        posting = over(shared, url)["slack::post_message"]
        with pytest.raises(expected):
            await result_of(posting, call("slack::post_message", "k", channel=CHANNEL, said=words("x"), thread_of=None))
        assert calls == ["/api/chat.postMessage"]


async def test_a_slack_that_cannot_be_reached_did_nothing(shared: Chat) -> None:
    direct = "slack::direct_message"
    async with answering(None) as (url, _):
        pass
    with pytest.raises(TransientError):
        await result_of(over(shared, url)[direct], call(direct, "k", user="U1", said=words("x")))


async def test_nothing_is_posted_into_an_archived_channel(chat: Chat) -> None:
    await (await chat.person("ann")).change_channel(CHANNEL, "archive")
    with pytest.raises(BlockedError, match="is_archived"):
        await run(chat, "slack::post_message", "k", channel=CHANNEL, said=words("x"), thread_of=None)


async def test_a_deleted_card_is_posted_again_with_the_next_change_while_it_is_open(chat: Chat) -> None:
    ann = await chat.person("ann")
    approval = await plain(chat)
    first = await location(chat, approval)
    await _delete(chat, first)
    await chat.bench.click("ann", approval)
    await asyncio.gather(refresh(chat, approval), refresh(chat, approval))
    assert await location(chat, approval) != first
    assert len(await chat.cards()) == 1
    assert (await the_card(ann))["text"].startswith("Approval needed")


async def test_a_card_deleted_before_the_decision_stays_deleted(chat: Chat) -> None:
    approval = await plain(chat)
    await _delete(chat, await location(chat, approval))
    for name in ("ann", "ben"):
        await chat.bench.click(name, approval)
    await refresh(chat, approval)
    assert await chat.cards() == []


async def test_word_for_the_thread_of_a_deleted_card_brings_the_card_back(chat: Chat) -> None:
    ann = await chat.person("ann")
    approval = await plain(chat)
    await _delete(chat, await location(chat, approval))
    await run(chat, "slack::post_message", "k", channel=CHANNEL, said=words("hello"), thread_of=approval)
    card = await the_card(ann)
    assert [reply["text"] for reply in card["replies"]] == ["hello"]


@pytest.mark.parametrize("code", ["cant_update_message", "edit_window_closed"])
async def test_a_card_that_cannot_be_edited_points_to_the_one_in_its_place(chat: Chat, code: str) -> None:
    ann = await chat.person("ann")
    approval = await plain(chat)
    _, first = await location(chat, approval)
    await chat.bench.click("ann", approval)
    chat.faults.refuse("chat.update", code)
    chat.faults.hold("chat.update")
    both = asyncio.gather(refresh(chat, approval), refresh(chat, approval))
    await chat.faults.called("chat.update", chat.faults.calls["chat.update"] + 2)  # both have the old card in hand
    chat.faults.lift("chat.update")
    await both
    await refresh(chat, approval)
    _, present = await location(chat, approval)
    assert present != first
    here = (await chat.raw.chat_getPermalink(channel=CHANNEL, message_ts=present))["permalink"]
    old = card_of(await ann.see(), first)
    assert {link for reply in old["replies"] for link in reply["links"]} == {here}
    assert len(await chat.cards()) == 2


async def test_what_is_said_of_a_request_names_it_as_its_card_does_and_leads_there(chat: Chat) -> None:
    title = 'Raise "the" limit of <ACME>'
    approval = await plain(chat)
    await chat.bench.meddle("UPDATE approvals SET shown = %s", json.dumps({"title": title}))
    until = "2026-03-02T17:00:00.000000Z"
    said = {"kind": "reminder", "run": {"title": "T", "reference": "R-1"}, "step": "filing", "groups": ["a"]}
    told = {**said, "until": until}
    await run(chat, "slack::direct_message", "d", user="UANN", said=told, card_of=approval)
    (message, *_) = messages(await (await chat.person("ann")).see())
    shown = "".join(node["v"] for node in nodes(message) if "v" in node)
    assert f"Still open: {json.dumps(title)} of T (R-1)." in shown
    assert "Open the card" in shown
    assert "filing" not in shown


async def _delete(chat: Chat, place: tuple[str, str]) -> None:
    await chat.raw.chat_delete(channel=place[0], ts=place[1])


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


async def test_a_limit_met_by_one_message_is_known_to_the_others(chat: Chat) -> None:
    chat.faults.throttle("chat.postMessage", retry_after=30)
    for key in ("1", "2", "3"):
        with pytest.raises(TransientError) as caught:
            await run(chat, "slack::post_message", key, channel=CHANNEL, said=words("x"), thread_of=None)
        assert caught.value.retry_after == pytest.approx(30, abs=2)
    assert chat.faults.calls["chat.postMessage"] == 1
