"""The store of a process as the settings name it: its pool, its clock, and the migration that it must be at."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import psycopg

from countersign.connection import DatabaseError, unusable
from countersign.settings import Settings, required
from runtime.clock import SharedClock, since_boot, utc_now
from runtime.store.database.health import set_right
from runtime.store.database.pool import Pool, limits, make_pool
from runtime.store.database.signals import beside
from runtime.store.database.startup import wait_until_up
from runtime.store.database.versions import remedy, versions

CLOCK_SECONDS = 30.0
"""Seconds between two looks at the database's clock."""


@dataclass(frozen=True)
class Storage:
    """The store of a process: its address, where it listens for work, its connections, and the database's time."""

    dsn: str
    listen_dsn: str | None
    pool: Pool
    clock: SharedClock


@asynccontextmanager
async def open_storage(settings: Settings) -> AsyncIterator[Storage]:
    """Open the store of a database that is where this program needs it, and keep its clock right."""
    dsn = required(settings, "database_url")
    await asyncio.to_thread(check_migrations, dsn)
    size = settings.database_connections
    async with make_pool(dsn, size=size, behind_pooler=_is_pooled(settings)) as pool:
        clock = SharedClock(utc_now, since_boot)
        async with pool.connection() as conn:
            await set_right(conn, clock)
        async with beside(_keep_right(pool, clock)):
            yield Storage(dsn, _listening_dsn(settings), pool, clock)


async def _keep_right(pool: Pool, clock: SharedClock) -> None:
    """Set the clock right again and again; while the database is away it runs on as it was."""
    while True:
        await asyncio.sleep(CLOCK_SECONDS)
        with suppress(psycopg.Error, OSError):
            async with pool.connection() as conn:
                await set_right(conn, clock)


def await_database(settings: Settings) -> None:
    """Wait for a database that is starting, as long as the settings say, or raise DatabaseError."""
    try:
        dsn = required(settings, "database_url")
        wait_until_up(dsn, settings.database_patience, limits(_is_pooled(settings)))
    except psycopg.Error as error:
        raise unusable(error) from error


def try_connection(settings: Settings) -> None:
    """Connect once as a process that serves does, or raise DatabaseError."""
    try:
        wait_until_up(required(settings, "database_url"), 0.0, limits(_is_pooled(settings)))
    except psycopg.Error as error:
        raise unusable(error) from error


def check_migrations(dsn: str) -> None:
    """Raise DatabaseError unless the database is at the migration that this program was written for."""
    current, newest = database_versions(dsn)
    if current != newest:
        raise DatabaseError(
            f"the database is at migration {current or 'none'} and this program needs {newest}: {remedy(current)}"
        )


def database_versions(dsn: str) -> tuple[str | None, str]:
    """Return (the database's migration, the newest one), or raise DatabaseError."""
    try:
        return versions(dsn)
    except psycopg.Error as error:
        raise unusable(error) from error


def _is_pooled(settings: Settings) -> bool:
    return settings.database_pooler == "transaction"


def _listening_dsn(settings: Settings) -> str | None:
    """Return where LISTEN works: not through a pooler, unless it hands out whole sessions."""
    if settings.database_direct_url is not None:
        return settings.database_direct_url.get_secret_value()
    return None if _is_pooled(settings) else required(settings, "database_url")
