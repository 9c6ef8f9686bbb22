"""Interactivity over HTTP: signed, acknowledged within three seconds, answered through response_url."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import Clock as SlackClock
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from runtime.clock import utc_now
from sandbox.harness import EXAMPLE, HandClock, SandboxError, SandboxUser, served
from sandbox.server import create_app
from sandbox.workspace import Workspace, load_workspace

WORKSPACE = load_workspace(EXAMPLE)
ROOM = "C0APPROVALS"
Json = dict[str, Any]


class Verifying(SlackClock):
    """slack_sdk's clock, moved with ours."""

    def __init__(self, clock: HandClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock().timestamp()


class Desk:
    """An app behind a request URL: keeps raw requests, answers what the test says."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.answer: Callable[[], web.Response] = web.Response
        self.slow = False
        self.url = ""

    async def receive(self, request: web.Request) -> web.Response:
        self.requests.append((dict(request.headers), await request.read()))
        if self.slow:
            await self.clock.sleep(60)
        return self.answer()

    @property
    def form(self) -> Json:
        """Return the last form."""
        return {name: values[0] for name, values in parse_qs(self.requests[-1][1].decode()).items()}

    @property
    def payload(self) -> Json:
        """Return the last interaction's payload."""
        found: Json = json.loads(self.form["payload"])
        return found

    @property
    def web(self) -> AsyncWebClient:
        return AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{self.url}/api/", retry_handlers=[])


def at(request_url: str) -> Workspace:
    return WORKSPACE.model_copy(update={"app": WORKSPACE.app.model_copy(update={"request_url": request_url})})


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    clock = HandClock()
    desk = Desk(clock)
    app = web.Application()
    app.router.add_post("/slack/events", desk.receive)
    async with served(app) as address:
        workspace = at(f"{address}/slack/events")
        async with served(create_app(workspace, clock=clock, sleep=clock.sleep)) as url:
            desk.url = url
            button = {"type": "button", "action_id": "go", "value": "a1", "text": {"type": "plain_text", "text": "Go"}}
            blocks = [{"type": "actions", "block_id": "b", "elements": [button]}]
            await desk.web.chat_postMessage(channel=ROOM, text="card", blocks=blocks)
            yield desk
        clock.advance(100)


@pytest.fixture
async def anna(desk: Desk) -> AsyncIterator[SandboxUser]:
    async with SandboxUser(desk.url, "U0ANNA") as user:
        yield user


async def press(user: SandboxUser, **how: Any) -> Json:
    return await user.click(await user.find_card(lambda message: message["text"] == "card"), "go", **how)


async def test_a_callback_is_signed_as_slack_signs(desk: Desk, anna: SandboxUser) -> None:
    result = await press(anna)
    assert result["ack"] == {"transport": "http", "status": 200, "timed_out": False, "error": None}
    headers, body = desk.requests[-1]
    verifier = SignatureVerifier(WORKSPACE.app.signing_secret, Verifying(desk.clock))
    assert verifier.is_valid_request(body, headers)
    assert not verifier.is_valid_request(body + b"x", headers)
    desk.clock.advance(301)
    assert not verifier.is_valid_request(body, headers)


async def test_a_click_has_the_documented_shape(desk: Desk, anna: SandboxUser) -> None:
    await press(anna)
    payload = desk.payload
    card = (await desk.web.conversations_history(channel=ROOM))["messages"][0]
    assert payload["type"] == "block_actions"
    assert payload["user"] == {"id": "U0ANNA", "username": "anna", "name": "anna", "team_id": "T0HOST"}
    assert payload["team"] == {"id": "T0HOST", "domain": "meridian"}
    assert payload["api_app_id"] == WORKSPACE.app.id
    assert payload["channel"] == {"id": ROOM, "name": "approvals"}
    assert payload["message"] == card
    assert (payload["enterprise"], payload["is_enterprise_install"], payload["state"]) == (None, False, {"values": {}})
    container = {"type": "message", "message_ts": card["ts"], "channel_id": ROOM, "is_ephemeral": False}
    assert payload["container"] == container
    [action] = payload["actions"]
    known = {"action_id": "go", "block_id": "b", "type": "button", "value": "a1"}
    assert known.items() <= action.items()
    assert action["text"] == {"type": "plain_text", "text": "Go", "emoji": True}
    assert float(action["action_ts"]) > float(card["ts"])


async def test_a_slack_connect_click_names_the_hosts_team_and_the_users_own(desk: Desk) -> None:
    async with SandboxUser(desk.url, "U0EXT") as eve:
        await press(eve)
    assert (desk.payload["team"]["id"], desk.payload["user"]["team_id"]) == ("T0HOST", "T0OTHER")


async def test_repeated_deliveries_are_the_very_same_request(desk: Desk, anna: SandboxUser) -> None:
    await press(anna, deliveries=5)
    assert len(desk.requests) == 5
    assert len({body for _, body in desk.requests}) == 1


async def test_an_app_that_takes_more_than_three_seconds_timed_out(desk: Desk, anna: SandboxUser) -> None:
    desk.slow = True

    async def impatient() -> None:
        await desk.clock.armed(60)
        desk.clock.advance(3)

    result, _ = await asyncio.gather(press(anna), impatient())
    assert result["ack"] == {"transport": "http", "status": None, "timed_out": True, "error": "operation_timeout"}
    assert (await anna.see())["warnings"][-1]["code"] == "operation_timeout"


async def test_an_app_that_fails_is_a_warning_to_the_person(desk: Desk, anna: SandboxUser) -> None:
    desk.answer = lambda: web.Response(status=500)
    result = await press(anna)
    assert (result["ok"], result["ack"]["status"]) == (False, 500)
    assert (await anna.see())["warnings"][-1]["code"] == "http_service_error"


async def test_an_app_that_is_not_there_is_a_warning_to_the_person() -> None:
    async with (
        served(create_app(at("http://127.0.0.1:9/nobody"), clock=utc_now, sleep=asyncio.sleep)) as url,
        SandboxUser(url, "U0ANNA") as anna,
    ):
        result = await anna.open_home()
        assert result["ack"]["error"] == "dispatch_failed"
        assert (await anna.see())["warnings"][-1]["code"] == "dispatch_failed"


async def test_a_failed_submission_keeps_the_modal_open(desk: Desk, anna: SandboxUser) -> None:
    await press(anna)
    block = {
        "type": "input",
        "block_id": "why",
        "label": {"type": "plain_text", "text": "Why"},
        "element": {"type": "plain_text_input", "action_id": "reason"},
    }
    title = {"type": "plain_text", "text": "Reject"}
    view = {"type": "modal", "title": title, "submit": title, "blocks": [block]}
    await desk.web.views_open(trigger_id=desk.payload["trigger_id"], view=view)
    desk.answer = lambda: web.Response(status=500)
    assert (await anna.submit({"reason": "x"}))["errors"] == {"": "We had some trouble connecting. Try again?"}
    desk.answer = lambda: web.json_response({"response_action": "errors", "errors": {"why": "Longer."}})
    assert (await anna.submit({"reason": "x"}))["errors"] == {"why": "Longer."}


async def test_the_request_url_must_repeat_a_challenge(desk: Desk) -> None:
    def repeat() -> web.Response:
        return web.json_response({"challenge": json.loads(desk.requests[-1][1])["challenge"]})

    verdicts: list[bool] = []
    async with aiohttp.ClientSession() as session:
        for answer in (repeat, web.Response):
            desk.answer = answer
            async with session.post(f"{desk.url}/sandbox/verify-url") as response:
                verdicts.append((await response.json())["ok"])
    assert verdicts == [True, False]
    assert json.loads(desk.requests[-1][1])["type"] == "url_verification"


async def test_an_event_comes_as_signed_json(desk: Desk, anna: SandboxUser) -> None:
    await anna.open_home()
    headers, body = desk.requests[-1]
    event = json.loads(body)
    assert headers["Content-Type"] == "application/json"
    assert (event["type"], event["team_id"], event["event"]["type"]) == ("event_callback", "T0HOST", "app_home_opened")
    assert SignatureVerifier(WORKSPACE.app.signing_secret, Verifying(desk.clock)).is_valid_request(body, headers)


async def test_a_command_comes_as_a_form_and_its_answer_is_private(desk: Desk, anna: SandboxUser) -> None:
    desk.answer = lambda: web.Response(text="2 approvals wait for you")
    await anna.command(ROOM, "/countersign pending now")
    form = desk.form
    expected = {"command": "/countersign", "text": "pending now", "user_id": "U0ANNA", "channel_id": ROOM}
    assert expected.items() <= form.items()
    reply = await anna.find_card(lambda message: "2 approvals" in message["text"])
    assert reply["is_ephemeral"] is True
    async with SandboxUser(desk.url, "U0BORIS") as boris:
        assert "2 approvals" not in json.dumps(await boris.see())


async def test_a_command_may_answer_the_whole_channel(desk: Desk, anna: SandboxUser) -> None:
    desk.answer = lambda: web.json_response({"response_type": "in_channel", "text": "for all"})
    await anna.command(ROOM, "/countersign")
    assert (await desk.web.conversations_history(channel=ROOM))["messages"][0]["text"] == "for all"
    desk.answer = lambda: web.json_response({"blocks": [{"type": "video"}]})
    await anna.command(ROOM, "/countersign")
    assert (await anna.see())["warnings"][-1]["code"] == "invalid_blocks"


async def test_a_command_nobody_registered_or_may_use_does_not_reach_the_app(desk: Desk, anna: SandboxUser) -> None:
    with pytest.raises(SandboxError, match="not a valid command"):
        await anna.command(ROOM, "/other")
    async with SandboxUser(desk.url, "U0EXT") as eve:
        with pytest.raises(SandboxError, match="other organisations"):
            await eve.command(ROOM, "/countersign")
    assert desk.requests == []


async def test_a_shortcut_comes_as_a_payload_with_a_trigger_that_opens_one_view(desk: Desk, anna: SandboxUser) -> None:
    await anna.shortcut("countersign_new_request")
    payload = desk.payload
    expected = {"type": "shortcut", "callback_id": "countersign_new_request"}
    assert expected.items() <= payload.items()
    assert payload["user"]["id"] == "U0ANNA"
    assert not {"channel", "response_url", "view"} & payload.keys()
    text = {"type": "plain_text", "text": "x"}
    view = {"type": "modal", "title": text, "blocks": [{"type": "section", "text": text}]}
    await desk.web.views_open(trigger_id=payload["trigger_id"], view=view)
    with pytest.raises(SlackApiError, match="exchanged_trigger_id"):
        await desk.web.views_open(trigger_id=payload["trigger_id"], view=view)


async def test_a_shortcut_nobody_registered_or_may_use_does_not_reach_the_app(desk: Desk, anna: SandboxUser) -> None:
    with pytest.raises(SandboxError, match="no shortcut"):
        await anna.shortcut("other")
    async with SandboxUser(desk.url, "U0EXT") as eve:
        with pytest.raises(SandboxError, match="other organisations"):
            await eve.shortcut("countersign_new_request")
    assert desk.requests == []


async def test_a_response_url_edits_the_original_and_whispers(desk: Desk, anna: SandboxUser) -> None:
    await press(anna)
    hook = AsyncWebhookClient(desk.payload["response_url"])
    assert (await hook.send(text="psst")).body == "ok"
    assert (await anna.find_card(lambda message: message["text"] == "psst"))["is_ephemeral"] is True
    await hook.send(text="edited", replace_original=True, blocks=[])
    assert (await desk.web.conversations_history(channel=ROOM))["messages"][0]["text"] == "edited"
    assert (await hook.send(text="loud", response_type="in_channel")).status_code == 200
    await hook.send(delete_original=True)
    texts = [message["text"] for message in (await desk.web.conversations_history(channel=ROOM))["messages"]]
    assert texts == ["loud"]
    assert json.loads((await hook.send(text="x", replace_original=True)).body)["error"] == "message_not_found"


async def test_a_response_url_works_five_times(desk: Desk, anna: SandboxUser) -> None:
    await press(anna)
    hook = AsyncWebhookClient(desk.payload["response_url"])
    assert [(await hook.send(text="x")).status_code for _ in range(6)] == [200] * 5 + [404]
    assert json.loads((await hook.send(text="x")).body)["error"] == "used_url"


async def test_a_response_url_works_for_thirty_minutes(desk: Desk, anna: SandboxUser) -> None:
    await press(anna)
    hook = AsyncWebhookClient(desk.payload["response_url"])
    desk.clock.advance(30 * 60)
    assert (await hook.send(text="x")).status_code == 200
    desk.clock.advance(1)
    assert json.loads((await hook.send(text="x")).body)["error"] == "expired_url"


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"blocks": "no"}', b"{}"])
async def test_a_response_that_is_no_message_is_refused(desk: Desk, anna: SandboxUser, body: bytes) -> None:
    await press(anna)
    async with aiohttp.ClientSession() as session, session.post(desk.payload["response_url"], data=body) as answer:
        assert answer.status == 400


async def test_a_private_message_can_be_clicked_and_replaced_by_its_reader_only(desk: Desk, anna: SandboxUser) -> None:
    button = {"type": "button", "action_id": "ok", "text": {"type": "plain_text", "text": "OK"}}
    blocks = [{"type": "actions", "elements": [button]}]
    await desk.web.chat_postEphemeral(channel=ROOM, user="U0ANNA", text="for you", blocks=blocks)
    message = await anna.find_card(lambda one: one["text"] == "for you")
    async with SandboxUser(desk.url, "U0BORIS") as boris:
        with pytest.raises(SandboxError, match="no message"):
            await boris.click(message, "ok")
    await anna.click(message, "ok")
    assert desk.payload["container"]["is_ephemeral"] is True
    assert "message" not in desk.payload
    hook = AsyncWebhookClient(desk.payload["response_url"])
    await hook.send(text="done", replace_original=True, blocks=[])
    assert (await anna.find_card(lambda one: one["ts"] == message["ts"]))["text"] == "done"
    await hook.send(delete_original=True)
    assert message["ts"] not in json.dumps(await anna.see())
