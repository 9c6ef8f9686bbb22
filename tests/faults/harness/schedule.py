"""The schedule of faults: what goes wrong, and when; a pure function of the seed. Seconds count from the beginning.

Each kind of fault is a value that knows how to strike a world, and when it is over.
"""

import asyncio
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import Protocol

from runtime.failpoints import Point
from tests.faults.world.chat import DESKS
from tests.faults.world.proxy import Trouble
from tests.faults.world.world import FRONT, KINDS, LINKS, SLOTS, WORKERS, Arms, World


class Fault(Protocol):
    """Something that goes wrong at a moment, in seconds from the world's beginning."""

    @property
    def at(self) -> float:
        """Return when it strikes."""
        ...

    async def strike(self, world: World) -> None:
        """Go wrong; return when it is over."""
        ...


@dataclass(frozen=True)
class Kill:
    """A process of ours is killed."""

    at: float
    slot: str

    async def strike(self, world: World) -> None:
        """Kill it; its keeper starts another."""
        world.signal(self.slot, signal.SIGKILL)


@dataclass(frozen=True)
class Pause:
    """A process of ours stands still for longer than its lease."""

    at: float
    slot: str
    seconds: float

    async def strike(self, world: World) -> None:
        """Stop it, and let it go on."""
        if world.signal(self.slot, signal.SIGSTOP):
            await asyncio.sleep(self.seconds)
            world.signal(self.slot, signal.SIGCONT)


@dataclass(frozen=True)
class KillDatabase:
    """PostgreSQL is killed, as by a power cut, and is away for a while."""

    at: float
    seconds: float

    async def strike(self, world: World) -> None:
        """Kill it, and start it again."""
        await asyncio.to_thread(world.parts.postgres.kill)
        await asyncio.sleep(self.seconds)
        await asyncio.to_thread(world.parts.postgres.start)


@dataclass(frozen=True)
class Link:
    """A link misbehaves for a while."""

    at: float
    link: str
    trouble: Trouble
    seconds: float

    async def strike(self, world: World) -> None:
        """Make trouble, and end it."""
        world.links[self.link].begin(self.trouble)
        await asyncio.sleep(self.seconds)
        world.links[self.link].end()


@dataclass(frozen=True)
class Clock:
    """A machine's wall clock is set wrong, by up to ten minutes, and drifts; its process starts anew with it."""

    at: float
    slot: str
    step: float
    drift: float

    async def strike(self, world: World) -> None:
        """Set the clock; a process reads it where it starts, so one that runs is killed."""
        world.set_clock(self.slot, self.step, self.drift)
        world.signal(self.slot, signal.SIGKILL)


@dataclass(frozen=True)
class FullDisk:
    """There is no room for evidence for a while."""

    at: float
    slot: str
    seconds: float

    async def strike(self, world: World) -> None:
        """Let no file grow; then let them grow again."""
        world.fill_disk(self.slot, full=True)
        await asyncio.sleep(self.seconds)
        world.fill_disk(self.slot, full=False)


CYCLE, STORM = 30.0, 22.0
"""Of each cycle of seconds, the first are stormy; in the rest nothing new goes wrong."""
FRONT_POINTS = (
    *(Point.TRIGGER_CLAIMING, Point.TRIGGER_CLAIMED, Point.NOTIFICATION_RECORDING, Point.NOTIFICATION_RECORDED),
    *(Point.NOTIFICATION_APPLYING, Point.NOTIFICATION_APPLIED),
)
WORKER_POINTS = tuple(point for point in Point if point not in (Point.TRIGGER_CLAIMING, Point.TRIGGER_CLAIMED))
_SHARES = {"note": 24, "pay": 25, "wipe": 3, "leave": 4, "ask": 20, "pause": 18, "tree": 6}
_HITS = 4
_RARE_SHARE = 0.25
RARE = (Point.POLICY_ACTIVATING, Point.POLICY_ACTIVATED)
"""Points to which a world comes but now and then: they have their turn beside the others."""


@dataclass(frozen=True)
class Wish:
    """A run that a client wants: of which kind, under which name, when, and how often it is sent at once."""

    number: int
    at: float
    kind: str
    ref: str
    desk: int
    copies: int


def faults(seed: int, seconds: float) -> list[Fault]:
    """Return what goes wrong in a world that is stormy for so long."""
    rng = random.Random(f"faults {seed}")  # noqa: S311 - repeatable on purpose
    found: list[Fault] = []
    at = 4.0
    kinds = count()
    while at < seconds - 4:
        if at % CYCLE < STORM:
            found.append(_fault(rng, at, next(kinds)))
        at += rng.uniform(2.4, 4.4)
    return found


def _fault(rng: random.Random, at: float, number: int) -> Fault:
    """Return a fault; every kind comes in turn."""
    match number % 8:
        case 0:
            return Kill(at, rng.choice(SLOTS))
        case 1 | 4:
            return Pause(at, rng.choice(WORKERS), rng.uniform(4.0, 6.0))
        case 2 | 6:
            link = LINKS[number // 4 % len(LINKS)]
            return Link(
                at, link, rng.choice([one for one in Trouble if one is not Trouble.NONE]), rng.uniform(0.5, 3.5)
            )
        case 3:
            return KillDatabase(at, rng.uniform(0.1, 2.0))
        case 5:
            return Clock(at, rng.choice(SLOTS), rng.uniform(-600, 600), rng.uniform(-0.05, 0.05))
        case _:
            return FullDisk(at, WORKERS[1], rng.uniform(2.0, 5.0))


def arms(seed: int, slot: str) -> Iterator[Arms]:
    """Yield how each start of a slot's process is treated: every point has its turn, and the rare ones beside it."""
    rng = random.Random(f"arms {seed} {slot}")  # noqa: S311 - repeatable on purpose
    known = FRONT_POINTS if slot == FRONT else WORKER_POINTS
    while True:
        turns = list(known)
        rng.shuffle(turns)
        for point in turns:
            points = {str(point): rng.randint(1, _HITS)}
            if slot != FRONT and rng.random() < _RARE_SHARE:
                points[str(rng.choice(RARE))] = 1
            stops = {str(Point.ATTEMPT_BEGUN): rng.randint(2, 8)} if slot != FRONT and rng.random() < 0.3 else {}
            yield Arms(points, stops)


def wishes(seed: int, runs: int, seconds: float) -> list[Wish]:
    """Return the runs that clients want, spread over the time."""
    rng = random.Random(f"wishes {seed}")  # noqa: S311 - repeatable on purpose
    kinds = rng.choices(KINDS, [_SHARES[kind] for kind in KINDS], k=runs)
    kinds[: len(KINDS)] = KINDS[:runs]  # a small world has one of each
    return [
        Wish(
            number=number,
            at=number * seconds / runs,
            kind=kind,
            ref=f"{kind}-{number}",
            desk=rng.randrange(len(DESKS)),
            copies=rng.choice((1, 1, 1, 2, 4)),
        )
        for number, kind in enumerate(kinds)
    ]


class Move(StrEnum):
    """What is wanted of the policy."""

    NEW = "new"  # a version that nobody has seen
    OLD = "old"  # the newest one that is not in force
    BACK = "back"  # the previous version
    BOTH = "both"  # two new ones at once: the second is too late


@dataclass(frozen=True)
class Release:
    """A wish for another policy, so many seconds after the last one was done or given up."""

    pause: float
    move: Move


_MOVES = (Move.NEW, Move.NEW, Move.BACK, Move.NEW, Move.OLD, Move.BOTH)


def releases(seed: int) -> Iterator[Release]:
    """Yield what is wanted of the policy, one after another, without end; every move comes in turn."""
    rng = random.Random(f"releases {seed}")  # noqa: S311 - repeatable on purpose
    for number in count():
        yield Release(rng.uniform(1.5, 4.0), _MOVES[number % len(_MOVES)])
