"""The worker: starts runs, does reads, takes effects through the gate, applies what the inbox holds.

It keeps nothing in memory that matters. It is woken by LISTEN/NOTIFY, and polls as well: polling alone is enough.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any

import psycopg

from runtime.engine import Engine
from runtime.gate import gate
from runtime.gate.reads import do_read
from runtime.inbox import inbox
from runtime.model.effect import Effect
from runtime.model.step import ReadLease
from runtime.planning.triggers import start_run
from runtime.store import effects, leases, notifications, runs, steps
from runtime.store.database import signals
from runtime.store.database.signals import beside

log = logging.getLogger(__name__)

PAUSE = 30.0
"""Seconds for which a run or a notification that failed is left alone."""

Job = Callable[[], Awaitable[int]]


class Worker:
    """Runs until told to stop, then lets what it has begun come to an end. `jobs` are further work to poll."""

    def __init__(self, engine: Engine, *, concurrency: int = 8, jobs: Sequence[Job] = ()) -> None:
        self.engine = engine
        self.concurrency = concurrency
        self.jobs = jobs
        self._tasks: dict[asyncio.Task[None], Effect | ReadLease | None] = {}
        self._busy: set[str] = set()
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no new work; `run` returns when what is under way has ended."""
        self._stopping.set()
        self.engine.wakeup.event.set()

    async def run(self) -> None:
        """Work until stopped."""
        wakeup = self.engine.wakeup
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(signals.listening(self.engine.dsn, wakeup.event.set))
            for work in (self._heartbeat(), *(self._repeat(job) for job in self.jobs)):
                await stack.enter_async_context(beside(work))
            while not self._stopping.is_set():
                wakeup.event.clear()
                if not await self._safely(self.claim()):
                    await self._rest()
            while self._tasks:
                await asyncio.wait(self._tasks)

    async def _heartbeat(self) -> None:
        """Hold on to what is under way; a worker that cannot say so any more loses it to others."""
        lease = self.engine.timing.lease
        while True:
            await asyncio.sleep(lease.total_seconds() / 3)
            held = [one for one in self._tasks.values() if one is not None]
            with suppress(psycopg.Error, OSError):
                async with self.engine.pool.connection() as conn:
                    await leases.extend(conn, self.engine.worker, held, self.engine.clock() + lease)

    async def _repeat(self, job: Job) -> None:
        """Do a job beside the rest, however long it takes."""
        while True:
            if not await self._safely(job()):
                await asyncio.sleep(self.engine.timing.poll.total_seconds())

    async def _rest(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self.engine.timing.poll.total_seconds()):
                await self.engine.wakeup.event.wait()

    async def _safely(self, work: Awaitable[int]) -> int:
        """A fault of one round, such as a database that is away, must not end the worker: the rows stay."""
        try:
            return await work
        except Exception:
            log.exception("a round of work failed; it will be tried again")
            await asyncio.sleep(self.engine.timing.poll.total_seconds())
            return 0

    async def drain(self) -> None:
        """Do all that can be done now, then return: for tests and one-shot use."""
        while await self.claim() or self._tasks or await self._do_jobs():
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def claim(self) -> int:
        """Take on as much as there is room for; return how much was found."""
        if not self._room:
            return 0
        return (
            await self._apply_notifications()
            + await self._lease_effects()
            + await self._lease_reads()
            + await self._start_runs()
        )

    @property
    def _room(self) -> int:
        return max(self.concurrency - len(self._tasks), 0)

    def _spawn(self, work: Coroutine[Any, Any, None], lease: Effect | ReadLease | None = None) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._tasks[task] = lease
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self.engine.wakeup.event.set()

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """The lease of what fails here runs out and is reclaimed: nothing is lost, and the worker goes on."""
        try:
            await work
        except Exception:
            log.exception("a piece of work failed; its lease will run out")

    async def _apply_notifications(self) -> int:
        async with self.engine.pool.connection() as conn:
            found = await notifications.received(conn, self._room, tuple(self._busy))
        for notification_id in found:
            self._busy.add(notification_id)
            self._spawn(self._alone(notification_id, inbox.apply(self.engine, notification_id)))
        return len(found)

    async def _start_runs(self) -> int:
        async with self.engine.pool.connection() as conn:
            found = await runs.queued(conn, self._room, tuple(self._busy))
        for run_id in found:
            self._busy.add(run_id)
            self._spawn(self._alone(run_id, start_run(self.engine, run_id)))
        return len(found)

    async def _alone(self, row: str, work: Coroutine[Any, Any, object]) -> None:
        """Do what has no lease. What fails is left alone for a while: it neither spins nor holds up the rest."""
        try:
            await work
        except BaseException:
            asyncio.get_running_loop().call_later(PAUSE, self._busy.discard, row)
            raise
        self._busy.discard(row)

    async def _lease_reads(self) -> int:
        now = self.engine.clock()
        until = now + self.engine.timing.lease
        async with self.engine.pool.connection() as conn:
            leased = await steps.lease_reads(conn, self.engine.worker, now, until, self._room)
        for lease in leased:
            self._spawn(do_read(self.engine, lease), lease)
        return len(leased)

    async def _lease_effects(self) -> int:
        now = self.engine.clock()
        until = now + self.engine.timing.lease
        async with self.engine.pool.connection() as conn:
            leased = await effects.lease_effects(conn, self.engine.worker, now, until, self._room)
        for effect in leased:
            self._spawn(gate.perform(self.engine, effect), effect)
        return len(leased)

    async def _do_jobs(self) -> int:
        return sum([await job() for job in self.jobs])
