"""The sandbox's Socket Mode, and the sandbox as a program.

Socket Mode, spoken with slack_sdk's client and with bare WebSockets.

The sandbox as a program of its own: it says where it is, refuses bad files, and survives being killed.
"""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient

from sandbox.delivery import LIFETIME_SECONDS, WARNING_SECONDS
from sandbox.harness import EXAMPLE, HandClock, SandboxUser, served
from sandbox.server import create_app
from sandbox.workspace import load_workspace
from tests.patience import MINUTE

WORKSPACE = load_workspace(EXAMPLE)
ROOM = "C0APPROVALS"
Json = dict[str, Any]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def url(clock: HandClock) -> AsyncIterator[str]:
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep)) as address:
        yield address


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as one:
        yield one


@pytest.fixture
async def anna(url: str) -> AsyncIterator[SandboxUser]:
    async with SandboxUser(url, "U0ANNA") as user:
        yield user


def slack(url: str) -> AsyncWebClient:
    return AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{url}/api/", retry_handlers=[])


async def address(url: str) -> str:
    """Return a fresh WebSocket address."""
    found: str = (await slack(url).apps_connections_open(app_token=WORKSPACE.app.app_token))["url"]
    return found


async def test_slack_sdk_receives_and_acknowledges_every_kind(url: str, anna: SandboxUser) -> None:
    kinds: list[str] = []

    async def listen(client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        kinds.append(request.type)
        reply = {"text": "only you"} if request.type == "slash_commands" else None
        await client.send_socket_mode_response(SocketModeResponse(request.envelope_id, reply))

    client = SocketModeClient(app_token=WORKSPACE.app.app_token, web_client=slack(url))
    client.socket_mode_request_listeners.append(listen)
    await client.connect()  # type: ignore[no-untyped-call]  # slack_sdk leaves it unannotated
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    blocks = [{"type": "actions", "elements": [button]}]
    await slack(url).chat_postMessage(channel=ROOM, text="card", blocks=blocks)
    results = [
        await anna.click(await anna.find_card(lambda message: message["text"] == "card"), "go"),
        await anna.open_home(),
        await anna.command(ROOM, "/countersign help"),
    ]
    await client.close()  # type: ignore[no-untyped-call]  # slack_sdk leaves it unannotated
    assert kinds == ["interactive", "events_api", "slash_commands"]
    assert [result["ack"]["error"] for result in results] == [None, None, None]
    assert (await anna.find_card(lambda message: message["text"] == "only you"))["is_ephemeral"] is True


async def test_a_connection_is_greeted_and_its_ticket_works_once(url: str, session: aiohttp.ClientSession) -> None:
    ticket = await address(url)
    async with session.ws_connect(ticket) as socket:
        hello = await socket.receive_json()
        assert (hello["type"], hello["num_connections"]) == ("hello", 1)
        assert hello["connection_info"] == {"app_id": WORKSPACE.app.id}
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await session.ws_connect(ticket)
        assert caught.value.status == 403


async def test_an_envelope_without_an_acknowledgement_times_out(
    url: str, session: aiohttp.ClientSession, clock: HandClock, anna: SandboxUser
) -> None:
    async with session.ws_connect(await address(url)) as socket:
        await socket.receive_json()
        opening = asyncio.create_task(anna.open_home())
        envelope = await socket.receive_json()
        assert (envelope["type"], envelope["accepts_response_payload"]) == ("events_api", False)
        await socket.send_str("not json")
        await socket.send_json(["nor", "an", "object"])
        await socket.send_json({"envelope_id": "another"})
        await clock.armed(3)
        clock.advance(3)
        assert (await opening)["ack"]["error"] == "operation_timeout"
    assert (await anna.see())["warnings"][-1]["code"] == "operation_timeout"


async def test_without_a_connection_the_person_is_warned(anna: SandboxUser) -> None:
    assert (await anna.open_home())["ack"] == {
        "transport": "socket",
        "status": None,
        "timed_out": False,
        "error": "dispatch_failed",
    }


async def test_each_envelope_goes_to_one_connection_in_turn(
    url: str, session: aiohttp.ClientSession, anna: SandboxUser
) -> None:
    sockets = [await session.ws_connect(await address(url)) for _ in range(2)]
    for socket in sockets:
        await socket.receive_json()
    for socket in sockets:
        opening = asyncio.create_task(anna.open_home())
        envelope = await socket.receive_json()
        await socket.send_json({"envelope_id": envelope["envelope_id"]})
        assert (await opening)["ok"] is True
    for socket in sockets:
        await socket.close()


async def test_an_eleventh_connection_is_turned_away(
    url: str, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    sockets = [await session.ws_connect(await address(url)) for _ in range(10)]
    assert [(await socket.receive_json())["num_connections"] for socket in sockets] == list(range(1, 11))
    clock.advance(60)
    async with session.ws_connect(await address(url)) as socket:
        goodbye = await socket.receive_json()
        assert (goodbye["type"], goodbye["reason"]) == ("disconnect", "too_many_websockets")
    for socket in sockets:
        await socket.close()


async def test_a_connection_is_refreshed_after_an_hour(
    url: str, session: aiohttp.ClientSession, clock: HandClock
) -> None:
    async with session.ws_connect(await address(url)) as socket:
        await socket.receive_json()
        for wait, reason in ((LIFETIME_SECONDS, "warning"), (WARNING_SECONDS, "refresh_requested")):
            await clock.armed(wait)
            clock.advance(wait)
            goodbye = await socket.receive_json()
            assert (goodbye["type"], goodbye["reason"]) == ("disconnect", reason)
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE


async def test_a_workspace_that_closes_hangs_up(clock: HandClock, session: aiohttp.ClientSession) -> None:
    async with served(create_app(WORKSPACE, clock=clock, sleep=clock.sleep)) as url:
        socket = await session.ws_connect(await address(url))
        await socket.receive_json()
    assert (await socket.receive_json())["reason"] == "link_disabled"
    await socket.close()


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sandbox", "--port", "0", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def address_of(process: subprocess.Popen[str]) -> str:
    """Return where it listens, as it says itself."""
    assert process.stdout
    return process.stdout.readline().removeprefix("sandbox workspace on ").strip()


async def test_what_was_answered_is_there_after_kill_9(tmp_path: Path) -> None:
    options = ("--workspace", str(EXAMPLE), "--state", str(tmp_path / "state.json"))
    for expected in ([], ["kept"]):
        with start(*options) as process:
            client = AsyncWebClient(token=WORKSPACE.app.bot_token, base_url=f"{address_of(process)}/api/")
            history = await client.conversations_history(channel="C0APPROVALS")
            assert [message["text"] for message in history["messages"]] == expected
            await client.chat_postMessage(channel="C0APPROVALS", text="kept")
            process.kill()


def test_the_program_ends_cleanly_when_asked_to() -> None:
    with start("--workspace", str(EXAMPLE)) as process:
        assert address_of(process).startswith("http://127.0.0.1:")
        process.terminate()
        assert process.wait(timeout=MINUTE) == 0


@pytest.mark.parametrize("text", ["team: [", "team: {}"])
def test_a_bad_workspace_file_is_named_without_a_traceback(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with start("--workspace", str(path)) as process:
        _, errors = process.communicate(timeout=MINUTE)
    assert process.returncode == 1
    assert errors.startswith(str(path))
    assert "Traceback" not in errors
