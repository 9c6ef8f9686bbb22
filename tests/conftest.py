"""Real servers for tests: PostgreSQL from its package, OPA with our policies; an empty database for each test."""

import gc
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import psycopg
import pytest
from hypothesis import settings

from countersign.embedded.opa import OpaChild
from countersign.embedded.postgres import embedded_postgres
from runtime.store.database.migration import migrate
from tests.browser import stop_chromium
from tests.commit_times import remember_commit_times
from tests.databases import TEMPLATE, database_dsn, fresh_database, shelf_of
from tests.forked import stop_server
from tests.leaves import make_view
from tests.logins import make_logins
from tests.opa_server import POLICIES, start_opa, stop_kept
from tests.patience import MINUTE

_MEMORY = Path("/dev/shm")  # noqa: S108 - the folder in it has a name that nobody can guess
_ROOM = 4 * 1024**3
"""Bytes that must be free there, with several servers side by side."""

# The same examples on every machine: what a property test finds is found by whoever runs it next. `random` explores.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


gc.disable()  # while tests are collected, which makes a million objects and leaves hardly one behind


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


# As Python does by itself. In place of Python's own asyncio puts its handler, three times for each test, and each time
# makes a text of all that its task has returned: a bench with its definitions.
signal.signal(signal.SIGINT, _interrupt)


def pytest_collection_finish() -> None:
    """Collect garbage again, but look no more at what was there before the first test."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)  # a tenth of the time of tests went into looking every 700 objects
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def no_server_is_left() -> Iterator[None]:
    """End the server of forked programs with the session."""
    yield
    stop_server()


@pytest.fixture(scope="session", autouse=True)
async def no_policy_is_served_any_more() -> AsyncIterator[None]:
    """End the OPA servers that tests shared with the session."""
    yield
    await stop_kept()


@pytest.fixture(scope="session", autouse=True)
async def no_browser_is_left() -> AsyncIterator[None]:
    """End the browser that tests shared with the session."""
    yield
    await stop_chromium()


def _in_memory() -> Path | None:
    """Return a folder in memory, if there is one with room: a database is hundreds of files, and made for each test."""
    is_roomy = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    return _MEMORY if is_roomy else None


@pytest.fixture(scope="session")
async def postgres() -> AsyncIterator[str]:
    """A PostgreSQL server with a migrated template database; gives the server's DSN."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="countersign-", dir=_in_memory()))) / "data"
        remember_commit_times(folder)
        dsn = stack.enter_context(embedded_postgres(folder))
        conn = stack.enter_context(psycopg.connect(dsn, autocommit=True))
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):  # this server is never killed
            conn.execute(f"ALTER SYSTEM SET {setting} = off")
        conn.execute("ALTER SYSTEM SET max_wal_size = '128MB'")
        conn.execute("ALTER SYSTEM SET autovacuum = off")
        conn.execute("SELECT pg_reload_conf()")
        conn.execute(f"CREATE DATABASE {TEMPLATE}")
        migrate(database_dsn(dsn, TEMPLATE))
        make_view(database_dsn(dsn, TEMPLATE))
        make_logins(dsn)
        async with shelf_of(dsn):
            yield dsn


@pytest.fixture
async def dsn(postgres: str) -> AsyncIterator[str]:
    """The DSN of a migrated, empty database, as its superuser; programs under test log in as `as_program` says."""
    async with fresh_database(postgres) as made:
        yield made


@pytest.fixture(scope="session")
async def opa(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OpaChild]:
    """An OPA server with the repository's policies, shared by tests that change nothing in it."""
    work: Path = tmp_path_factory.mktemp("opa")
    async with start_opa(POLICIES, work, poll=MINUTE) as child:  # each look reads all policies: nothing changes here
        yield child
