"""Each rule on which everything rests: with it nothing is wrong, and when it is taken away the checker says so."""

import contextlib
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from evidence.archive.retention import Retention
from evidence.archive.s3 import S3Archive
from runtime import failpoints
from runtime.clock import utc_now
from runtime.failpoints import Point
from runtime.gate import gate as gate_module
from runtime.planning.triggers import TriggerConflictError
from runtime.worker import sweeps
from tests.faults.checker.locks import unlocked
from tests.faults.small_world import FILE, NOTE, SmallWorld, small_world
from tests.faults.world.bugs import Bug, plant
from tests.integration.minio_server import MinioServer, minio_server


class Killed(BaseException):
    """The process is gone."""


Story = Callable[[SmallWorld, pytest.MonkeyPatch], Awaitable[None]]


@pytest.fixture
async def world(dsn: str, opa: OpaChild, tmp_path: Path) -> AsyncIterator[SmallWorld]:
    async with small_world(dsn, opa, tmp_path) as small:
        yield small


async def _sleeps_past_its_lease(world: SmallWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker begins, stands still while another does the work, and goes on."""
    await world.start("bench.note", NOTE, "n1")
    await _until_proposed(world)
    act, asleep = gate_module._Gate.act, [True]

    async def act_later(gate: Any) -> None:
        if asleep.pop() if asleep else False:
            await world.bench.later(hours=1)
            await world.bench.later(hours=1)
        await act(gate)

    monkeypatch.setattr(gate_module._Gate, "act", act_later)
    await world.perform(await world.lease())


async def _is_sent_twice(world: SmallWorld, _: pytest.MonkeyPatch) -> None:
    for _twice in range(2):
        await world.start("bench.note", NOTE, "n1")


async def _lands_late(world: SmallWorld, _: pytest.MonkeyPatch) -> None:
    """The first request gets no answer, and lands when the runtime has looked for it once."""
    world.note.late = True
    await world.start("bench.note", NOTE, "n1")
    await world.bench.settle()
    world.note.late = False
    await world.bench.later(seconds=3)
    world.note.land()
    await world.bench.later(hours=1)


async def _is_signed_by_one(world: SmallWorld, _: pytest.MonkeyPatch) -> None:
    """One signs, and much later a second one, if that is still wanted."""
    await world.start("bench.file", FILE, "f1")
    await world.bench.settle()
    await world.sign("ann")
    await world.bench.later(minutes=5)
    if await world.bench.rows("SELECT FROM approvals WHERE status = 'requested'"):
        await world.sign("ben")


async def _is_killed_after_the_act(world: SmallWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(point: Point) -> None:
        if point is Point.CONNECTOR_CALLED:
            raise Killed

    await world.start("bench.note", NOTE, "n1")
    await _until_proposed(world)
    effect = await world.lease()
    with monkeypatch.context() as armed:
        armed.setattr(failpoints, "_hooks", [kill])
        with contextlib.suppress(Killed):
            await world.perform(effect)
    await world.bench.later(hours=1)
    await world.bench.later(hours=1)


async def _until_proposed(world: SmallWorld) -> None:
    """Start the run, so that its effect waits for a worker."""
    while await world.bench.worker._start_some():
        pass


STORIES: dict[Bug, tuple[Story, str]] = {
    Bug.NO_FENCE: (_sleeps_past_its_lease, "effects_happen_once"),
    Bug.NO_DEDUPE: (_is_sent_twice, "triggers_reach_one_end"),
    Bug.DOUBT_CLEARED_AT_ONCE: (_lands_late, "effects_happen_once"),
    Bug.VOTE_COUNTED_TWICE: (_is_signed_by_one, "effects_are_allowed"),
    Bug.COMMIT_LEFT_OUT: (_is_killed_after_the_act, "effects_happen_once"),
    Bug.VOTE_LOST: (_is_signed_by_one, "counted_votes_are_on_record"),
}


async def _play(world: SmallWorld, story: Story, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    with contextlib.suppress(TriggerConflictError):
        await story(world, monkeypatch)
    await sweeps.sweep(world.bench.engine)
    await world.seal()
    return await world.wrong()


def test_each_bug_has_its_story() -> None:
    assert {*STORIES, Bug.BUNDLE_UNLOCKED} == set(Bug)


@pytest.mark.parametrize("bug", STORIES)
async def test_with_the_rule_nothing_is_wrong(world: SmallWorld, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await _play(world, STORIES[bug][0], monkeypatch) == {}


@pytest.mark.parametrize("bug", STORIES)
async def test_a_planted_bug_is_caught(world: SmallWorld, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(bug, monkeypatch.setattr)
    story, rule = STORIES[bug]
    assert rule in await _play(world, story, monkeypatch)


def _deletable(minio: MinioServer, bucket: str) -> list[str]:
    """Store a bundle and return what the checker says of its lock."""
    data = b"a bundle"
    archive = S3Archive(minio.client(), minio.make_bucket(bucket), "", Retention("GOVERNANCE", 1), utc_now)
    stored = archive.put("run_1.zip", data, hashlib.sha256(data).hexdigest())
    row = {"run_id": "run_1", "location": stored.location, "stored_at": utc_now()}
    return list(unlocked(minio.client(), [row], utc_now()))


def test_a_bundle_that_is_stored_without_its_lock_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with minio_server(tmp_path) as minio:
        assert _deletable(minio, "with-the-rule") == []
        plant(Bug.BUNDLE_UNLOCKED, monkeypatch.setattr)
        assert _deletable(minio, "without-it") == ["the bundle of run_1 can be deleted: it is stored without its lock"]
