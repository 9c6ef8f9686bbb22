"""The worker: starts runs, does reads, takes effects through the gate, applies what the inbox holds.

It keeps nothing in memory that matters. It is woken by LISTEN/NOTIFY, and polls as well: polling alone is enough.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial

import psycopg

from runtime.definitions.cel.outcomes import Costly, NotEvaluatedError
from runtime.engine import Engine
from runtime.evaluator import StoppedError
from runtime.failpoints import Point, at
from runtime.gate import gate, gate_passage
from runtime.gate.beginning import begin_ahead
from runtime.gate.read_effects import do_read
from runtime.inbox import inbox
from runtime.lanes import ChainedLeases, Lane, room_for, share_of_again, slots_of
from runtime.model.effect import ChainedLease, Effect, NewEffect, Purpose
from runtime.model.run import ReadLease
from runtime.planning.run_starts import STARTS, start_next
from runtime.store import leases, notifications
from runtime.store.database import signals
from runtime.store.database.signals import beside
from runtime.store.leases import Lessee

log = logging.getLogger(__name__)

PAUSE = 30.0
"""Seconds for which a run that cannot be started is left alone."""

HANDED_ON = 16
"""Effects of a run that may follow each other in one slot while others wait for one."""

_PURPOSES = {Lane.EFFECTS: Purpose.STEP, Lane.MESSAGES: Purpose.MESSAGE, Lane.HOOKS: Purpose.MESSAGE}

Job = Callable[[], Awaitable[int]]


@dataclass(frozen=True)
class _Work:
    """What a slot is busy with; a lease is held on to while it lasts. `following` is what will have the slot then."""

    lane: Lane
    lease: Effect | ReadLease | None = None
    following: NewEffect | None = None

    @property
    def effect(self) -> Effect | NewEffect | None:
        """Return what counts for its connector and target."""
        return self.following or (self.lease if isinstance(self.lease, Effect) else None)

    @property
    def is_read_again(self) -> bool:
        return isinstance(self.lease, ReadLease) and self.lease.attempt > 1


class Worker:
    """Runs until told to stop, then lets what it has begun come to an end. `jobs` are further work to poll."""

    def __init__(self, engine: Engine, *, concurrency: int = 8, jobs: Sequence[Job] = ()) -> None:
        self.engine = engine
        self.slots = slots_of(concurrency, len({one.target for one in engine.subscriptions}))
        self.jobs = jobs
        self._tasks: dict[asyncio.Task[None], _Work] = {}
        self._chained_leases = ChainedLeases(engine, self._fits, self._take_chained)
        self._failing: set[str] = set()  # runs that could not be started a moment ago
        self._more = False  # the last look found work, or no room for it
        self._refreshed = float("-inf")  # when, in the loop's time, breakers of other processes were last looked at
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Take no new work; `run` returns when what is under way has ended."""
        self._stopping.set()
        self.engine.wakeup.event.set()

    async def run(self) -> None:
        """Work until stopped."""
        wakeup = self.engine.wakeup
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(
                signals.listening(self.engine.listen_dsn, self.engine.worker, wakeup.event.set)
            )
            stack.enter_context(self._chained_leases.offering())
            for work in (self._heartbeat(), *(self._repeat(job) for job in self.jobs)):
                await stack.enter_async_context(beside(work))
            while not self._stopping.is_set():
                wakeup.event.clear()
                if not await self._safely(self.claim()):
                    await self._rest()
            await self._finish()

    async def _finish(self) -> None:
        """Let what has begun, and what may still be given to this worker, come to its end."""
        while under_way := {*self._tasks, *self._chained_leases.ends}:
            await asyncio.wait(under_way)
        seen = self.engine.policy_seen
        if seen.asked_ahead:
            log.info("policy was asked ahead %d times, and %d of its answers were used", seen.asked_ahead, seen.used)

    def _take_chained(self, chained: ChainedLease) -> None:
        at(Point.EFFECT_LEASED)
        self._spawn(Lane.EFFECTS, self._perform(Lane.EFFECTS, chained), chained.effect)

    def _fits(self, effect: NewEffect) -> bool:
        """Return whether there is room for an effect, and nothing else waits for it."""
        return self._may_chain() and self._has_room(effect, self._effects_in(Lane.EFFECTS))

    def _has_room(self, effect: NewEffect, busy: Sequence[Effect | NewEffect]) -> bool:
        room = room_for(self.slots, Lane.EFFECTS, busy, self.engine.handlers)
        return (
            room.slots > 0
            and room.by_connector.get(effect.connector, 0) < room.connector_cap
            and room.by_target.get((effect.connector, effect.target), 0) < room.target_cap
        )

    async def _heartbeat(self) -> None:
        """Hold on to what is under way; a worker that cannot say so any more loses it to others."""
        engine, lease = self.engine, self.engine.timing.lease
        while True:
            await asyncio.sleep(lease.total_seconds() / 3)
            held = [work.lease for work in self._tasks.values() if work.lease is not None]
            with suppress(psycopg.Error, OSError):
                async with engine.pool.connection() as conn:
                    await leases.extend_leases(conn, engine.worker, held, engine.clock() + lease)
                await gate_passage.refresh(engine)

    async def _repeat(self, job: Job) -> None:
        """Do a job beside the rest, however long it takes."""
        while True:
            if not await self._safely(job()):
                await asyncio.sleep(self.engine.timing.poll.total_seconds())

    async def _rest(self) -> None:
        poll, now = self.engine.timing.poll.total_seconds(), asyncio.get_running_loop().time()
        if now >= self._refreshed + poll:
            with suppress(psycopg.Error, OSError):
                await gate_passage.refresh(self.engine)
            self._refreshed = now
        with suppress(TimeoutError):
            async with asyncio.timeout(poll):
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
            while await self.claim():
                pass
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def claim(self) -> int:
        """Take on as much as there is room for; return how much there was."""
        async with self.engine.pool.connection() as conn:
            due = await leases.due_work(conn, self.engine.tenant, self.engine.clock())
        found = (
            (due.notifications and await self._apply_notifications())
            + (due.effects and await self._lease_effects(Lane.EFFECTS))  # what was decided comes before its word
            + (due.messages and await self._lease_effects(Lane.MESSAGES))
            + (due.messages and await self._lease_effects(Lane.HOOKS))
            + (due.reads and await self._lease_reads())
            + (due.runs and await self._start_runs())
        )
        self._more = found > 0 or self._is_full()
        return found

    def _is_full(self) -> bool:
        """Return whether there may be work for which there is no room just now."""
        room = room_for(self.slots, Lane.EFFECTS, self._effects_in(Lane.EFFECTS), self.engine.handlers)
        return (
            any(not self._free(lane) for lane in Lane if lane is not Lane.HOOKS)  # nothing waits for subscribers
            or any(busy >= room.connector_cap for busy in room.by_connector.values())
            or any(busy >= room.target_cap for busy in room.by_target.values())
        )

    def _may_chain(self) -> bool:
        """Return whether an effect that follows from another may have its slot: when nothing else waits for it."""
        return not self._more and not self._stopping.is_set()

    def _busy(self, lane: Lane) -> list[_Work]:
        return [work for work in self._tasks.values() if work.lane is lane]

    def _free(self, lane: Lane) -> int:
        return max(self.slots.by_lane[lane] - len(self._busy(lane)), 0)

    def _spawn(
        self, lane: Lane, coroutine: Coroutine[object, object, object], lease: Effect | ReadLease | None
    ) -> None:
        task = asyncio.create_task(self._guarded(coroutine))
        self._tasks[task] = _Work(lane, lease)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        work = self._tasks.pop(task)
        if self._more or work.lane is Lane.HOOKS or self._stopping.is_set():
            self.engine.wakeup.event.set()

    async def _guarded(self, coroutine: Coroutine[object, object, object]) -> None:
        """What is claimed and fails here is free again when its time has run out: nothing is lost."""
        try:
            await coroutine
        except Exception:
            log.exception("a piece of work failed; its lease will run out")

    def _lessee(self) -> Lessee:
        engine = self.engine
        now = engine.clock()
        return Lessee(engine.tenant, engine.worker, now, now + engine.timing.lease)

    async def _apply_notifications(self) -> int:
        free, lessee = self._free(Lane.INBOX), self._lessee()
        if not free:
            return 0
        async with self.engine.pool.connection() as conn:
            claimed = await notifications.claim(conn, lessee.tenant, lessee.now, lessee.until, free)
        for notification_id in claimed:
            at(Point.NOTIFICATION_CLAIMED)
            self._spawn(Lane.INBOX, inbox.apply(self.engine, notification_id), None)
        return len(claimed)

    async def _start_runs(self) -> int:
        """Start some runs, and more beside other work where there may be any."""
        if not self._free(Lane.STARTS):
            return 0
        started = await self._start_some()
        if started >= STARTS:
            self._spawn(Lane.STARTS, self._start_all(), None)
        return started

    async def _start_all(self) -> None:
        while await self._start_some() >= STARTS:
            pass

    async def _start_some(self) -> int:
        """Start the next runs. One that cannot be started is left alone for a while, and holds up no other."""
        before = set(self._failing)
        try:
            return await start_next(self.engine, self._failing, begin_ahead)
        except NotEvaluatedError as needed:
            left = self._failing - before
            self._spawn(Lane.STARTS, self._evaluate(needed.costly, left), None)
            return len(left)
        except Exception:
            log.exception("a run could not be started; it will be tried again")
            self._leave_alone(self._failing - before)
            return len(self._failing - before)

    async def _evaluate(self, costly: Costly, run_ids: Collection[str]) -> None:
        """Have what the start of these runs needs evaluated, beside other work; then they are tried again."""
        try:
            await self.engine.evaluator.evaluate(costly)
        except StoppedError:
            self._leave_alone(run_ids)
            raise
        self._failing.difference_update(run_ids)
        self.engine.wakeup.event.set()

    def _leave_alone(self, run_ids: Collection[str]) -> None:
        for run_id in run_ids:
            asyncio.get_running_loop().call_later(PAUSE, self._failing.discard, run_id)

    async def _lease_reads(self) -> int:
        free = self._free(Lane.READS)
        if not free:
            return 0
        busy = sum(work.is_read_again for work in self._busy(Lane.READS))
        again = share_of_again(self.slots, Lane.READS, busy)
        async with self.engine.pool.connection() as conn:
            leased = await leases.lease_reads(conn, self._lessee(), list(self.engine.handlers), free, again)
        for lease in leased:
            at(Point.READ_LEASED)
            self._spawn(Lane.READS, do_read(self.engine, lease), lease)
        return len(leased)

    async def _lease_effects(self, lane: Lane) -> int:
        room = room_for(self.slots, lane, self._effects_in(lane), self.engine.handlers)
        if not (room.slots and room.handlers):
            return 0
        async with self.engine.pool.connection() as conn:
            leased = await leases.lease_effects(conn, self._lessee(), _PURPOSES[lane], room)
        for effect in leased:
            at(Point.EFFECT_LEASED)
            self._spawn(lane, self._perform(lane, ChainedLease(effect)), effect)
        return len(leased)

    def _effects_in(self, lane: Lane, but: _Work | None = None) -> list[Effect | NewEffect]:
        """Return what is under way, and what will be with somebody's commit."""
        chained = self._chained_leases.chained if lane is Lane.EFFECTS else []
        return [*chained, *(work.effect for work in self._busy(lane) if work.effect and work is not but)]

    async def _perform(self, lane: Lane, leased: ChainedLease) -> None:
        """Take an effect through the gate, and then what follows from it, as long as it is leased with its end."""
        chained: ChainedLease | None = leased
        task, handed = asyncio.current_task(), 0
        while task is not None and chained is not None:
            self._tasks[task] = _Work(lane, chained.effect)
            may_chain = partial(self._hands_on, task, chained.effect, handed=handed)
            known = chained.run.snapshot() if chained.run else None
            chained = await gate.perform(self.engine, chained.effect, may_chain, chained.begun, known)
            handed += 1
            if chained is not None:
                at(Point.EFFECT_LEASED)

    def _hands_on(self, task: asyncio.Task[None], effect: Effect, following: NewEffect, handed: int) -> bool:
        """Give an effect's slot to what follows, and say whether it is; where others wait for one, for a few in a row.

        From then on what follows counts: others who end at the same moment must not be given the same room.
        """
        if self._stopping.is_set() or (self._more and handed >= HANDED_ON):
            return False
        work, is_same = self._tasks[task], (following.connector, following.target) == (effect.connector, effect.target)
        if not is_same and not self._has_room(following, self._effects_in(Lane.EFFECTS, but=work)):
            return False
        self._tasks[task] = replace(work, following=following)
        return True

    async def _do_jobs(self) -> int:
        return sum([await job() for job in self.jobs])
