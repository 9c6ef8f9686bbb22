"""One connection to the database that the settings name, for a command, and looks into it.

What is named and is not there is a sentence. Imports nothing large: people wait for it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.rows import dict_row

from countersign.foreseen_errors import CountersignError, OperateError
from countersign.settings import Settings, required
from runtime.model.limits import first_line
from runtime.model.search import UnknownError
from runtime.store.database.pool import Conn

T = TypeVar("T")


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


@contextmanager
def naming() -> Iterator[None]:
    """Turn it into an OperateError where something that is named, such as a person, is not there."""
    try:
        yield
    except UnknownError as error:
        raise OperateError(str(error)) from error


async def looked_up(settings: Settings, look: Callable[..., Awaitable[T]], *what: Any) -> T:
    """Return what a look into the tenant's rows finds; raise OperateError where what it names is not there."""
    async with connected(settings) as conn:
        with naming():
            return await look(conn, settings.tenant, *what)


def expected(found: T | None, named: str) -> T:
    """Return what was found, or raise OperateError."""
    if found is None:
        raise OperateError(f"there is no {named}")
    return found
