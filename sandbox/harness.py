"""Runs a workspace inside a test: on a loopback port, with a clock that only the test moves."""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aiohttp import web

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
