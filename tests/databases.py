"""Databases of tests: the next test gets the one of the last, emptied, with its connections that are warm.

A new database is hundreds of files, and a new connection a process that has to learn the catalogs and to prepare every
statement anew: together more than what most tests do with them. A database goes on as long as nothing but rows was
changed in it, and nobody else is connected. What a test did to schema, rights, settings or statistics is dropped with
its database, and a row that is there when a test is handed one fails that test.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.sql import SQL, Composed, Identifier
from psycopg_pool import PoolTimeout

from runtime.store.database.pool import Conn, Pool, make_pool
from runtime.store.schema.base import metadata
from tests.logins import as_program

TEMPLATE = "template_countersign"
TESTS_EACH = 50
"""Tests for which a database serves: what they deleted is never vacuumed."""
_LOOKS, _PAUSE = 20, 0.01
"""How often, and how many seconds apart, is looked whether those who were connected are gone."""
_AWAITED = 2.0
"""Seconds in which every connection of a pool has to be back once its bench is closed."""
_OURS = 16384
"""The least number of an object that is not PostgreSQL's own."""
_CATALOGS = {
    "pg_namespace": "oid",
    "pg_class": "oid",
    "pg_attribute": "attrelid",
    "pg_attrdef": "adrelid",
    "pg_constraint": "oid",
    "pg_index": "indexrelid",
    "pg_statistic": "starelid",
    "pg_trigger": "oid",
    "pg_policy": "oid",
    "pg_proc": "oid",
    "pg_type": "oid",
    "pg_rewrite": "oid",
    "pg_default_acl": "oid",
}
"""Where a change of the schema, of its rights or of statistics leaves a newer row or one less, and what names ours."""
_ENTRIES = [
    *(f"{table} WHERE {column} >= {_OURS}" for table, column in _CATALOGS.items()),
    "pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
    "pg_database WHERE datname = current_database()",
    "alembic_version",
]
_SHAPE = " UNION ALL ".join(f"SELECT count(*), max(xmin::text::bigint) FROM {one}" for one in _ENTRIES)
_CONNECTED = """
    SELECT count(*) FROM pg_stat_get_activity(NULL) WHERE backend_type = 'client backend'
    AND datid = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
_FRESH = b"DISCARD TEMP; RESET ALL; UNLISTEN *; CLOSE ALL; SELECT pg_advisory_unlock_all()"
"""What a session forgets before the next test: all but its prepared statements."""


@dataclass
class Database:
    """A migrated database, and what goes on with it from test to test: a superuser's connection, the program's pool."""

    name: str
    dsn: str
    conn: psycopg.Connection
    shape: object = None
    pool: Pool | None = None
    tests: int = 0

    def __post_init__(self) -> None:
        """Remember the schema as it is."""
        self.shape = self._shape()

    def _shape(self) -> object:
        return self.conn.execute(_SHAPE).fetchall()

    async def can_go_on(self) -> bool:
        """Empty it, where nobody else is connected; return whether it is then as it was when it was made."""
        self.tests += 1
        try:
            if self.tests == TESTS_EACH or not await self._is_ours_alone():
                return False
            self.conn.pgconn.exec_(_FRESH)
            delete_all(self.conn)
            return self._shape() == self.shape
        except psycopg.Error:  # a table is gone, or this connection is
            return False

    async def _is_ours_alone(self) -> bool:
        pooled = self.pool.get_stats()["pool_size"] if self.pool else 0
        for _ in range(_LOOKS):
            if self.conn.execute(_CONNECTED).fetchone() == (pooled + 1,):
                return True
            await asyncio.sleep(_PAUSE)
        return False

    async def close(self) -> None:
        """Close its connections."""
        self.conn.close()
        if self.pool:
            await self.pool.close()


@dataclass
class Shelf:
    """A server's databases: those that wait for a test, and how new ones are made and old ones dropped."""

    dsn: str
    conn: psycopg.Connection
    """Makes and drops databases: each new connection is a process with cold caches."""
    waiting: list[Database] = field(default_factory=list)

    def make(self) -> Database:
        """Make a database from the template."""
        name = f"test_{next(_numbers)}"
        self.conn.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY file_copy")
        dsn = database_dsn(self.dsn, name)
        conn = psycopg.connect(dsn, autocommit=True, prepare_threshold=0, options=_MEDDLING)
        return Database(name, dsn, conn)

    async def drop(self, database: Database) -> None:
        """Drop a database, whoever is connected to it."""
        await database.close()
        self.conn.execute(f"DROP DATABASE {database.name} WITH (FORCE)")


_MEDDLING = "-c session_replication_role=replica -c lock_timeout=10s"
_numbers = count(1)
_shelves: dict[str, Shelf] = {}
_in_use: dict[str, Database] = {}


@asynccontextmanager
async def shelf_of(postgres: str) -> AsyncIterator[None]:
    """Keep databases of a server, in which the template is, until the block ends."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        shelf = _shelves[postgres] = Shelf(postgres, conn)
        yield
        for database in shelf.waiting:
            await database.close()


def database_dsn(postgres: str, name: str) -> str:
    """Return the DSN of a database of a server."""
    return postgres.replace("/postgres?", f"/{name}?", 1)


@asynccontextmanager
async def fresh_database(postgres: str) -> AsyncIterator[str]:
    """Give the DSN of a migrated database in which nothing stands, for as long as the block."""
    shelf = _shelves[postgres]
    database = shelf.waiting.pop() if shelf.waiting else shelf.make()
    left = filled(database.conn)
    try:
        assert not left, f"something wrote into {left} after the test to which {database.name} had been handed"
        with _using(database):
            yield database.dsn
    finally:
        if not left and await database.can_go_on():
            shelf.waiting.append(database)
        else:
            await shelf.drop(database)


@asynccontextmanager
async def new_database(postgres: str) -> AsyncIterator[str]:
    """Give the DSN of a migrated database that nobody had before: how it reads depends on nothing that was deleted.

    Its connections are closed when a bench is, and so have told what they read.
    """
    shelf = _shelves[postgres]
    database = shelf.make()
    try:
        yield database.dsn
    finally:
        await shelf.drop(database)


@contextmanager
def empty_database(postgres: str) -> Iterator[str]:
    """Give the DSN of a database in which not even a table is."""
    name, conn = f"test_{next(_numbers)}", _shelves[postgres].conn
    conn.execute(f"CREATE DATABASE {name}")
    yield database_dsn(postgres, name)
    conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _using(database: Database) -> Iterator[None]:
    _in_use[database.name] = database
    try:
        yield
    finally:
        del _in_use[database.name]


@contextmanager
def superuser(dsn: str) -> Iterator[psycopg.Connection]:
    """Give a superuser's connection past every trigger: that of the database that a test was handed, or a new one."""
    if database := _in_use.get(urlsplit(dsn).path[1:]):  # whatever way the DSN leads there
        yield database.conn
        return
    with psycopg.connect(dsn, autocommit=True, options=_MEDDLING) as conn:
        yield conn


@asynccontextmanager
async def program_pool(dsn: str, **connection: Any) -> AsyncIterator[Pool]:
    """Give the program's pool over a database: the one of the last test, unless its connections are to be others."""
    found = _in_use.get(urlsplit(dsn).path[1:])
    database = found if found and found.dsn == dsn and not connection else None
    kept = database.pool if database else None
    pool = kept or make_pool(as_program(dsn), size=8, behind_pooler=False, **connection)
    if database and kept:
        database.pool = None
    else:
        await pool.open()
    try:
        yield pool
    finally:
        if database and database.pool is None and await _is_fresh(pool):
            database.pool = pool
        else:
            await pool.close()


async def _is_fresh(pool: Pool) -> bool:
    """Have a pool's sessions forget what was done in them; return whether all of them are back and did."""
    held: list[Conn] = []
    if pool.closed:
        return False
    try:
        while len(held) < pool.get_stats()["pool_size"]:  # in place of one that is not back it makes another
            held.append(await pool.getconn(_AWAITED))
        return all(conn.pgconn.exec_(_FRESH).error_message == b"" for conn in held)
    except (PoolTimeout, psycopg.Error):
        return False
    finally:
        for conn in reversed(held):  # what came first is given first again: it has prepared the most
            await pool.putconn(conn)


def filled(conn: psycopg.Connection) -> list[str]:
    """Return the tables in which a row stands."""
    return [str(table) for (table,) in conn.execute(_FILLED)]


def delete_all(conn: psycopg.Connection) -> None:
    """Delete every row, past every trigger."""
    tables = filled(conn)
    with conn.pipeline(), conn.transaction():
        for table in tables:
            conn.execute(of_table("DELETE FROM {}", table))


def of_table(statement: str, table: str) -> Composed:
    """Return a statement about a table."""
    return SQL(statement).format(Identifier(table))


_FILLED = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in metadata.tables)
