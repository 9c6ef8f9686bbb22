"""Callers: who signed a request, what the directory lets them do, and the record of what is refused to them.

Each request that a caller may not make, or that could not be answered for want of the database, is counted, and the
counts go on record in the tenant's chain. A refusal is answered before it is on record, so that nothing can slow or
fail it. The first of its kind (caller, route and rule) is written at once, later ones every ten seconds: a caller that
tries for ever fills no chain.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from fastapi import Request

from edge.messages import BODY_LIMIT
from edge.problems import Denied
from receipts.acts import TRIED_LENGTH, RequestRefused, Tried
from receipts.chain import Actor
from receipts.fields import timestamp
from runtime.model.limits import first_line
from runtime.services.callers import Grants


@dataclass(frozen=True)
class Caller:
    """A verified agent and what the directory lets it do."""

    id: str
    grants: Grants


def granted(caller: str, grants: Grants | None) -> Caller:
    """Return the caller with what the directory lets it do; raise Denied where that has no such agent."""
    if grants is None:
        raise Denied("caller.unknown", caller, f"the directory has no agent {caller}")
    return Caller(caller, grants)


class Verified(Protocol):
    """Finds out who signed a request, before the directory is asked what they may do."""

    async def __call__(self, request: Request, *, query: bool = False) -> tuple[str, bytes]:
        """Return the caller's name and the body that it signed; raise Problem. Without `query` there may be none."""
        ...


class Signed(Protocol):
    """Finds out who signed a request."""

    async def __call__(self, request: Request, *, query: bool = False, most: int = BODY_LIMIT) -> tuple[Caller, bytes]:
        """Return the caller and the body that it signed, of at most so many bytes; raise Problem.

        Without `query` there may be no query string.
        """
        ...


Requester = Callable[[Caller, str | None], Awaitable[Actor]]
"""Finds out for whom a caller speaks: itself, or the person it names; raises Problem."""

EVERY, RETRY = 10.0, 5.0
"""Seconds between two records of a kind, and before what could not be written is tried again.

A process that is killed loses the counts of the first at most. A caller causes a record of a kind in that time, no
more, however often it tries.
"""

LAST_LIMIT = 3.0
"""Seconds that the last records may take when the process ends."""

log = logging.getLogger(__name__)

Batch = Sequence[tuple[str, RequestRefused]]
"""Refused requests, each with the caller's name."""

Write = Callable[[Batch], Awaitable[None]]


class Tallies:
    """What is counted and not on record yet, by caller, route and rule. Pure: the time is handed in, in seconds."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str, str], RequestRefused] = {}
        self._rests: dict[tuple[str, str, str], float] = {}

    @property
    def count(self) -> int:
        """Return how many requests are not on record yet."""
        return sum(one.count for one in self._open.values())

    def add(self, caller: str, refused: RequestRefused) -> None:
        """Count what came later than what is counted."""
        key = (caller, refused.route, refused.rule)
        before = self._open.get(key)
        self._open[key] = before.with_later(refused) if before else refused

    def take(self, now: float) -> Batch:
        """Return what is due; the next of the same kind is due `EVERY` seconds later."""
        due = [key for key in self._open if self._rests.get(key, now) <= now]
        self._rests |= dict.fromkeys(due, now + EVERY)
        return [(key[0], self._open.pop(key)) for key in due]

    def put_back(self, batch: Batch, now: float) -> None:
        """Count again what could not be written; it is due in a moment."""
        for caller, refused in batch:
            key = (caller, refused.route, refused.rule)
            later = self._open.get(key)
            self._open[key] = refused.with_later(later) if later else refused
            self._rests[key] = now + RETRY

    def next_due(self) -> float | None:
        """Return when something is due, None where nothing is counted."""
        return min((self._rests.get(key, 0.0) for key in self._open), default=None)


class Refusals:
    """Records refused requests beside the server; `write` puts them in the tenant's chain, all or none."""

    def __init__(self, write: Write, clock: Callable[[], datetime]) -> None:
        self._write = write
        self._clock = clock
        self._tallies = Tallies()
        self._noted = asyncio.Event()
        self._ends = False

    def note(self, request: Request, denied: Denied) -> None:
        """Count a request of an authenticated caller that is denied, or could not be answered."""
        now = timestamp(self._clock())
        tried = Tried(subject=denied.subject[:TRIED_LENGTH], path=request.scope["path"][:TRIED_LENGTH])
        route = f"{request.method} {request.scope['route'].path}"
        refused = RequestRefused(route=route, rule=denied.rule, count=1, first_at=now, last_at=now, tried=[tried])
        self._tallies.add(request.state.caller, refused)
        self._noted.set()

    @asynccontextmanager
    async def recorded(self, last_limit: float) -> AsyncIterator[None]:
        """Write what is noted in the block; at its end the rest, which may take `last_limit` seconds."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._ends = True
            self._noted.set()
            _, late = await asyncio.wait({task}, timeout=last_limit)
            if late:
                task.cancel()
                await asyncio.wait(late)
            if self._tallies.count:
                log.error("refused requests that are on no record: %d", self._tallies.count)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._ends:
            if due := self._tallies.take(loop.time()):
                await self._put(due)
            else:
                await self._wait()
        await self._put(self._tallies.take(math.inf))

    async def _wait(self) -> None:
        """Wait until something is noted, or due."""
        self._noted.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._tallies.next_due()):
                await self._noted.wait()

    async def _put(self, batch: Batch) -> None:
        try:
            await self._write(batch)
        except BaseException as error:
            self._tallies.put_back(batch, asyncio.get_running_loop().time())
            if not isinstance(error, Exception):
                raise
            log.warning("refused requests that are not on record yet: %d: %s", self._tallies.count, first_line(error))
