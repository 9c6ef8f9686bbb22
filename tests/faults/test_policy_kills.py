"""The plug is pulled (kill -9) while a version of the policy comes into force: that is done once, or signed again."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from receipts.chain import Actor
from runtime.failpoints import Point
from runtime.store.policy_versions import Activation, activate_version, lock_policy_versions
from tests.faults import dying
from tests.faults.killed import killed, killed_once
from tests.integration.conftest import Targets
from tests.integration.versions_stage import PolicyLife, open_life

NOTE = {"incident": "I1", "text": "seen", "api_token": "t"}
EXCLUSIVE, SHARED = "ExclusiveLock", "ShareLock"
NEVER = ""


@pytest.fixture
async def life(dsn: str, targets: Targets, tmp_path: Path) -> AsyncIterator[PolicyLife]:
    async with open_life(dsn, targets, tmp_path) as opened:
        yield opened


def _given(life: PolicyLife, folder: Path, point: str) -> tuple[str, ...]:
    bench = life.bench
    return bench.superuser, life.opa.url, bench.clock().isoformat(), str(folder / "author/policy.pem"), point


async def _waits(life: PolicyLife, mode: str) -> bool:
    query = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = %s"
    return bool(await life.bench.rows(query, mode))


async def _activations(life: PolicyLife) -> list[dict[str, Any]]:
    return await life.bench.rows("SELECT version FROM policy_activations ORDER BY number")


async def _requests(life: PolicyLife) -> list[dict[str, Any]]:
    query = "SELECT kind, status FROM approvals WHERE kind IN ('effect', 'in_doubt') ORDER BY requested_at"
    return await life.bench.rows(query)


async def _receipts(life: PolicyLife) -> list[str]:
    query = "SELECT outcome FROM receipts WHERE document ->> 'connector' = 'policy' ORDER BY seq"
    return [row["outcome"] for row in await life.bench.rows(query)]


@pytest.mark.parametrize("point", [Point.POLICY_ACTIVATED, Point.CONNECTOR_CALLED, Point.ATTEMPT_ENDING])
async def test_an_activation_that_was_committed_is_found_and_nobody_is_asked(
    life: PolicyLife, tmp_path: Path, point: Point
) -> None:
    nxt = await life.signed()
    await killed(dying.activate, *_given(life, tmp_path, point))
    assert await life.in_force() == 2
    assert await _receipts(life) == []
    await life.serve(nxt)
    for _ in range(5):
        await life.bench.later(minutes=1)
    assert await _activations(life) == [{"version": 1}, {"version": 2}]
    assert await _requests(life) == [{"kind": "effect", "status": "approved"}]
    assert await _receipts(life) == ["in_doubt", "success"]
    assert await life.bench.rows("SELECT status FROM runs") == [{"status": "succeeded"}]


async def test_an_activation_that_was_not_committed_is_not_done_and_people_sign_again(
    life: PolicyLife, tmp_path: Path
) -> None:
    await life.signed()
    await killed(dying.activate, *_given(life, tmp_path, Point.POLICY_ACTIVATING))
    await _is_signed_again(life)


async def test_an_activation_that_was_killed_while_it_waited_is_not_done_and_people_sign_again(
    life: PolicyLife, tmp_path: Path
) -> None:
    await life.signed()
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        await conn.execute("SELECT policy_in_force()")
        await killed_once(lambda: _waits(life, EXCLUSIVE), dying.activate, *_given(life, tmp_path, NEVER))
    await _is_signed_again(life)


async def _is_signed_again(life: PolicyLife) -> None:
    """Let the attempt be looked into; one attempt uses signatures up, so a second one needs others."""
    for _ in range(10):  # the pauses between looks are partly chance
        await life.bench.later(minutes=1)
        if len(await _requests(life)) > 1:
            break
    assert await life.in_force() == 1
    assert await _requests(life) == [
        {"kind": "effect", "status": "approved"},
        {"kind": "effect", "status": "requested"},
    ]
    await life.sign("ann", "sam")
    assert await _activations(life) == [{"version": 1}, {"version": 2}]
    assert await _receipts(life) == ["in_doubt", "success"]


async def test_a_decision_that_was_killed_while_it_waited_for_an_activation_begins_nothing(
    life: PolicyLife, targets: Targets, tmp_path: Path
) -> None:
    nxt = await life.signed()
    await life.bench.settle()
    await life.serve(nxt)
    third = await life.propose(life.changed("third", lambda config: config.update(writes_per_run=91)))
    await life.bench.start("bench.note", NOTE)
    async with life.bench.engine.pool.connection() as conn, conn.transaction():
        await lock_policy_versions(conn)
        await activate_version(
            conn, Activation(third, Actor(id="omar", kind="person"), "run_of_a_test"), life.bench.clock()
        )
        await killed_once(lambda: _waits(life, SHARED), dying.activate, *_given(life, tmp_path, NEVER))
    begun = "SELECT tries, started_at FROM effects WHERE connector = 'servicenow'"
    assert await life.bench.rows(begun) == [{"tries": 0, "started_at": None}]
    await life.serve(life.folder.parent / "third")
    for _ in range(5):
        await life.bench.later(minutes=1)
    assert len(targets.note.calls) == 1
    digests = await life.bench.rows("SELECT policy_digest FROM policy_decisions WHERE document ->> 'step' = 'note'")
    assert digests == [{"policy_digest": life.opa.revision}]
