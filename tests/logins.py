"""Who tests are in the database: a superuser to look and to meddle, and for what is under test the program's logins."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from countersign.connection import connected
from countersign.settings import Settings
from runtime.store.database.migration import make_login
from runtime.store.database.pool import Conn
from runtime.store.schema import role_names

PROGRAM, DIRECTORY = "test_program", "test_directory"


def make_logins(dsn: str) -> None:
    """Make the login of the program, and that which loads the directory."""
    make_login(dsn, PROGRAM)
    make_login(dsn, DIRECTORY, role_names.DIRECTORY)


def as_program(dsn: str) -> str:
    """Return the DSN with a login that has the program's rights and no others."""
    return dsn.replace("//postgres:@", f"//{PROGRAM}:@", 1)


def as_directory(dsn: str) -> str:
    """Return the DSN of a superuser or of the program with a login that loads the directory."""
    return as_program(dsn).replace(f"//{PROGRAM}:@", f"//{DIRECTORY}:@", 1)


@asynccontextmanager
async def loading(dsn: str) -> AsyncIterator[Conn]:
    """Give a connection of the login that loads the directory."""
    async with connected(Settings(database_url=as_directory(dsn))) as conn:
        yield conn
