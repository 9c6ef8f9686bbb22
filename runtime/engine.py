"""What the shell of the runtime works with: one value, built in the composition root and handed down."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from policy.model import PolicyEngine
from receipts.privacy import Privacy
from runtime.clock import Clock
from runtime.handlers import Handler
from runtime.store.database.pool import Conn, Pool
from runtime.store.definitions import Definitions
from runtime.store.run_tx import RunTx, lock_run


def new_id(prefix: str) -> str:
    """Return a fresh identifier such as ``run_3f9c…``: 96 random bits."""
    return f"{prefix}_{secrets.token_hex(12)}"


def jitter() -> float:
    """Return a random number in [0, 1)."""
    return secrets.randbelow(1 << 20) / (1 << 20)


@dataclass(frozen=True)
class Timing:
    """How long things may take."""

    lease: timedelta = timedelta(seconds=30)
    effect_deadline: timedelta = timedelta(days=1)
    read_deadline: timedelta = timedelta(days=1)
    poll: timedelta = timedelta(seconds=1)
    before: timedelta = timedelta(seconds=2)


@dataclass(frozen=True)
class Routing:
    """Where cards go: a channel for each group, and one for all others; `doubt_groups` settle what is in doubt."""

    default_channel: str
    channels: Mapping[str, str] = field(default_factory=dict)
    doubt_groups: tuple[str, ...] = ("operators",)

    def channel(self, groups: tuple[str, ...]) -> str:
        """Return the channel of the first group that has one."""
        return next((self.channels[group] for group in groups if group in self.channels), self.default_channel)


class Wakeup:
    """Tells the workers of this process that there is work, and those of other processes through `announce`."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.announce = asyncio.Event()

    def poke(self) -> None:
        """Say that something was committed which a worker should look at."""
        self.event.set()
        self.announce.set()


@dataclass(frozen=True)
class Engine:
    """Everything the runtime's shell needs; nothing in it is built by the runtime itself."""

    dsn: str
    listen_dsn: str | None  # where LISTEN works; without it workers poll
    pool: Pool
    tenant: str
    handlers: Mapping[str, Handler]
    policy: PolicyEngine
    clock: Clock
    routing: Routing
    worker: str
    privacy: Privacy  # takes the settings' secrets out of texts from outside
    timing: Timing = field(default_factory=Timing)
    definitions: Definitions = field(default_factory=Definitions)
    wakeup: Wakeup = field(default_factory=Wakeup)
    troubled: set[tuple[str, str]] = field(default_factory=set)  # connectors, and targets, whose breaker has counted
    kept_texts: set[str] = field(default_factory=set)  # digests of the policy texts that the store has
    new_id: Callable[[str], str] = new_id
    jitter: Callable[[], float] = jitter

    @asynccontextmanager
    async def run_tx(self, run_id: str, request_id: str = "") -> AsyncIterator[RunTx]:
        """Lock the run in a transaction of its own and commit what is done to it; raise UnknownRunError."""
        async with self.pool.connection() as conn, conn.transaction():
            tx = await self.lock_run(conn, run_id, request_id)
            yield tx
            await tx.flush()

    async def lock_run(self, conn: Conn, run_id: str, request_id: str = "") -> RunTx:
        """Lock a run of the tenant in the caller's transaction; the caller flushes. Raise UnknownRunError."""
        return await lock_run(conn, self.tenant, run_id, self.clock(), self.definitions, self.privacy, request_id)
