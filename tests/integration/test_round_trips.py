"""Statements that share a round trip: in their order, all or none in a transaction, and each hears of an error."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

import pytest
from psycopg import InterfaceError, ProgrammingError
from psycopg.errors import DivisionByZero, InFailedSqlTransaction, NotNullViolation

from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn, make_pool
from runtime.store.database.write_buffer import WriteKind
from tests.integration.trips import Trips, along, road_to

_MAKE = "INSERT INTO tenants (tenant, salt) VALUES (%(tenant)s, %(salt)s)"
_SALT = "SELECT salt FROM tenants WHERE tenant = %(tenant)s"
_SALTED = WriteKind(
    "salted",
    "tenants",
    "UPDATE tenants SET salt = r.salt FROM {r} WHERE tenants.tenant = r.tenant RETURNING tenants.tenant AS id",
    (("tenant", "text"), ("salt", "text")),
    key=1,
    lost=LookupError,
)


@pytest.fixture
async def road(dsn: str) -> AsyncIterator[Trips]:
    async with road_to(dsn) as road:
        yield road


@pytest.fixture
async def conn(dsn: str, road: Trips) -> AsyncIterator[Conn]:
    async with make_pool(along(dsn, road), size=1, behind_pooler=False) as pool, pool.connection() as conn:
        road.made.clear()
        yield conn


async def _make(conn: Conn, *salts: str | None, lost: str = "", fault: Exception | None = None) -> None:
    """Make a tenant for each salt in a transaction, or a savepoint, with a write that takes no effect or a fault."""
    async with conn.transaction():
        for number, salt in enumerate(salts):
            conn.put(_MAKE, {"tenant": f"{salts[0]} {number}", "salt": salt})
        if lost:
            await conn.gather(_SALTED, (lost, "two"))
        if fault:
            raise fault


async def _salts(conn: Conn) -> list[str]:
    rows = await (await conn.execute("SELECT salt FROM tenants ORDER BY salt")).fetchall()
    return [row["salt"] for row in rows]


async def test_a_transaction_that_asks_nothing_makes_no_round_trip(conn: Conn, road: Trips) -> None:
    async with conn.transaction():
        pass
    assert road.made == []


async def test_begin_and_commit_go_with_what_is_written(conn: Conn, road: Trips) -> None:
    await _make(conn, "one", "two")
    assert len(road.made) == 1
    assert await _salts(conn) == ["one", "two"]


async def test_reads_of_one_moment_share_a_round_trip_and_come_after_what_was_put(conn: Conn, road: Trips) -> None:
    async with conn.transaction():
        conn.put(_MAKE, {"tenant": "a", "salt": "one"})
        cursors = await at_once(*(conn.read(_SALT, {"tenant": tenant}) for tenant in ("a", "b")))
        assert [await cursor.fetchone() for cursor in cursors] == [{"salt": "one"}, None]
        assert len(road.made) == 1


async def _catch_an_error(conn: Conn, tell: Callable[[], None]) -> None:
    """End a transaction as if no statement had failed in it."""
    async with conn.transaction():
        conn.on_commit(tell)
        conn.put(_MAKE, {"tenant": "ACME", "salt": "one"})
        with suppress(DivisionByZero):
            await conn.execute("SELECT 1 / 0")


async def test_a_commit_that_rolled_back_is_an_error_and_nothing_is_told(conn: Conn) -> None:
    told = list[str]()
    with pytest.raises(InFailedSqlTransaction):
        await _catch_an_error(conn, lambda: told.append("committed"))
    assert (told, await _salts(conn)) == ([], [])


async def test_what_fails_at_the_commit_takes_all_back_and_the_connection_goes_on(conn: Conn) -> None:
    with pytest.raises(NotNullViolation):
        await _make(conn, "one", None)
    assert await _salts(conn) == []


async def test_a_row_that_has_to_take_effect_and_does_not_takes_all_back(conn: Conn) -> None:
    with pytest.raises(LookupError, match="nobody"):
        await _make(conn, "one", lost="nobody")
    assert await _salts(conn) == []


async def test_a_block_that_fails_writes_nothing_of_what_it_put_off(conn: Conn, road: Trips) -> None:
    with pytest.raises(ZeroDivisionError):
        await _make(conn, "one", fault=ZeroDivisionError())
    assert road.made == []
    assert await _salts(conn) == []


async def test_a_savepoint_that_fails_takes_back_its_own_writes_alone(conn: Conn) -> None:
    async with conn.transaction():
        conn.put(_MAKE, {"tenant": "a", "salt": "one"})
        with pytest.raises(NotNullViolation):
            await _make(conn, "two", None)
        conn.put(_MAKE, {"tenant": "d", "salt": "three"})
    assert await _salts(conn) == ["one", "three"]


async def test_everybody_who_reads_together_hears_of_an_error(conn: Conn) -> None:
    reads = [conn.read("SELECT 1 AS one", {}), conn.read("SELECT 1 / %(by)s::int AS none", {"by": 0})]
    found = await asyncio.gather(*reads, return_exceptions=True)
    assert [type(one) for one in found] == [DivisionByZero, DivisionByZero]
    assert await _salts(conn) == []


async def test_who_reads_with_one_that_is_canceled_hears_of_it(conn: Conn) -> None:
    first, second = (asyncio.create_task(conn.read("SELECT 1 AS one", {})) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert isinstance((await asyncio.gather(first, second, return_exceptions=True))[1], InterfaceError)
    assert await _salts(conn) == []


async def test_nothing_is_put_off_outside_a_transaction(conn: Conn) -> None:
    with pytest.raises(ProgrammingError, match="outside a transaction"):
        conn.put(_MAKE, {"tenant": "a", "salt": "one"})
