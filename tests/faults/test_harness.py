"""The fault harness: its schedule, its proxy, and bugs that it must find.

The same seed plays the same faults, and every kind of fault and every failpoint has its turn.

The proxy between us and everything else does exactly what it is told.

Each rule on which everything rests: with it nothing is wrong, and when it is taken away the checker says so.
"""

import asyncio
import contextlib
import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from countersign.embedded.opa import OpaChild
from countersign.settings import ROOT
from evidence.retention import Retention
from evidence.s3 import S3Archive
from runtime import failpoints, sweeps
from runtime.clock import utc_now
from runtime.failpoints import Point
from runtime.gate import gate as gate_module
from runtime.planning.triggers import TriggerConflictError
from tests.faults.checker.report import unlocked
from tests.faults.harness import schedule
from tests.faults.harness.clients import Whim, whim_of
from tests.faults.harness.schedule import Link
from tests.faults.small_world import FILE, NOTE, SmallWorld, small_world
from tests.faults.world import history
from tests.faults.world.bugs import Bug, plant
from tests.faults.world.proxy import Proxy, Trouble, to_port
from tests.faults.world.upstream import Fate, fate_of
from tests.faults.world.world import KINDS, LINKS, SLOTS, WORKERS
from tests.integration.servers import MinioServer, minio_server
from tests.patience import MINUTE

PRODUCT = ("countersign", "bot", "edge", "evidence", "runtime")


def test_a_schedule_is_a_function_of_its_seed() -> None:
    assert schedule.faults(7, 300.0) == schedule.faults(7, 300.0) != schedule.faults(8, 300.0)
    assert schedule.wishes(7, 50, 60.0) == schedule.wishes(7, 50, 60.0) != schedule.wishes(8, 50, 60.0)
    assert list(islice(schedule.releases(7), 40)) == list(islice(schedule.releases(7), 40))
    for slot in SLOTS:
        assert list(islice(schedule.arms(7, slot), 40)) == list(islice(schedule.arms(7, slot), 40))


def test_what_becomes_of_a_request_is_a_function_of_the_seed() -> None:
    fates = [fate_of(7, "note", f"note:{number}", 1) for number in range(500)]
    assert fates == [fate_of(7, "note", f"note:{number}", 1) for number in range(500)]
    assert set(fates) == set(Fate)


def test_every_kind_of_fault_has_its_turn() -> None:
    faults = schedule.faults(7, 600.0)
    assert {type(fault).__name__ for fault in faults} == {
        *("Kill", "Pause", "KillDatabase", "Link", "Clock", "FullDisk"),
    }
    links = [fault for fault in faults if isinstance(fault, Link)]
    assert {fault.link for fault in links} == set(LINKS)
    assert {fault.trouble for fault in links} == set(Trouble) - {Trouble.NONE}
    assert all(fault.at % schedule.CYCLE < schedule.STORM for fault in faults)


def test_every_failpoint_has_its_turn() -> None:
    turns = [arms for slot in SLOTS for arms in islice(schedule.arms(7, slot), len(Point))]
    assert {point for arms in turns for point in arms.points} == set(Point)
    assert any(arms.stops for slot in WORKERS for arms in islice(schedule.arms(7, slot), 40))


def test_every_wish_for_a_policy_has_its_turn() -> None:
    assert {release.move for release in islice(schedule.releases(7), 12)} == set(schedule.Move)


def test_a_small_world_has_a_run_of_each_kind() -> None:
    assert {wish.kind for wish in schedule.wishes(7, len(KINDS), 10.0)} == set(KINDS)


def test_each_failpoint_stands_in_the_code() -> None:
    text = "".join(file.read_text(encoding="utf-8") for top in PRODUCT for file in (ROOT / top).rglob("*.py"))
    assert {Point[name] for name in re.findall(r"\bat\(Point\.(\w+)\)", text)} == set(Point)


def test_no_setting_arms_a_failpoint() -> None:
    assert failpoints._hooks == []
    text = "".join(file.read_text(encoding="utf-8") for top in PRODUCT for file in (ROOT / top).rglob("*.py"))
    assert not re.search(r"failpoints\.arm|import.*\barm\b", text)


def test_a_history_has_room_on_a_full_disk(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from tests.faults.world.history import History
resource.setrlimit(resource.RLIMIT_FSIZE, (90, resource.RLIM_INFINITY))
for number in range(3):
    History(Path(sys.argv[1])).add("said", number=number)
assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 90
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "one.jsonl")], cwd=ROOT, check=True)
    assert [line["number"] for line in history.read(tmp_path)] == [0, 1, 2]


def test_people_do_everything_that_the_menu_has_with_some_requests_and_decide_most() -> None:
    keys = [f"pay:pay-{number}" for number in range(200)]
    whims = Counter(whim_of("pay", key) for key in keys)
    assert whims.keys() == {None, *Whim}
    assert whims[None] > len(keys) / 3
    assert Whim.EDIT not in {whim_of("wipe", key) for key in keys}, "nothing of it may be edited"


WORDS = b"what was asked, and more of it than is said byte by byte" * 4


@dataclass
class Line:
    """A proxy in front of a server that repeats what it hears; `heard` is what reached the server."""

    proxy: Proxy
    heard: bytearray

    async def say(self, words: bytes) -> bytes:
        """Say something on a connection of its own, and return what comes back until the end or the last byte."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        try:
            return await exchange(reader, writer, words)
        finally:
            writer.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: bytes) -> bytes:
    found = b""
    with suppress(ConnectionError):
        writer.write(words)
        async with asyncio.timeout(MINUTE):
            while len(found) < len(words) and (part := await reader.read(4096)):
                found += part
    return found


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    heard = bytearray()

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(4096):
                heard.extend(data)
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(repeat, "127.0.0.1", 0)
    proxy = Proxy(to_port(server.sockets[0].getsockname()[1]))
    await proxy.start()
    yield Line(proxy, heard)
    await proxy.stop()
    server.close()


async def test_without_trouble_everything_passes(line: Line) -> None:
    assert await line.say(WORDS) == WORDS


async def test_a_cut_ends_connections_and_lets_none_in_until_it_is_over(line: Line) -> None:
    line.proxy.begin(Trouble.CUT)
    assert await line.say(WORDS) == b""
    assert line.heard == b""
    line.proxy.end()
    assert await line.say(WORDS) == WORDS


async def test_a_dropped_reply_comes_after_the_act(line: Line) -> None:
    line.proxy.begin(Trouble.DROP_REPLY)
    assert await line.say(WORDS) == b""
    assert line.heard == WORDS


async def test_what_is_stalled_goes_on_where_it_stood(line: Line) -> None:
    line.proxy.begin(Trouble.STALL)
    saying = asyncio.create_task(line.say(WORDS))
    done, _ = await asyncio.wait([saying], timeout=0.1)
    assert not done
    assert line.heard == b""
    line.proxy.end()
    assert await saying == WORDS


async def test_what_drips_comes_whole_and_in_order(line: Line) -> None:
    line.proxy.begin(Trouble.DRIP)
    saying = asyncio.create_task(line.say(WORDS))
    await asyncio.wait([saying], timeout=0.1)
    line.proxy.end()
    assert await saying == WORDS


async def test_after_half_a_close_nothing_comes_while_words_still_arrive(line: Line) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", line.proxy.port)
    assert await exchange(reader, writer, WORDS) == WORDS
    line.proxy.begin(Trouble.HALF_CLOSE)
    assert await reader.read() == b""
    writer.write(b"more")
    async with asyncio.timeout(MINUTE):
        while not line.heard.endswith(b"more"):
            await asyncio.sleep(0.01)
    writer.close()


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
    elsewhere = {Bug.BUNDLE_UNLOCKED, Bug.NO_POLICY_FENCE, Bug.BUDGET_EXCEEDED}
    assert {*STORIES, *elsewhere} == set(Bug)


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
