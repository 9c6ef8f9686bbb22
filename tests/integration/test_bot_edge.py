"""The request URL: what is not authentic or not a payload is refused, never an error, and never logged."""

import copy
import json
import logging
from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import aiohttp
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bot.signature import MAX_BODY
from bot.views.references import APPROVE
from countersign.embedded.opa import OpaChild
from runtime.model.limits import Rate
from tests.bench import TEAM
from tests.databases import fresh_database
from tests.integration.bot_stage import headers_of, staged, the_card, votes, without
from tests.integration.chat_stage import APP, CHANNEL, Chat, Slack
from tests.integration.seen import whispered
from tests.patience import until

CANARY = "canary-3f9a"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["block_actions", "U1", "", "view_submission"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "user", "actions", "view", "id", "event", "team", "message"]), inner)
    ),
    max_leaves=8,
)


@pytest.fixture(scope="module")
async def chat(postgres: str, opa: OpaChild) -> AsyncIterator[Chat]:
    async with (
        fresh_database(postgres) as dsn,
        staged(dsn, opa, Slack(rate=Rate(per_second=1e6, burst=10**6))) as running,
    ):
        yield running


@pytest.fixture(scope="module")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def headers(chat: Chat, body: bytes, content_type: str = "application/json") -> dict[str, str]:
    return headers_of(chat, body, content_type)


async def post(http: aiohttp.ClientSession, chat: Chat, body: bytes, given_headers: dict[str, str]) -> int:
    async with http.post(chat.heard_at, data=body, headers=given_headers) as response:
        await response.read()
        return response.status


@pytest.mark.parametrize(
    "change",
    [
        {"X-Slack-Signature": "v0=0"},
        {"X-Slack-Signature": ""},
        {"X-Slack-Signature": "v0=ünïcode"},
        {"X-Slack-Request-Timestamp": "yesterday"},
        {"X-Slack-Request-Timestamp": "0"},
        {"X-Slack-Request-Timestamp": "99999999999"},
    ],
)
async def test_a_bad_signature_is_401_and_nothing_of_the_body_is_logged(
    chat: Chat, http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture, change: dict[str, str]
) -> None:
    caplog.set_level(logging.DEBUG)
    body = urlencode({"payload": json.dumps({"type": "block_actions", "token": CANARY})}).encode()
    assert await post(http, chat, body, {**headers(chat, body), **change}) == 401
    assert CANARY not in caplog.text


async def test_what_slack_sends_changes_the_level_of_no_log_but_that_of_its_own(
    chat: Chat, http: aiohttp.ClientSession
) -> None:
    before = logging.getLogger().level
    body = b'{"type": "url_verification", "challenge": "c-2"}'
    assert await post(http, chat, body, headers(chat, body)) == 200
    assert (logging.getLogger("countersign").level, logging.getLogger().level) == (logging.NOTSET, before)


async def test_a_request_without_a_signature_is_401(chat: Chat, http: aiohttp.ClientSession) -> None:
    assert await post(http, chat, b"{}", {}) == 401
    async with http.get(chat.heard_at) as response:
        assert response.status == 401


async def test_a_body_over_the_limit_is_413(chat: Chat, http: aiohttp.ClientSession) -> None:
    body = b"x" * (MAX_BODY + 1)
    async with http.post(chat.heard_at, data=BytesIO(body), headers=headers(chat, body)) as response:
        assert response.status == 413


async def test_the_url_is_verified(chat: Chat, http: aiohttp.ClientSession) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'
    async with http.post(chat.heard_at, data=body, headers=headers(chat, body)) as response:
        assert (response.status, await response.json()) == (200, {"challenge": "c-1"})


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b"payload=5", b"payload={", b"payload=%22x%22", b"\xff\xfe", b"{" * 100_000, b"ssl=1"],
)
async def test_what_is_signed_but_no_payload_is_400(chat: Chat, http: aiohttp.ClientSession, body: bytes) -> None:
    assert await post(http, chat, body, headers(chat, body)) == 400


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON, st.sampled_from(["application/json", "application/x-www-form-urlencoded"]))
async def test_no_signed_body_is_an_error_of_ours(
    chat: Chat, http: aiohttp.ClientSession, value: object, kind: str
) -> None:
    text = json.dumps(value)
    body = (text if kind == "application/json" else urlencode({"payload": text})).encode()
    assert await post(http, chat, body, headers(chat, body, kind)) < 500


BUTTON = {"action_id": "countersign_approve", "action_ts": "1.2", "value": "{}", "type": "button", "block_id": "b"}
USER = {"id": "UANN", "team_id": TEAM, "username": "ann"}
VIEW = {
    "id": "V1",
    "hash": "1.2",
    "type": "modal",
    "callback_id": "countersign_reason",
    "private_metadata": "{}",
    "state": {"values": {"reason": {"reason": {"type": "plain_text_input", "value": "Why not"}}}},
}
SENT: list[dict[str, Any]] = [
    {
        "type": "block_actions",
        "user": USER,
        "actions": [BUTTON],
        "trigger_id": "1.2.3",
        "response_url": "https://x",
        "team": {"id": TEAM},
        "channel": {"id": "C1"},
        "container": {"type": "message"},
        "message": {"ts": "1.2"},
    },
    {"type": "block_actions", "user": USER, "actions": [BUTTON], "trigger_id": "1.2.3", "view": VIEW},
    {"type": "view_submission", "user": USER, "view": VIEW, "team": {"id": TEAM}, "response_urls": []},
    {
        "type": "event_callback",
        "team_id": TEAM,
        "event_id": "Ev1",
        "authorizations": [{"team_id": TEAM}],
        "event": {"type": "app_home_opened", "user": "UANN", "tab": "home", "channel": "D1"},
    },
    {"type": "event_callback", "team_id": TEAM, "event": {"type": "message", "channel_type": "im", "message": {}}},
    {"type": "url_verification", "challenge": "c-1", "token": "t"},
]
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, "", "x", [], {}, [None], [[]], {"id": 5}, {"type": None}, 10**310, True, 1.5, "\x00"]
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every member, at every depth."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for name, member in inside for place in [(*path, name), *_places(member, (*path, name))]]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """Return what Slack sends, with a member left out, made odd or added."""
    body: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(SENT)))
    for _ in range(draw(st.integers(1, 3))):
        *parents, last = draw(st.sampled_from(_places(body)))
        inner: Any = body
        for name in parents:
            inner = inner[name]
        if isinstance(inner, dict) and draw(st.booleans()):
            inner.pop(last)
            if draw(st.booleans()):
                inner[draw(st.sampled_from(["type", "actions", "view", "event", "response_urls", "bot_id"]))] = draw(
                    ODD
                )
        else:
            inner[last] = copy.deepcopy(draw(ODD))
        if not body:
            break
    return body


@pytest.mark.parametrize("kind", ["application/json", "application/x-www-form-urlencoded"])
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=mutated())
@example(body={"type": "view_submission", "user": USER, "view": {k: v for k, v in VIEW.items() if k != "type"}})
@example(body={**SENT[0], "response_urls": 5})
@example(body={**SENT[3], "event": {**SENT[3]["event"], "bot_id": []}, "authorizations": 5})
async def test_odd_members_of_a_payload_are_ignored_or_refused_but_never_an_error_of_ours(
    chat: Chat, http: aiohttp.ClientSession, kind: str, body: dict[str, Any]
) -> None:
    text = json.dumps(body)
    raw = (text if kind == "application/json" else urlencode({"payload": text})).encode()
    assert await post(http, chat, raw, headers(chat, raw, kind)) in (200, 400)


async def test_what_is_refused_is_counted_and_that_slack_keeps_events_from_us_is_accepted_counted_and_logged(
    dsn: str, opa: OpaChild, http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    limited = {"type": "app_rate_limited", "team_id": TEAM, "minute_rate_limited": 1518467820, "api_app_id": "A1"}
    body = json.dumps(limited).encode()
    async with staged(dsn, opa) as fresh:
        for _ in range(5):
            assert await post(http, fresh, b"{}", headers(fresh, b"{}")) == 400
        assert await post(http, fresh, body, headers(fresh, body)) == 200
        assert fresh.bot.counts() == {"minutes of events kept by Slack": 1}
    said = [record.getMessage() for record in caplog.records if "were refused" in record.getMessage()]
    assert [line.partition(": ")[2] for line in said] == ["1 so far", "2 so far", "4 so far"]
    assert any("Slack has kept events from us" in message for message in caplog.messages)


async def test_an_odd_payload_over_the_socket_is_ignored_and_counted(
    dsn: str, opa: OpaChild, caplog: pytest.LogCaptureFixture
) -> None:
    app = {"app": {**APP, "commands": ["/other"]}}
    async with staged(dsn, opa, Slack(transport="socket", workspace=app)) as chat:
        ann = await chat.person("ann")
        assert not (await ann.command(CHANNEL, "/other help"))["ok"]
        await until(lambda: "were refused: 1 so far" in caplog.text)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_bolt_does_not_obey_headers_that_nobody_signed(chat: Chat, http: aiohttp.ClientSession) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'
    lazy = {"X-Slack-Bolt-Lazy-Only": "1", "X-Slack-Bolt-Lazy-Function-Name": "on_action"}
    assert await post(http, chat, body, {**headers(chat, body), **lazy}) == 200


async def test_slacks_look_at_the_certificate_is_answered(chat: Chat, http: aiohttp.ClientSession) -> None:
    body, form = b"ssl_check=1&token=abc", "application/x-www-form-urlencoded"
    assert await post(http, chat, body, headers(chat, body, form)) == 200


async def test_an_event_that_asks_for_nothing_is_accepted(chat: Chat, http: aiohttp.ClientSession) -> None:
    body = json.dumps({"type": "event_callback", "team_id": TEAM, "event": {"type": "member_joined"}}).encode()
    assert await post(http, chat, body, headers(chat, body)) == 200


@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_failure_logs_its_kind_and_nothing_of_the_payload(
    dsn: str, opa: OpaChild, transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with staged(dsn, opa, Slack(transport=transport)) as chat:
        ann = await chat.person("ann")
        await chat.file()
        await ann.click(await the_card(ann), APPROVE)
        await ann.find_modal()
        async with without(chat, "notifications"):
            assert "may not have been recorded" in str((await ann.submit({"reason": CANARY}))["errors"])
        async with without(chat, "approvals"):
            await ann.click(await the_card(ann), APPROVE)
            await whispered(ann, "may not have been recorded")
        await ann.submit({"reason": CANARY})
        await votes(chat, 1)
    logged = [record for record in caplog.records if record.name.startswith(("bot", "slack"))]
    assert CANARY not in " ".join(record.getMessage() + str(record.exc_info) for record in logged)
    failures = [record.getMessage() for record in logged if "UndefinedTable" in record.getMessage()]
    assert len(failures) == 2
