"""A bot that runs for as long as a block: over HTTP, over Socket Mode, and its watch beside it."""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from bot.app import Bot
from tests.patience import until


@asynccontextmanager
async def heard(app: Any, listener: socket.socket) -> AsyncIterator[None]:
    """Serve the request URL."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def connected(bot: Bot, *, is_awaited: bool) -> AsyncIterator[None]:
    """Hear by Socket Mode; the block begins once it is connected, unless that is not awaited."""
    async with _beside(bot.run_socket_mode()):
        if is_awaited:
            await asyncio.sleep(0)  # until it has begun it wants no connection, and says that nothing is wrong
            await until(bot.is_connected)
        yield


@asynccontextmanager
async def watched(bot: Bot) -> AsyncIterator[None]:
    """Have the bot watch where it is, and whom Slack has not confirmed."""
    async with _beside(bot.watch()):
        yield


@asynccontextmanager
async def _beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
