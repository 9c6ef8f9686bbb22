"""The database as the settings name it: one connection, its migrations, and why it cannot be used."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from alembic.util import CommandError
from psycopg.rows import dict_row
from sqlalchemy.exc import SQLAlchemyError

from countersign.config.errors import CountersignError
from countersign.config.settings import Settings, required
from runtime.model.json_limits import first_line
from runtime.store.database import migrate
from runtime.store.database.pool import Conn


class DatabaseError(CountersignError):
    """The database cannot be used as it is; the message says why and what to do."""


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Conn]:
    """Give one connection to the database, or raise DatabaseError saying why there is none."""
    dsn = required(settings, "database_url")
    try:
        conn = await psycopg.AsyncConnection.connect(dsn, autocommit=True, row_factory=dict_row, connect_timeout=5)
    except psycopg.Error as error:
        raise DatabaseError(f"the database cannot be used: {first_line(error)}") from error
    async with conn:
        yield conn


def check_migrations(dsn: str) -> None:
    """Raise DatabaseError unless the database is at the migration that this program was written for."""
    current, newest = database_versions(dsn)
    if current != newest:
        raise DatabaseError(
            f"the database is at migration {current or 'none'} and this program needs {newest}:"
            " run `countersign migrate`"
        )


def database_versions(dsn: str) -> tuple[str | None, str | None]:
    """Return (the database's migration, the newest one), or raise DatabaseError."""
    try:
        return migrate.versions(dsn)
    except SQLAlchemyError as error:
        raise _unusable(error) from error


def migrate_database(dsn: str) -> None:
    """Bring the database to the newest migration, or raise DatabaseError."""
    try:
        migrate.migrate(dsn)
    except SQLAlchemyError as error:
        raise _unusable(error) from error
    except CommandError as error:
        raise DatabaseError(f"the database belongs to a newer program; update this one ({error})") from error


def _unusable(error: SQLAlchemyError) -> DatabaseError:
    return DatabaseError(f"the database cannot be used: {first_line(getattr(error, 'orig', None) or error)}")
