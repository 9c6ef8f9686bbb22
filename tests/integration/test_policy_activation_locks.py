"""Activations and decisions at the same moment: each waits for the other where it must, and none for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from receipts.chain import Actor
from runtime.handlers import Call, Handler, JsonObject
from runtime.model.effect import PolicyReplacedError
from runtime.services import policy_versions
from runtime.services.policy_versions import INSTALLATION
from runtime.store.database.pool import Conn
from runtime.store.policy_versions import Activation, activate_version, lock_policy_versions
from runtime.store.records import expect_in_force
from runtime.store.tenants import lock_chain, salt_of
from tests.bench import Bench
from tests.integration.acts_stage import delegate
from tests.integration.conftest import Targets
from tests.integration.versions_stage import PolicyLife, open_life
from tests.patience import until

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
EXCLUSIVE, SHARED = "ExclusiveLock", "ShareLock"
SOON = "-c lock_timeout=300ms"


@pytest.fixture
async def life(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[PolicyLife]:
    async with open_life(dsn, targets, tmp_path) as opened:
        yield opened


async def _waits(bench: Bench, mode: str) -> bool:
    """Return whether somebody waits for an advisory lock."""
    query = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = %s"
    return bool(await bench.rows(query, mode))


async def _activation_waits(bench: Bench) -> bool:
    """Return whether a transaction that has locked the versions waits for another lock."""
    query = """
        SELECT 1 FROM pg_locks waiting JOIN pg_locks held USING (pid)
         WHERE NOT waiting.granted AND held.granted AND held.locktype = 'advisory' AND held.mode = %s
    """
    return bool(await bench.rows(query, EXCLUSIVE))


async def _both_wait(bench: Bench) -> bool:
    """Return whether two wait for the end of a chain, each of another tenant's."""
    query = """
        SELECT DISTINCT pid FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE NOT granted AND strpos(query, %s) = 1
    """
    return len(await bench.rows(query, "SELECT FROM tenants ")) == len(("the activation", "the act"))


@asynccontextmanager
async def _transaction(life: PolicyLife) -> AsyncIterator[Conn]:
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        yield conn


async def _is_in_force(life: PolicyLife, version: int) -> bool:
    return await life.in_force() == version


async def _attempts(bench: Bench) -> list[dict[str, Any]]:
    return await bench.rows("SELECT status, tries FROM effects WHERE connector = 'policy'")


async def test_an_activation_waits_for_a_decision_that_is_about_to_be_committed(life: PolicyLife) -> None:
    await life.signed()
    async with _transaction(life) as deciding:
        assert await deciding.row("SELECT policy_in_force() AS version") == {"version": 1}
        working = asyncio.create_task(life.bench.settle())
        await until(lambda: _waits(life.bench, EXCLUSIVE))
        assert await life.in_force() == 1
    await working
    assert await life.in_force() == 2


async def test_a_decision_that_waits_for_an_activation_goes_by_the_new_version(
    life: PolicyLife, targets: Targets
) -> None:
    nxt = await life.signed()
    await life.bench.start("bench.note", NOTE)
    async with _transaction(life) as activating:
        await lock_policy_versions(activating)
        activation = Activation(2, Actor(id="omar", kind="person"), "run_of_a_test")
        await activate_version(activating, activation, life.bench.clock())
        working = asyncio.create_task(life.bench.settle())
        await until(lambda: _waits(life.bench, SHARED))
        assert targets.note.calls == []
    await working
    assert targets.note.calls == []
    (effect,) = await life.bench.rows("SELECT status, error FROM effects WHERE connector = 'servicenow'")
    assert (effect["status"], effect["error"].partition("and ")[2]) == ("pending", "another one is in force")
    await life.serve(nxt)
    await life.bench.later(minutes=1)
    assert len(targets.note.calls) == 1
    digests = await life.bench.rows("SELECT policy_digest FROM policy_decisions WHERE document->>'step' = 'note'")
    assert digests == [{"policy_digest": life.opa.revision}]


async def test_an_activation_does_not_wait_for_a_decision_about_its_own_run(life: PolicyLife) -> None:
    await life.signed()
    async with _transaction(life) as deciding:
        await _hold_run(life, deciding)
        working = asyncio.create_task(life.bench.settle())
        await until(lambda: _is_in_force(life, 2))
        assert await deciding.row("SELECT policy_in_force() AS version") == {"version": 2}
    await working
    assert await life.in_force() == 2
    assert await _attempts(life.bench) == [{"status": "dispatched", "tries": 1}]


async def _hold_run(life: PolicyLife, conn: Conn) -> None:
    """Have the run of the activation locked, as by a decision about its card, when the connector is called."""
    handlers: dict[str, Handler] = life.bench.engine.handlers  # type: ignore[assignment]  # a dict, for this bench
    real = handlers["policy::activate"]

    async def activate(call: Call) -> JsonObject:
        await conn.execute("SELECT FROM runs WHERE run_id = %s FOR UPDATE", (call.run_id,))
        result = await real.run(call)
        assert isinstance(result, dict)
        return result

    handlers["policy::activate"] = Handler(activate, reconcile=real.reconcile)


async def test_an_operators_act_and_an_activation_do_not_wait_for_each_other(life: PolicyLife) -> None:
    async with life.bench.engine.pool.connection() as conn:
        await salt_of(conn, "zeta")
    await life.signed()
    async with _transaction(life) as appending:
        await lock_chain(appending, "zeta")  # which the activation wants when it has that of the act's own tenant
        working = asyncio.create_task(life.bench.settle())
        await until(lambda: _activation_waits(life.bench))
        acting = asyncio.create_task(delegate(life.bench, "ben", "cat", "compliance"))
        await until(lambda: _both_wait(life.bench))
    await asyncio.gather(working, acting)
    assert await life.in_force() == 2
    assert await _attempts(life.bench) == [{"status": "dispatched", "tries": 1}]
    (act,) = await life.bench.rows("SELECT error FROM notifications WHERE kind = 'delegate'")
    assert "is in force, and" in act["error"]


async def test_an_activation_that_waited_too_long_is_tried_again_under_the_same_signatures(
    dsn: str, targets: Targets, tmp_path: Path
) -> None:
    async with open_life(dsn, targets, tmp_path, options=SOON) as life:
        await life.signed()
        async with _transaction(life) as deciding:
            await deciding.execute("SELECT policy_in_force()")
            await life.bench.settle()
        assert await life.in_force() == 1
        await life.bench.later(minutes=1)
        assert await life.in_force() == 2
        asked = await life.bench.rows("SELECT status FROM approvals WHERE kind IN ('effect', 'in_doubt')")
        assert asked == [{"status": "approved"}]


async def test_an_act_that_waits_for_the_first_version_goes_by_it(life: PolicyLife) -> None:
    new = await life.made(life.folder, INSTALLATION)
    async with _transaction(life) as installing:
        await policy_versions.install(installing, new, life.bench.clock())
        acting = asyncio.create_task(_act_by(life, "00"))
        await until(lambda: _waits(life.bench, SHARED))
    with pytest.raises(PolicyReplacedError, match="is in force, and 00 answered"):
        await acting


async def _act_by(life: PolicyLife, digest: str) -> None:
    """Do what an operator may by the answer of a policy."""
    async with _transaction(life) as conn:
        await expect_in_force(conn, digest)
