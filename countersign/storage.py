"""The store of a process, as the settings name it: pool, clock, and the migration and schema that it needs.

Where a database lacks that migration or schema, the error says what to do.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import psycopg

from countersign.connection import DatabaseError, unusable
from countersign.settings import Settings, required
from runtime.clock import SharedClock, since_boot, utc_now
from runtime.store.database.health import correct_clock
from runtime.store.database.pool import Pool, limits, make_pool, wait_until_up
from runtime.store.database.schema_state import (
    BEFORE_RELEASE,
    NEWEST,
    RESTORE,
    current_version,
    differences,
    misfit,
    remedy,
    versions,
)
from runtime.store.database.signals import beside

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
            await correct_clock(conn, clock)
        async with beside(_keep_right(pool, clock)):
            yield Storage(dsn, _listening_dsn(settings), pool, clock)


async def _keep_right(pool: Pool, clock: SharedClock) -> None:
    """Set the clock right again and again; while the database is away it runs on as it was."""
    while True:
        await asyncio.sleep(CLOCK_SECONDS)
        with suppress(psycopg.Error, OSError):
            async with pool.connection() as conn:
                await correct_clock(conn, clock)


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
        raise DatabaseError(misfit(current))


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


@dataclass(frozen=True)
class SchemaFinding:
    """Something about a database: what it is, whether it is right, and what to do where it is not."""

    ok: bool
    detail: str
    remedy: str


def check_migration_and_schema(dsn: str) -> tuple[SchemaFinding, list[SchemaFinding]]:
    """Return (its migration, its schema: each difference, or that there is none), or raise DatabaseError.

    At another migration than the newest, the schema is not looked at.
    """
    try:
        with psycopg.connect(dsn, prepare_threshold=None) as conn:
            current = current_version(conn)
            found = differences(conn) if current == NEWEST else None
    except psycopg.Error as error:
        raise unusable(error) from error
    what_to_do = remedy(current)
    if current == BEFORE_RELEASE:
        return _schema_finding(f"the database was made {current} and cannot be upgraded", what_to_do), []
    migration = _schema_finding(f"at {current or 'none'}, newest {NEWEST}", what_to_do, ok=current == NEWEST)
    if found is None:
        return migration, []
    wrong = [_schema_finding(one, RESTORE) for one in found.schema]
    wrong += [_schema_finding(one, what_to_do) for one in found.rights]
    return migration, wrong or [_schema_finding("as declared", "", ok=True)]


def _schema_finding(detail: str, what_to_do: str, *, ok: bool = False) -> SchemaFinding:
    """Return a finding, with what to do as a sentence."""
    return SchemaFinding(ok, detail, f"{what_to_do[:1].upper()}{what_to_do[1:]}.")
