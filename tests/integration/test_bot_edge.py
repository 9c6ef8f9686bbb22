"""The request URL: what is not authentic or not a payload is refused, never an error, and never logged."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from io import BytesIO
from urllib.parse import urlencode

import aiohttp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.cards.references import APPROVE
from bot.listeners.signature import MAX_BODY, sign
from tests.integration.bot_stage import SECRET, Stage, ask, staged, the_card, whispered

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
async def stage() -> AsyncIterator[Stage]:
    async with staged() as running:
        yield running


@pytest.fixture(scope="module")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def headers(stage: Stage, body: bytes, content_type: str = "application/json") -> dict[str, str]:
    stamp = str(int(stage.clock().timestamp()))
    signature = sign(SECRET, stamp.encode(), body).decode()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": signature, "Content-Type": content_type}


async def post(http: aiohttp.ClientSession, stage: Stage, body: bytes, given_headers: dict[str, str]) -> int:
    async with http.post(stage.bot_url, data=body, headers=given_headers) as response:
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
    stage: Stage, http: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture, change: dict[str, str]
) -> None:
    caplog.set_level(logging.DEBUG)
    body = urlencode({"payload": json.dumps({"type": "block_actions", "token": CANARY})}).encode()
    assert await post(http, stage, body, {**headers(stage, body), **change}) == 401
    assert CANARY not in caplog.text


async def test_a_request_without_a_signature_is_401(stage: Stage, http: aiohttp.ClientSession) -> None:
    assert await post(http, stage, b"{}", {}) == 401
    async with http.get(stage.bot_url) as response:
        assert response.status == 401


async def test_a_body_over_the_limit_is_413(stage: Stage, http: aiohttp.ClientSession) -> None:
    body = b"x" * (MAX_BODY + 1)
    async with http.post(stage.bot_url, data=BytesIO(body), headers=headers(stage, body)) as response:
        assert response.status == 413


async def test_the_url_is_verified(stage: Stage, http: aiohttp.ClientSession) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'
    async with http.post(stage.bot_url, data=body, headers=headers(stage, body)) as response:
        assert (response.status, await response.json()) == (200, {"challenge": "c-1"})


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'"x"', b"payload=5", b"payload={", b"payload=%22x%22", b"\xff\xfe", b"{" * 100_000, b"ssl=1"],
)
async def test_what_is_signed_but_no_payload_is_400(stage: Stage, http: aiohttp.ClientSession, body: bytes) -> None:
    assert await post(http, stage, body, headers(stage, body)) == 400


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JSON, st.sampled_from(["application/json", "application/x-www-form-urlencoded"]))
async def test_no_signed_body_is_an_error_of_ours(
    stage: Stage, http: aiohttp.ClientSession, value: object, kind: str
) -> None:
    text = json.dumps(value)
    body = (text if kind == "application/json" else urlencode({"payload": text})).encode()
    assert await post(http, stage, body, headers(stage, body, kind)) < 500


async def test_bolt_does_not_obey_headers_that_nobody_signed(stage: Stage, http: aiohttp.ClientSession) -> None:
    body = b'{"type": "url_verification", "challenge": "c-1"}'
    lazy = {"X-Slack-Bolt-Lazy-Only": "1", "X-Slack-Bolt-Lazy-Function-Name": "on_action"}
    assert await post(http, stage, body, {**headers(stage, body), **lazy}) == 200


async def test_an_event_that_asks_for_nothing_is_accepted(stage: Stage, http: aiohttp.ClientSession) -> None:
    body = json.dumps({"type": "event_callback", "team_id": "T0HOST", "event": {"type": "member_joined"}}).encode()
    assert await post(http, stage, body, headers(stage, body)) == 200


@pytest.mark.parametrize("transport", ["http", "socket"])
async def test_a_failure_logs_its_kind_and_nothing_of_the_payload(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with staged(transport=transport) as stage:
        anna = await stage.person("U0ANNA")
        await stage.post(ask(CANARY))
        stage.desk.down.add("record")
        click = asyncio.create_task(anna.click(await the_card(anna, stage, CANARY), APPROVE))
        await whispered(anna, "may not have been recorded")
        stage.clock.advance(4)
        await click
        stage.desk.down.clear()
        await anna.click(await the_card(anna, stage, CANARY), APPROVE)
        await stage.desk.settled()
    logged = [record for record in caplog.records if record.name.startswith(("bot", "slack"))]
    assert CANARY not in " ".join(record.getMessage() + str(record.exc_info) for record in logged)
    assert any("DatabaseDownError" in record.getMessage() for record in logged)
