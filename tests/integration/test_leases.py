"""Leases that are held: a worker holds on to what is under way, and waits for nobody who is settling some of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import LiteralString

import psycopg
import pytest

from runtime.model.effect import Effect
from runtime.model.run import ReadLease
from runtime.store import leases
from tests.bench import Bench
from tests.patience import MINUTE

LONG = timedelta(minutes=10)
EFFECTS = "SELECT effect_id AS id, lease_expires_at AS until FROM effects ORDER BY effect_id"
READS = "SELECT path AS id, lease_expires_at AS until FROM steps WHERE lease_owner IS NOT NULL ORDER BY path"


async def _start(bench: Bench) -> None:
    """Have two effects and two reads wait for a worker."""
    for number in range(2):
        await bench.start("bench.note", {"incident": f"I{number}", "text": "seen", "api_token": "t"}, ref=f"r{number}")
    await bench.start("bench.branches", {}, ref="reads")
    await bench.worker._start_some()


async def _effects(bench: Bench) -> list[Effect]:
    return sorted(await bench.lease("me", timedelta(seconds=30)), key=lambda one: one.effect_id)


async def _reads(bench: Bench) -> list[ReadLease]:
    now = bench.clock()
    lessee = leases.Lessee("acme", "me", now, now + timedelta(seconds=30))
    async with bench.engine.pool.connection() as conn:
        return await leases.lease_reads(conn, lessee, list(bench.engine.handlers), 8, 0)


async def _extend(bench: Bench, held: Sequence[Effect | ReadLease], worker: str = "me") -> None:
    async with asyncio.timeout(MINUTE), bench.engine.pool.connection() as conn:
        await leases.extend_leases(conn, worker, held, bench.clock() + LONG)


async def test_a_lease_is_held_on_to_by_its_worker_alone_and_with_its_own_attempt(bench: Bench) -> None:
    await _start(bench)
    first, second = await _effects(bench)
    await bench.meddle("UPDATE effects SET attempt = attempt + 1 WHERE effect_id = %s", second.effect_id)
    until = [row["until"] for row in await bench.rows(EFFECTS)]
    await _extend(bench, [first, second], worker="other")
    assert [row["until"] for row in await bench.rows(EFFECTS)] == until
    await _extend(bench, [first, second])
    assert [row["until"] for row in await bench.rows(EFFECTS)] == [bench.clock() + LONG, until[1]]


@pytest.mark.parametrize(
    ("lease", "of_all", "lock"),
    [
        (_effects, EFFECTS, "SELECT FROM effects WHERE effect_id = %s FOR UPDATE"),
        (_reads, READS, "SELECT FROM steps WHERE path = %s FOR UPDATE"),
    ],
)
async def test_what_is_being_settled_is_not_waited_for_and_the_others_are_held(
    bench: Bench, lease: Callable[[Bench], Awaitable[Sequence[Effect | ReadLease]]], of_all: str, lock: LiteralString
) -> None:
    await _start(bench)
    held = await lease(bench)
    first, second = await bench.rows(of_all)
    async with await psycopg.AsyncConnection.connect(bench.superuser) as settling:
        await settling.execute(lock, (first["id"],))
        await _extend(bench, held)
    assert await bench.rows(of_all) == [first, {"id": second["id"], "until": bench.clock() + LONG}]


@pytest.mark.parametrize(
    ("lease", "of_all", "refer"),
    [
        (_effects, EFFECTS, "SELECT FROM effects FOR KEY SHARE"),
        (_reads, READS, "SELECT FROM steps FOR KEY SHARE"),
    ],
)
async def test_what_somebody_writes_rows_about_is_leased_and_held_meanwhile(
    bench: Bench, lease: Callable[[Bench], Awaitable[Sequence[Effect | ReadLease]]], of_all: str, refer: LiteralString
) -> None:
    await _start(bench)
    async with await psycopg.AsyncConnection.connect(bench.superuser) as writing:
        await writing.execute(refer)
        held = await lease(bench)
        await _extend(bench, held)
    assert [row["until"] for row in await bench.rows(of_all)] == [bench.clock() + LONG] * 2
