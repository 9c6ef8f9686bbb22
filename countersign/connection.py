"""One connection to the database that the settings name, for a command. Imports nothing large: people wait for it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg.rows import dict_row

from countersign.foreseen_errors import CountersignError
from countersign.settings import Settings, required
from runtime.model.limits import first_line
from runtime.store.database.pool import Conn


class DatabaseError(CountersignError):
    """The database cannot be used as it is; the message says why and what to do."""


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Conn]:
    """Give one connection to the database, or raise DatabaseError saying why there is none."""
    dsn = required(settings, "database_url")
    try:
        conn = await Conn.connect(dsn, autocommit=True, row_factory=dict_row, connect_timeout=5, prepare_threshold=None)
    except psycopg.Error as error:
        raise unusable(error) from error
    async with conn:
        yield conn


def unusable(error: Exception) -> DatabaseError:
    """Return the error that says why the database cannot be used, and what to do where that is known."""
    why = first_line(getattr(error, "orig", None) or error)
    remedy = "; behind a pooler set COUNTERSIGN_DATABASE_POOLER=transaction" if "startup parameter" in why else ""
    return DatabaseError(f"the database cannot be used: {why}{remedy}")
