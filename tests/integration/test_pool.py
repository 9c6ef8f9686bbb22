"""A pool gives what was given back last, holds nothing back from whoever waits, and leaves nothing open."""

import asyncio

import pytest
from psycopg.errors import DivisionByZero
from psycopg_pool import PoolClosed

from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import AT_HAND, REST, Conn, Pool, make_pool
from tests.logins import as_program
from tests.patience import MINUTE


def _pool(dsn: str, size: int) -> Pool:
    return make_pool(as_program(dsn), size=size, behind_pooler=False)


def _pid(conn: Conn) -> int:
    return conn.info.backend_pid


async def _use(pool: Pool) -> int:
    async with pool.connection() as conn:
        return _pid(conn)


async def _use_side_by_side(pool: Pool, count: int) -> set[int]:
    """Use so many connections at once, and give them back."""
    conns = [await pool.getconn() for _ in range(count)]
    pids = {_pid(conn) for conn in conns}
    for conn in conns:
        await pool.putconn(conn)
    return pids


async def test_what_was_given_back_last_is_given_next(dsn: str) -> None:
    async with _pool(dsn, 8) as pool:
        assert len(await _use_side_by_side(pool, 3)) == 3
        assert len({await _use(pool) for _ in range(20)}) == 1


async def test_in_between_it_goes_back_to_be_looked_at_for_its_age(dsn: str) -> None:
    async with _pool(dsn, 8) as pool:
        await _use_side_by_side(pool, AT_HAND + 2)
        assert len({await _use(pool) for _ in range(REST + 1)}) > 1


async def test_all_connections_can_be_in_use_again(dsn: str) -> None:
    async with _pool(dsn, AT_HAND + 2) as pool:
        first = await _use_side_by_side(pool, AT_HAND + 2)
        assert await _use_side_by_side(pool, AT_HAND + 2) == first


async def test_whoever_waits_gets_what_is_given_back(dsn: str) -> None:
    async with _pool(dsn, 1) as pool:
        conn = await pool.getconn()
        waiting = [asyncio.create_task(_use(pool)) for _ in range(3)]
        while pool.get_stats().get("requests_waiting", 0) < len(waiting):
            await asyncio.sleep(0)
        await pool.putconn(conn)
        assert await asyncio.gather(*waiting) == [_pid(conn)] * 3


async def test_one_that_ended_in_use_or_at_hand_is_replaced(dsn: str) -> None:
    async with _pool(dsn, 1) as pool:
        async with pool.connection() as conn:
            first = _pid(conn)
            await conn.close()
        second = await pool.getconn()
        pids = {first, _pid(second)}
        await pool.putconn(second)
        await second.close()
        assert len({*pids, await _use(pool)}) == 3


async def test_one_given_back_within_a_transaction_is_not_given_so(dsn: str) -> None:
    async with _pool(dsn, 1) as pool:
        conn = await pool.getconn()
        await conn.execute("BEGIN")
        await pool.putconn(conn)
        async with pool.connection() as again, again.transaction():
            await again.execute("SELECT 1")


async def test_a_pool_that_is_closed_leaves_no_connection_open(dsn: str) -> None:
    async with _pool(dsn, 8) as pool:
        conns = [await pool.getconn() for _ in range(AT_HAND)]
        for conn in conns[1:]:
            await pool.putconn(conn)
    await pool.putconn(conns[0])  # late
    assert all(conn.closed for conn in conns)
    with pytest.raises(PoolClosed):
        await pool.getconn()


@pytest.mark.parametrize("turns", range(6))
async def test_who_is_canceled_as_a_connection_comes_is_canceled_and_it_goes_to_the_next(dsn: str, turns: int) -> None:
    async with _pool(dsn, 1) as pool:
        taken = await pool.getconn()
        waiting = asyncio.create_task(pool.getconn())
        while not pool.get_stats().get("requests_waiting"):
            await asyncio.sleep(0)
        await pool.putconn(taken)
        for _ in range(turns):
            await asyncio.sleep(0)
        has_one = waiting.done()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled() is not has_one
        if has_one:
            await pool.putconn(waiting.result())
        async with asyncio.timeout(MINUTE):
            await pool.putconn(await pool.getconn())


async def test_a_connection_whose_reads_failed_takes_nothing_for_prepared_that_came_behind(dsn: str) -> None:
    async def read(pool: Pool, by: int) -> list[dict[str, int]]:
        async with pool.connection() as conn:
            found = await at_once(conn.read("SELECT 1 / %(by)s AS n", {"by": by}), conn.read("SELECT 2 AS n", {}))
        return [await cursor.fetchone() for cursor in found]

    async with _pool(dsn, 1) as pool:
        await read(pool, 1)
        with pytest.raises(DivisionByZero):
            await read(pool, 0)  # the second statement would have been prepared behind the first
        for _ in range(3):
            assert await read(pool, 1) == [{"n": 1}, {"n": 2}]
