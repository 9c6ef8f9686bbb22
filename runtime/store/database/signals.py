"""LISTEN/NOTIFY: wakes workers of other processes. Never inside a business transaction, and never needed for truth."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import psycopg

from runtime.store.database.pool import Conn, Pool

CHANNEL = "countersign_work"
COALESCE = 0.02
"""Seconds after an announcement for which further ones are gathered into one."""

_INSIST = 0.2
"""Seconds after which what has not ended is canceled again."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def announcing(pool: Pool, who: str, wanted: asyncio.Event) -> AsyncIterator[None]:
    """Notify other processes, as `who`, whenever `wanted` is set, many times in one, while the block runs."""
    async with beside(_announce(pool, who, wanted)):
        yield


async def announce(conn: Conn, who: str) -> None:
    """Tell other processes that there is work; `who` tells it and need not hear it."""
    await conn.execute("SELECT pg_notify(%s, %s)", (CHANNEL, who))


async def _announce(pool: Pool, who: str, wanted: asyncio.Event) -> None:
    while True:
        await wanted.wait()
        wanted.clear()
        try:
            async with pool.connection() as conn:
                await announce(conn, who)
        except (psycopg.Error, OSError) as error:
            log.warning("wake-up not announced, others will poll: %s", error)
        await asyncio.sleep(COALESCE)


@asynccontextmanager
async def listening(dsn: str | None, who: str, on_signal: Callable[[], None]) -> AsyncIterator[None]:
    """Call `on_signal` when another than `who` announces work, while the block runs; never where there is no DSN."""
    if dsn is None:
        yield
        return
    async with beside(_listen(dsn, who, on_signal)):
        yield


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine beside the block, and end it with the block.

    It is canceled until it has ended: a pool that hands out a connection at that very moment keeps the cancellation to
    itself.
    """
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_INSIST)
        with suppress(asyncio.CancelledError):
            await task


async def _listen(dsn: str, who: str, on_signal: Callable[[], None]) -> None:
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
                await conn.execute(f"LISTEN {CHANNEL}")
                async for notify in conn.notifies():
                    if notify.payload != who:
                        on_signal()
        except (psycopg.Error, OSError) as error:
            log.warning("not listening, polling meanwhile: %s", error)
        await asyncio.sleep(1)
