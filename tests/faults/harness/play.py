"""Plays a world from its beginning to its verdict: the storm, the settling, what is still to be covered, the check.

The checker is brought what it judges: the database, the histories, and every bundle from where it is kept.
"""

import asyncio
import json
import math
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import psycopg

from countersign.settings import ROOT
from runtime.clock import utc_now
from runtime.failpoints import Point
from tests.faults.checker.facts import Facts
from tests.faults.checker.report import Report, check, unlocked
from tests.faults.harness import schedule
from tests.faults.harness.clients import People, Triggers, session
from tests.faults.harness.releases import Releases
from tests.faults.harness.schedule import Fault, Move, Wish
from tests.faults.world import history
from tests.faults.world.policies import PolicyLife
from tests.faults.world.proxy import Trouble
from tests.faults.world.servers import stands_still
from tests.faults.world.world import FRONT, SLOTS, WORKERS, Arms, Parts, World, world


async def judge(world: World, uncovered: list[Point]) -> Report:
    """Return what the checker says of a world that has been played."""
    facts, report = await asyncio.to_thread(check, world.dsn, world.histories)
    if wrong := await _bundles(world, facts):
        report.wrong["bundles"] = wrong
    if wrong := await asyncio.to_thread(bundles_are_locked, world, facts):
        report.wrong["bundles_are_locked"] = wrong
    if uncovered:
        report.wrong["coverage"] = [f"{point} killed too seldom" for point in uncovered]
    if not report.holds:  # the database ends with the harness
        (world.folder / "tables.json").write_text(json.dumps(facts.tables, default=str, indent=1), encoding="utf-8")
    return report


def bundles_are_locked(world: World, facts: Facts) -> list[str]:
    """Return a sentence for each bundle in the bucket that can be deleted."""
    return list(unlocked(world.parts.minio.client(), facts.tables["bundles"], utc_now()))


async def _bundles(world: World, facts: Facts) -> list[str]:
    """Verify each bundle in a process of its own; return those that do not hold, or are not what was promised."""
    promised = {row["run_id"]: row["sha256"] for row in facts.tables["bundles"] if row["stored_at"] is not None}
    folder = await asyncio.to_thread(_fetch, world, facts)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.checker.bundles", str(folder), str(world.folder / "keys/evidence.pub.pem"),
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    said = [line.split(" ", 2) for line in out.decode().splitlines()]
    held = {line[1]: line[2] for line in said if line[0] == "ok"}
    wrong = [" ".join(line) for line in said if line[0] != "ok"]
    missing = [
        f"{run_id} does not stand where it was stored" for run_id in promised if held.get(run_id) != promised[run_id]
    ]
    return wrong + missing


def _fetch(world: World, facts: Facts) -> Path:
    """Copy the bundles of the bucket beside those of the folder."""
    folder = world.folder / "bundles"
    folder.mkdir(exist_ok=True)
    client = world.parts.minio.client()
    for row in facts.tables["bundles"]:
        if row["location"] is None:
            continue
        file = folder / f"{row['run_id']}.zip"
        if row["location"].startswith("s3://"):
            address = urlsplit(row["location"])
            bucket, name = address.netloc, address.path.removeprefix("/")
            file.write_bytes(client.get_object(Bucket=bucket, Key=name)["Body"].read())
        else:
            file.write_bytes(Path(row["location"]).read_bytes())
    return folder


_STILL = 6.0
"""Seconds for which a process that stopped itself stands still: longer than its lease."""
_NOTHING = Arms({}, {})
_UP = 60.0
_FRONT_RESTS, _WORKER_RESTS = 8.0, 2.5
"""Seconds for which a process that has started is let be in a storm."""
_STORMING, _COVERING = 6.0, 2.0
"""Seconds after which a point that was not hit gives its turn to the next."""
_CHANGES = 30.0
"""Seconds in which a change of the policy is done in a world that has come to rest, or those of the storm are."""
_OPEN_AT_ONCE, _UNSAID_AT_ONCE = 120, 240
_BATCH = 12
_NEEDS = {"policy": Point.EFFECT_POSTPONED, "archive": Point.BUNDLE_FAILED}
"""Links without which a rare point is reached."""
_TROUBLED = 12.0
"""Seconds for which they are away, at most."""


@dataclass(frozen=True)
class Script:
    """What is played: so many runs in so many stormy seconds.

    Each failpoint has to have killed at least so many times (`kills`): for those that have not, there are `cover`
    seconds more. Then the world comes to rest, as long as at least every `settle` seconds less is left to do.
    """

    seed: int
    runs: int
    seconds: float
    cover: float
    settle: float
    kills: int


class Stage:
    """One world being played."""

    def __init__(self, played: World, script: Script) -> None:
        self.world, self.script = played, script
        self.arms: dict[str, Iterator[Arms]] = {slot: schedule.arms(script.seed, slot) for slot in SLOTS}
        self.armed = True
        self.covering = False
        self.is_behind = False
        self.running: set[asyncio.Task[None]] = set()

    async def play(self) -> None:
        """Play the whole script; the world is quiet at the end, or the time is up."""
        assert self.world.versions is not None
        async with session() as http:
            triggers, people = Triggers(self.world, http), People(self.world, http)
            releases = Releases(self.world, self.world.versions)
            keepers = [
                asyncio.create_task(self._arm()),
                asyncio.create_task(self._watch_backlog()),
                asyncio.create_task(rouse(self.world, _STILL)),
                asyncio.create_task(watch_front(self.world)),
                asyncio.create_task(people.watch()),
            ]
            try:
                await until_up(self.world)
                began = time.monotonic()
                wishes = schedule.wishes(self.script.seed, self.script.runs, self.script.seconds)
                storm = asyncio.create_task(self._storm(schedule.faults(self.script.seed, self.script.seconds), began))
                releasing = asyncio.create_task(releases.play(schedule.releases(self.script.seed)))
                keepers.append(releasing)
                await self._bring(triggers, wishes, began)
                await storm
                if self.script.kills:
                    await self._cover(triggers)
                releasing.cancel()
                await self._calm()
                for move in (Move.NEW, Move.BACK):
                    await releases.do(move, _CHANGES)
                await self._settle()
            finally:
                for task in keepers:
                    task.cancel()
                await asyncio.gather(*keepers, return_exceptions=True)

    async def _arm(self) -> None:
        """Say for each process where it will end: some time after its start, so that it gets something done."""
        starts, due = dict.fromkeys(SLOTS, 0), dict.fromkeys(SLOTS, 0.0)
        while True:
            for name, slot in self.world.slots.items():
                if self.armed and slot.starts != starts[name]:
                    starts[name], due[name] = slot.starts, time.monotonic() + self._rest(name)
                    self.world.arm(name, _NOTHING)
                if self.armed and time.monotonic() >= due[name]:
                    due[name] = time.monotonic() + (_COVERING if self.covering else _STORMING)
                    self.world.arm(name, self._next(name))
            await asyncio.sleep(0.05)

    def _rest(self, name: str) -> float:
        if self.covering:
            return 0.0
        return _FRONT_RESTS if name == FRONT else _WORKER_RESTS

    def _next(self, name: str) -> Arms:
        if self.covering:
            known = schedule.FRONT_POINTS if name == FRONT else schedule.WORKER_POINTS
            missing = [point for point in self.uncovered() if point in known]
            return Arms({str(point): 1 for point in missing}, {})
        return next(self.arms[name])

    async def _storm(self, faults: list[Fault], began: float) -> None:
        for fault in faults:
            await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
            task = asyncio.create_task(self._strike(fault))
            self.running.add(task)
            task.add_done_callback(self.running.discard)
        if self.running:
            await asyncio.wait(self.running)

    async def _strike(self, fault: Fault) -> None:
        began = history.true_time()
        await fault.strike(self.world)
        self.world.history.add("fault", fault=repr(fault), sort=type(fault).__name__, began=began)

    async def _watch_backlog(self) -> None:
        """Know how much is open: clients wait where it is too much, so that no backlog outlasts the storm."""
        while True:
            with suppress(psycopg.Error, OSError):
                (row,) = await self.world.rows(_BACKLOG)
                self.is_behind = row["runs"] > _OPEN_AT_ONCE or row["words"] > _UNSAID_AT_ONCE
            await asyncio.sleep(0.5)

    async def _bring(self, triggers: Triggers, wishes: list[Wish], began: float) -> None:
        async with asyncio.TaskGroup() as group:
            for wish in wishes:
                await asyncio.sleep(max(0.0, began + wish.at - time.monotonic()))
                while self.is_behind and not self.covering:
                    await asyncio.sleep(0.1)
                group.create_task(triggers.bring(wish))

    async def _cover(self, triggers: Triggers) -> None:
        """Have the points kill that have killed too seldom, with more runs of each kind, one batch after another."""
        self.covering = True
        until = time.monotonic() + self.script.cover
        for batch in count():
            missing = self.uncovered()
            if not missing or time.monotonic() > until:
                return
            wishes = [
                Wish(one.number, one.at, one.kind, f"{one.kind}-more-{batch}-{one.number}", one.desk, one.copies)
                for one in schedule.wishes(self.script.seed * 1000 + batch, _BATCH, 4.0)
            ]
            await asyncio.gather(
                self._bring(triggers, wishes, time.monotonic()),
                self._trouble_for(missing if batch % 2 or set(missing) <= set(_NEEDS.values()) else []),
            )

    async def _trouble_for(self, missing: list[Point]) -> None:
        """Bring about what rare points need, until they have killed: policy away, or no room for evidence anywhere."""
        wanted = {link: point for link, point in _NEEDS.items() if point in missing}
        for link in wanted:
            self.world.links[link].begin(Trouble.CUT)
        until, is_full = time.monotonic() + _TROUBLED, "archive" in wanted
        while time.monotonic() < until and not set(wanted.values()).isdisjoint(self.uncovered()):
            self.world.fill_disk(WORKERS[1], full=is_full)  # ever again: a new process has room
            await asyncio.sleep(0.25)
        for link in wanted:
            self.world.links[link].end()
        self.world.fill_disk(WORKERS[1], full=False)

    def uncovered(self) -> list[Point]:
        """Return the points that have not killed often enough."""
        killed = Counter(
            line["point"] for line in history.read(self.world.histories, SLOTS) if line["kind"] == "killed"
        )
        return [point for point in Point if killed[point] < self.script.kills]

    async def _calm(self) -> None:
        """Start every process anew, with a right clock, and have none end any more."""
        self.armed = False
        for name in SLOTS:
            self.world.set_clock(name, 0.0, 0.0)
            self.world.arm(name, _NOTHING)
            self.world.signal(name, signal.SIGKILL)
        await until_up(self.world)

    async def _settle(self) -> None:
        """Wait until nothing is left, as long as ever less is; what stays is the checker's to say."""
        least, until = math.inf, time.monotonic() + self.script.settle
        while True:
            with suppress(psycopg.Error, OSError):
                (row,) = await self.world.rows(_LEFT)
                if row["number"] < least:
                    least, until = row["number"], time.monotonic() + self.script.settle
            if not least or time.monotonic() > until:
                return
            await asyncio.sleep(0.5)


async def until_up(played: World) -> None:
    """Wait until the edge answers."""
    async with session() as http, asyncio.timeout(_UP):
        while True:
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with http.get(f"{played.edge}/healthz") as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.1)


async def watch_front(played: World) -> None:
    """Write down when the front stops to answer, and when it answers again, for ever."""
    was_up = True
    async with session() as http:
        while True:
            is_up = False
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with http.get(f"{played.edge}/healthz") as response:
                    is_up = response.status == 200
            if is_up != was_up:
                played.history.add("up" if is_up else "down")
                was_up = is_up
            await asyncio.sleep(0.25)


async def rouse(played: World, seconds: float) -> None:
    """Let processes that stand still go on after so long, for ever."""
    since: dict[int, float] = {}
    while True:
        for name, slot in played.slots.items():
            if slot.pid is not None and stands_still(slot.pid):
                if time.monotonic() - since.setdefault(slot.pid, time.monotonic()) > seconds:
                    played.signal(name, signal.SIGCONT)
            elif slot.pid is not None:
                since.pop(slot.pid, None)
        await asyncio.sleep(0.5)


_BACKLOG = """
SELECT (SELECT count(*) FROM runs WHERE finished_at IS NULL) AS runs,
       (SELECT count(*) FROM effects WHERE purpose = 'message'
           AND status NOT IN ('dispatched', 'rejected', 'failed')) AS words
"""
_LEFT = """
SELECT (SELECT count(*) FROM runs WHERE finished_at IS NULL)
     + (SELECT count(*) FROM effects WHERE status NOT IN ('dispatched', 'rejected', 'failed'))
     + (SELECT count(*) FROM notifications WHERE status IN ('received', 'early'))
     + (SELECT count(*) FROM runs r WHERE NOT EXISTS
            (SELECT FROM evidence_bundles b WHERE b.run_id = r.run_id AND b.stored_at IS NOT NULL)) AS number
"""


async def play(parts: Parts, folder: Path, name: str, script: Script) -> Report:
    """Play a world of its own and return what the checker says of it."""
    async with world(parts, folder, name, script.seed, life=PolicyLife.FOLLOWED) as played:
        stage = Stage(played, script)
        await stage.play()
    return await judge(played, stage.uncovered())
