"""A worker writes under its own lease and attempt alone: the fence of every UPDATE of an effect."""

from dataclasses import replace
from typing import Any

import pytest

from runtime.model.effect import Effect, LeaseLostError
from runtime.model.states import EffectStatus
from runtime.planning.triggers import start_run
from runtime.store import effects
from tests.bench import Bench

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}


@pytest.fixture
async def leased(bench: Bench) -> Effect:
    """An effect that a worker has leased."""
    await start_run(bench.engine, (await bench.start("bench.note", NOTE)).run_id)
    (effect,) = await bench.lease("ours", bench.engine.timing.lease)
    return effect


async def settle(bench: Bench, effect: Effect) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await effects.settle(conn, effect, EffectStatus.DISPATCHED)


async def begin(bench: Bench, effect: Effect) -> None:
    async with bench.engine.pool.connection() as conn, conn.transaction():
        await effects.begin_attempt(conn, effect, now=bench.clock(), decision_id="dec_1", digest=effect.digest)


async def row_of(bench: Bench, effect: Effect) -> dict[str, Any]:
    query = "SELECT status, claimed, attempt, lease_owner FROM effects WHERE effect_id = %s"
    (row,) = await bench.rows(query, effect.effect_id)
    return row


async def test_the_worker_that_holds_the_lease_settles_its_effect(bench: Bench, leased: Effect) -> None:
    await settle(bench, leased)
    assert (await row_of(bench, leased))["status"] == "dispatched"


@pytest.mark.parametrize("theirs", [{"lease_owner": "other"}, {"attempt": 2}, {"lease_owner": "other", "attempt": 0}])
@pytest.mark.parametrize("write", [settle, begin])
async def test_a_lease_of_another_worker_or_attempt_writes_nothing(
    bench: Bench, leased: Effect, write: Any, theirs: dict[str, Any]
) -> None:
    before = await row_of(bench, leased)
    with pytest.raises(LeaseLostError, match=leased.effect_id):
        await write(bench, replace(leased, **theirs))
    assert await row_of(bench, leased) == before
