"""Harness for tests and demonstrations: runs a workspace, and acts in one as one person over HTTP.

The workspace runs on a loopback port, with a clock that only the test moves, and faults on demand.
"""

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

EXAMPLE = Path(__file__).with_name("example.yaml")
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


class HandClock:
    """A clock and its timers: time passes when `advance` is called, and not otherwise."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start
        self._order = 0
        self._timers: list[tuple[datetime, int, float, asyncio.Future[None]]] = []
        self._armed = asyncio.Event()

    def __call__(self) -> datetime:
        """Return the present moment."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been moved that far."""
        future = asyncio.get_running_loop().create_future()
        self._order += 1
        heapq.heappush(self._timers, (self._now + timedelta(seconds=seconds), self._order, seconds, future))
        self._armed.set()
        await future

    async def armed(self, seconds: float) -> None:
        """Wait until somebody sleeps for that long."""
        while not any(length == seconds and not future.done() for _, _, length, future in self._timers):
            self._armed.clear()
            await self._armed.wait()

    def advance(self, seconds: float) -> None:
        """Let time pass and wake everybody whose time has come."""
        self._now += timedelta(seconds=seconds)
        while self._timers and self._timers[0][0] <= self._now:
            future = heapq.heappop(self._timers)[3]
            if not future.done():
                future.set_result(None)


class Faults:
    """What goes wrong at the workspace's door until it is lifted, by method; ``link`` is the WebSocket's handshake."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self._answers: dict[str, Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]] = {}
        self._held: dict[str, asyncio.Event] = {}
        self._watchers: set[asyncio.Event] = set()

    def attach(self, app: web.Application) -> None:
        """Stand at the door of an application that is not served yet."""
        app.middlewares.append(self._door())

    def refuse(self, method: str, code: str) -> None:
        """Answer as Slack refuses: ok false, with a code."""
        self._answers[method] = lambda *_: _answered({"ok": False, "error": code}, 200, {})

    def throttle(self, method: str, retry_after: int) -> None:
        """Answer 429, as Slack does to who calls too often."""
        limit = {"Retry-After": str(retry_after)}
        self._answers[method] = lambda *_: _answered({"ok": False, "error": "ratelimited"}, 429, limit)

    def break_down(self, method: str) -> None:
        """Answer 503."""
        self._answers[method] = lambda *_: _answered({}, 503, {})

    def hold(self, method: str) -> None:
        """Let calls wait for their answer."""
        self._held[method] = asyncio.Event()

    def lose(self, method: str) -> None:
        """Carry out what is asked, and hang up without an answer."""
        self._answers[method] = _lose

    def lift(self, *methods: str) -> None:
        """Let all be well again with these methods; what waited is answered, as it was to be when it came."""
        for method in methods:
            self._answers.pop(method, None)
            held = self._held.pop(method, None)
            if held:
                held.set()

    async def called(self, method: str, times: int = 1) -> None:
        """Wait until a method has been called that often."""
        changed = asyncio.Event()
        self._watchers.add(changed)
        try:
            while self.calls[method] < times:
                changed.clear()
                await changed.wait()
        finally:
            self._watchers.discard(changed)

    def _door(self) -> Middleware:
        @web.middleware
        async def door(request: web.Request, handler: Handler) -> web.StreamResponse:
            method = request.match_info.get("method", request.path.strip("/"))
            self.calls[method] += 1
            for changed in self._watchers:
                changed.set()
            answer = self._answers.get(method)
            if method in self._held:
                await self._held[method].wait()
            return await (answer(request, handler) if answer else handler(request))

        return door


async def _answered(body: dict[str, object], status: int, headers: dict[str, str]) -> web.StreamResponse:
    return web.json_response(body, status=status, headers=headers)


async def _lose(request: web.Request, handler: Handler) -> web.StreamResponse:
    if request.transport:
        request.transport.close()
    return await handler(request)


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    """Serve an application on a free loopback port; gives its address, without a slash at the end."""
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


Json = dict[str, Any]
WAIT_SECONDS = 60.0


class SandboxError(Exception):
    """The sandbox refused an act, or what was waited for did not appear."""


class SandboxUser:
    """A person. Use as ``async with SandboxUser(url, "U1") as ann:``."""

    def __init__(self, base_url: str, user_id: str) -> None:
        self.user_id = user_id
        self._base = base_url.rstrip("/")
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None, connect=5))

    async def __aenter__(self) -> Self:
        """Arrive."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave."""
        await self.aclose()

    async def aclose(self) -> None:
        """Hang up."""
        await self._session.close()

    async def see(self) -> Json:
        """Return everything the person sees now."""
        async with self._session.get(f"{self._base}/sandbox/state", params={"user": self.user_id}) as response:
            return await _result(response)

    async def click(self, card: Json, action_id: str, **how: Any) -> Json:
        """Press a button on a card that `see` or `find_card` gave; confirms any dialog.

        `how` may be `confirmed`, `chosen` (an option's value or several), `deliveries` (repeat the same payload at
        once) and `editions_ago` (click the card as it looked that many edits before).
        """
        place = {"channel": card["channel"], "ts": card["ts"]}
        return await self._act("click", {**place, "action_id": action_id, "confirmed": True, **how})

    async def click_view(self, view: str, action_id: str, **how: Any) -> Json:
        """Press a button in the open ``modal`` or on the ``home``."""
        return await self._act("click", {"view": view, "action_id": action_id, "confirmed": True, **how})

    async def submit(self, values: Mapping[str, str | list[str]] | None = None) -> Json:
        """Submit the open modal; values go by ``block_id/action_id`` or ``action_id``."""
        return await self._act("submit", {"values": dict(values or {})})

    async def close_modal(self) -> Json:
        """Dismiss the open modal."""
        return await self._act("close", {})

    async def say(self, channel: str, text: str, thread_ts: str = "") -> Json:
        """Write a message."""
        return await self._act("say", {"channel": channel, "text": text, "thread_ts": thread_ts})

    async def write(self, text: str) -> Json:
        """Write without sending."""
        return await self._act("write", {"text": text})

    async def command(self, channel: str, text: str) -> Json:
        """Give a slash command, such as ``/countersign help``."""
        return await self._act("command", {"channel": channel, "text": text})

    async def shortcut(self, callback_id: str) -> Json:
        """Use a global shortcut of the app's."""
        return await self._act("shortcut", {"callback_id": callback_id})

    async def message_shortcut(self, card: Json, callback_id: str) -> Json:
        """Use a shortcut of the app's on a message that `see` or `find_card` gave."""
        place = {"channel": card["channel"], "ts": card["ts"]}
        return await self._act("message_shortcut", {**place, "callback_id": callback_id})

    async def uninstall(self) -> Json:
        """Take the app out of the workspace."""
        return await self._act("uninstall", {})

    async def change_channel(self, channel: str, change: str) -> Json:
        """Do to a channel what an admin may: archive, unarchive, remove_bot, invite_bot."""
        return await self._act("channel", {"channel": channel, "change": change})

    async def change_member(self, member: str, change: str) -> Json:
        """Deactivate, or activate, an account."""
        return await self._act("member", {"member": member, "change": change})

    async def regroup(self, usergroup: str) -> Json:
        """Come into a user group, or leave it."""
        return await self._act("regroup", {"usergroup": usergroup})

    async def open_home(self) -> Json:
        """Look at the App Home; returns the acknowledgement, `see` has the view."""
        return await self._act("open_home", {})

    async def find_card(self, predicate: Callable[[Json], bool], timeout: float = WAIT_SECONDS) -> Json:  # noqa: ASYNC109 - a wait
        """Wait for a message (reply and ephemeral included, newest first) that fits; it has its `channel`."""

        def look(state: Json) -> Json | None:
            return next((message for message in messages(state) if predicate(message)), None)

        found: Json = await self.wait_for(look, timeout)
        return found

    async def find_modal(self, timeout: float = WAIT_SECONDS) -> Json:  # noqa: ASYNC109 - a wait
        """Wait for a modal to be open."""
        found: Json = await self.wait_for(lambda state: state["modal"], timeout)
        return found

    async def wait_for(self, look: Callable[[Json], Any], timeout: float = WAIT_SECONDS) -> Any:  # noqa: ASYNC109 - a wait
        """Look again at every change until `look` gives something true."""
        try:
            async with asyncio.timeout(timeout):
                async for state in self._states():
                    if found := look(state):
                        return found
        except TimeoutError:
            seen = "; ".join(message.get("text", "")[:80] for message in messages(await self.see())[:5])
            raise SandboxError(f"{self.user_id} waited {timeout} s in vain; newest messages: {seen}") from None
        raise SandboxError("the sandbox closed the stream of events")

    async def _states(self) -> AsyncIterator[Json]:
        """Give what the person sees now, and again after every change."""
        async with self._session.get(f"{self._base}/sandbox/events") as response:
            async for line in response.content:
                if line.startswith(b"data:"):
                    yield await self.see()

    async def _act(self, action: str, details: Json) -> Json:
        body = {"user": self.user_id, "action": action, **details}
        async with self._session.post(f"{self._base}/sandbox/act", json=body) as response:
            return await _result(response)


async def _result(response: aiohttp.ClientResponse) -> Json:
    result: Json = await response.json()
    if response.status != 200:  # noqa: PLR2004 - anything else is a refusal with its reason
        raise SandboxError(result["problem"])
    return result


def messages(state: Json) -> list[Json]:
    """Return all messages of a state, newest first, replies too, each with its `channel`."""
    found = [
        {**message, "channel": channel["id"]}
        for channel in state["channels"]
        for parent in channel["messages"]
        for message in (parent, *parent["replies"])
    ]
    return sorted(found, key=lambda message: float(message["ts"]), reverse=True)
