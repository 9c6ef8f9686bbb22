"""Runs a workspace inside a test: on a loopback port, with a clock that only the test moves, and faults on demand."""

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

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
        """Let all be well again with these methods; what waited is answered."""
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
            if method in self._held:
                await self._held[method].wait()
            answer = self._answers.get(method)
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
