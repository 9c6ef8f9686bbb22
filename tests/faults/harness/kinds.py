"""What can go wrong: each kind of fault is a value that knows how to strike a world, and when it is over."""

import asyncio
import signal
from dataclasses import dataclass
from typing import Protocol

from tests.faults.world.proxy import Trouble
from tests.faults.world.world import World


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
