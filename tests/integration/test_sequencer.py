"""Every leaf that is committed gets one place in the log, whoever writes, gives places, or dies meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import accumulate

import psycopg
import pytest
from psycopg import AsyncConnection

from receipts.log.hashes import EMPTY, TreeHead
from runtime.services.sequencer import Sequencer
from runtime.store import log_places as store
from runtime.store.run_tx import RunTx
from tests.bench import TENANT, Bench

NOTE = {"text": "a", "api_token": "t"}
ENTRIES = "SELECT first_index, count, chain, first_seq FROM log_entries WHERE tenant = %s ORDER BY first_index"

LEAVES = """
    SELECT run_id AS chain, seq, hash FROM audit_leaves
    UNION ALL SELECT 'tenant_' || tenant, seq, hash FROM tenant_leaves
"""


async def _noted(bench: Bench, count: int) -> list[str]:
    have = len(await bench.rows("SELECT 1 FROM runs"))
    started = [
        await bench.start("bench.note", {**NOTE, "incident": f"I{number}"}, ref=f"n{number}")
        for number in range(have, have + count)
    ]
    await bench.settle()
    return [one.run_id for one in started]


async def _sequenced(bench: Bench) -> int:
    """Have all that is committed given its place; return how many leaves that were."""
    found, sequencer = 0, Sequencer(bench.engine)
    while count := await sequencer():
        found += count
    return found


async def _head(bench: Bench) -> TreeHead:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        kept = await store.lock_range(conn, TENANT)
    assert kept is not None
    return kept.head()


async def _check(bench: Bench) -> int:
    """Raise unless places have no gap, each leaf has exactly one, and the log is over them; return its size."""
    entries = await bench.rows(ENTRIES, TENANT)
    counts = [row["count"] for row in entries]
    assert [row["first_index"] for row in entries] == [0, *accumulate(counts)][: len(entries)]
    placed = [(row["chain"], row["first_seq"] + step) for row in entries for step in range(row["count"])]
    leaves = {(row["chain"], row["seq"]): row["hash"] for row in await bench.rows(LEAVES)}
    assert len(placed) == len(set(placed))
    assert set(placed) == set(leaves)
    head = await _head(bench)
    assert head == EMPTY.append(leaves[place] for place in placed).range.head()
    tiles = await bench.rows("SELECT hashes FROM log_tiles WHERE tenant = %s AND level = 0 ORDER BY number", TENANT)
    assert b"".join(row["hashes"] for row in tiles) == b"".join(leaves[place] for place in placed)
    return head.size


@asynccontextmanager
async def _unfinished(bench: Bench, run_id: str) -> AsyncIterator[None]:
    """Have a transaction on a run under way, which ends with the block."""
    async with bench.engine.run_tx(run_id) as tx:
        tx.leaf("run.looked_at", {})
        await tx.flush()
        await tx.conn.write()
        yield


async def _be_lost(bench: Bench) -> None:
    """Take what is pending, and have the connection cut."""
    async with (
        await AsyncConnection.connect(bench.superuser) as killer,
        bench.engine.pool.connection() as conn,
        conn.transaction(),
    ):
        assert await store.lock_range(conn, TENANT)
        assert await store.take_pending(conn, TENANT, 100)
        await killer.execute("SELECT pg_terminate_backend(%s)", (conn.info.backend_pid,))
        await conn.execute("SELECT 1")


async def test_every_leaf_gets_one_place(bench: Bench) -> None:
    await _noted(bench, 3)
    assert await _sequenced(bench) == await _check(bench) > 0
    assert await _sequenced(bench) == 0
    await _noted(bench, 2)
    await _sequenced(bench)
    await _check(bench)


async def test_what_is_committed_late_comes_later_and_nobody_waits_for_it(bench: Bench) -> None:
    early, late = await _noted(bench, 2)
    await _sequenced(bench)
    async with _unfinished(bench, late):
        await bench.engine.on_run(early, _look)
        assert await _sequenced(bench) == 1
    assert await _sequenced(bench) == 1
    assert [row["chain"] for row in await bench.rows(ENTRIES, TENANT)][-2:] == [early, late]
    await _check(bench)


async def test_what_is_rolled_back_has_no_place(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    await _sequenced(bench)
    with pytest.raises(ZeroDivisionError):
        async with _unfinished(bench, run_id):
            raise ZeroDivisionError
    assert await _sequenced(bench) == 0
    await _check(bench)


async def test_no_writer_waits_for_the_sequencer(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    async with bench.engine.pool.connection() as conn, conn.transaction(force_rollback=True):
        assert await store.lock_range(conn, TENANT)
        assert await store.take_pending(conn, TENANT, 100)
        await bench.engine.on_run(run_id, _look)  # commits, although the log is locked
    await _sequenced(bench)
    await _check(bench)


async def test_sequencers_at_one_moment_give_each_leaf_one_place(bench: Bench) -> None:
    await _noted(bench, 8)
    sequencers = [Sequencer(replace(bench.engine, worker=f"w{number}")) for number in range(4)]
    while sum(await asyncio.gather(*(one() for one in sequencers))):
        pass
    await _check(bench)


async def test_a_sequencer_that_is_lost_before_its_commit_has_done_nothing(bench: Bench) -> None:
    await _noted(bench, 2)
    with pytest.raises(psycopg.OperationalError):
        await _be_lost(bench)
    await _sequenced(bench)
    await _check(bench)


async def test_the_log_grows_by_what_was_committed_whatever_became_of_it_since(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    (gone,) = await bench.rows("SELECT hash FROM audit_leaves WHERE run_id = %s AND seq = 2", run_id)
    await bench.meddle("DELETE FROM audit_leaves WHERE run_id = %s AND seq = 2", run_id)
    await _sequenced(bench)
    (tile,) = await bench.rows("SELECT hashes FROM log_tiles WHERE level = 0")
    assert gone["hash"] in store.cut(tile["hashes"])


async def test_a_log_of_more_than_a_tile_has_full_ones_and_a_tile_over_them(bench: Bench) -> None:
    (run_id,) = await _noted(bench, 1)
    while (await _check_size(bench)) < 600:
        for _ in range(60):
            await bench.engine.on_run(run_id, _look)
        await _sequenced(bench)
    await _check(bench)
    tiles = await bench.rows("SELECT level, number, length(hashes) / 32 AS width FROM log_tiles ORDER BY level, number")
    size = (await _head(bench)).size
    assert [(row["level"], row["number"], row["width"]) for row in tiles] == [
        (0, 0, 256), (0, 1, 256), (0, 2, size - 512), (1, 0, 2)
    ]  # fmt: skip


async def _check_size(bench: Bench) -> int:
    return (await _head(bench)).size


async def _look(tx: RunTx) -> None:
    tx.leaf("run.looked_at", {})
