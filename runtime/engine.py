"""What the shell of the runtime works with: one value, built in the composition root and handed down."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, partial
from typing import Any, TypeVar

from policy.contract import PolicyUnavailableError, Question, Verdict
from policy.engine import PolicyEngine
from policy.unserved import UnservedPolicies
from receipts.chain import Actor
from receipts.privacy import Privacy
from runtime.clock import Clock, utc_now
from runtime.definitions.cel.outcomes import NotEvaluatedError
from runtime.evaluator import Evaluator
from runtime.handlers import Handler
from runtime.model.effect import Effect, SlotOffer
from runtime.model.notification import Addressed, Notification, Payload
from runtime.model.passage_facts import PassageFacts
from runtime.model.payloads import PayloadError
from runtime.model.routing import Destination, Fallback, Rule, Subject, first_fit
from runtime.model.runbook_version import RunbookVersion
from runtime.model.subscription import Subscription
from runtime.named_people import asked_with_names
from runtime.store import directory, notifications
from runtime.store.batched_reads import BatchedReads, Batcher, with_fallback_to_single
from runtime.store.database.buffered_connection import at_once
from runtime.store.database.pool import Conn, Pool
from runtime.store.definitions import Definitions, versions_of_triggers
from runtime.store.passage_facts import read_all_facts
from runtime.store.run_tx import RunSnapshot, RunTx, UnknownRunError, lock_runs, run_tx_of
from runtime.store.transaction_batcher import Look, TransactionBatcher, WorkItem

T = TypeVar("T")

_QUESTIONS, _REQUESTS = 32, 2
"""Questions in one request to policy, and requests under way."""
_FACTS = 64
"""Effects whose facts are read at once."""
_NOTIFICATIONS = 256
"""Notifications that are written, or looked at, at once."""
_SECONDS = (1 << 24) - 1
HEAD_START = timedelta(seconds=2)
"""For so long whoever has recorded a notification is left to apply it; then any worker does."""


def new_id(prefix: str) -> str:
    """Return a fresh identifier such as ``run_3f9c…``: the seconds of some six months, and 72 random bits.

    What is made at about one time stands together in indexes, so that few of their pages change with it.
    """
    return f"{prefix}_{int(utc_now().timestamp()) & _SECONDS:06x}{secrets.token_hex(9)}"


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
    """Where cards go: by the first of the tenant's rules that fits; else to their group's channel, or the one for all.

    `doubt_groups` settle what is in doubt. `fallback` is asked, too, where nobody who is asked can decide. `public_url`
    is where people's browsers reach the edge (scheme, host and port), "" where they do not. `digest` is that of all
    that the tenant's file of rules says, None where it says nothing.
    """

    default_channel: str
    channels: Mapping[str, str] = field(default_factory=dict)
    doubt_groups: tuple[str, ...] = ("operators",)
    rules: tuple[Rule, ...] = ()
    fallback: Fallback | None = None
    public_url: str = ""
    digest: str | None = None

    def channel(self, groups: tuple[str, ...]) -> str:
        """Return the channel of the first group that has one."""
        return next((self.channels[group] for group in groups if group in self.channels), self.default_channel)

    def destination(self, subject: Subject) -> Destination:
        """Return where a request goes."""
        rule = first_fit(self.rules, subject)
        return rule.send if rule else Destination((self.channel(subject.groups),))


class Wakeup:
    """Tells the workers of this process that there is work, and those of other processes through `announce`."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.announce = asyncio.Event()
        self.leaves = asyncio.Event()  # a sequencer of this process hears of what is to be given its place
        self.slot_offer: Callable[[], AbstractContextManager[SlotOffer]] = lambda: nullcontext(
            SlotOffer()
        )  # here: a worker's

    def poke(self) -> None:
        """Say that something was committed which a worker should look at."""
        self.event.set()
        self.announce.set()


@dataclass
class PolicySeen:
    """The revision of the newest answer of policy; how often it was `asked_ahead`, and how many of those are `used`."""

    revision: str = ""
    asked_ahead: int = 0
    used: int = 0


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
    mocked: bool = False  # this process, and all that its tenant ever ran, runs on mocks
    timing: Timing = field(default_factory=Timing)
    definitions: Definitions = field(default_factory=Definitions)
    evaluator: Evaluator = field(default_factory=Evaluator)
    wakeup: Wakeup = field(default_factory=Wakeup)
    troubled: set[tuple[str, str]] = field(default_factory=set)  # connectors, and targets, whose breaker has counted
    directory_seen: dict[str, str] = field(
        default_factory=dict
    )  # of each tenant, as open requests were last held to it
    unserved: UnservedPolicies = field(default_factory=lambda: UnservedPolicies(None))  # asks the previous version
    policy_seen: PolicySeen = field(default_factory=PolicySeen)
    # digests of the policy texts that the store has, each with its version; None where it is none
    kept_texts: dict[str, int | None] = field(default_factory=dict)
    subscriptions: tuple[Subscription, ...] = ()
    listener: Callable[["Engine", RunTx], Awaitable[None]] | None = None  # tells subscribers, where there are any
    new_id: Callable[[str], str] = new_id
    jitter: Callable[[], float] = jitter

    @asynccontextmanager
    async def run_tx(self, run_id: str) -> AsyncIterator[RunTx]:
        """Lock the run in a transaction of its own and commit what is done to it; raise UnknownRunError."""
        async with self.pool.connection() as conn, conn.transaction():
            tx = await self.lock_run(conn, run_id)
            yield tx
            await tx.flush()

    async def lock_run(self, conn: Conn, run_id: str, request_id: str = "") -> RunTx:
        """Lock a run of the tenant in the caller's transaction; the caller flushes. Raise UnknownRunError."""
        tx = (await self.lock_runs(conn, {run_id}, wait=True))[run_id]
        tx.request_id = request_id or tx.request_id
        return tx

    async def on_run(
        self,
        run_id: str,
        work: Callable[[RunTx], Awaitable[T]],
        looks: Sequence[Look] = (),
        known: RunSnapshot | None = None,
        *,
        alone: bool = False,
    ) -> T:
        """Lock a run, do something to it and commit, together with others who want the like (`TransactionBatcher`).

        What `work` does must bear being done again: a set that fails is rolled back, and each is tried by itself.
        `looks` is what it is likely to read first; `known` is where the run stands, if it has not moved since.
        What is done `alone` has a transaction of its own.
        """
        found: T = await self.evaluating(lambda: self._together(WorkItem(run_id, work, looks, known, alone)))
        return found

    async def evaluating(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do `work`, which plans in transactions; what a plan needs of costly expressions is evaluated between them.

        The transaction that needed it is rolled back, and no run is locked meanwhile. Raise StoppedError where that
        takes too long.
        """
        while True:
            try:
                return await work()
            except NotEvaluatedError as needed:
                await self.evaluator.evaluate(needed.costly)

    @cached_property
    def ask(self) -> Batcher[Question, Verdict]:
        """Return what asks policy, together with others who ask now; it raises PolicyUnavailableError."""
        return Batcher(self._ask_all, most=_QUESTIONS, at_once=_REQUESTS)

    async def _ask_all(self, questions: Sequence[Question]) -> Sequence[Verdict | PolicyUnavailableError]:
        found = await self.ask_with_names(questions)
        for verdict in (one for one in found if isinstance(one, Verdict)):
            self.policy_seen.revision = verdict.policy_digest
        return found

    async def ask_with_names(self, questions: Sequence[Question]) -> Sequence[Verdict | PolicyUnavailableError]:
        """Return what policy answers; where it asks who is named in fields of an effect, it is told."""
        answers = await self.policy.ask_all(questions)
        if not any(isinstance(one, Verdict) and one.answer.names for one in answers):
            return answers
        return await asked_with_names(self.pool, self.policy.ask_all, questions, answers)

    @cached_property
    def facts_of(self) -> Batcher[Effect, PassageFacts]:
        """Return what gives the facts of an effect, read together with those of others that are wanted now."""
        return Batcher(self._read_facts, most=_FACTS, at_once=1)

    async def _read_facts(self, effects: Sequence[Effect]) -> Sequence[PassageFacts]:
        async with self.pool.connection() as conn:
            return await read_all_facts(conn, effects)

    @cached_property
    def versions_of(self) -> Batcher[str, list[RunbookVersion]]:
        """Return what gives the versions that take triggers of a type, read together with those of other types."""
        return Batcher(self._read_versions, most=_NOTIFICATIONS, at_once=1)

    async def _read_versions(self, types: Sequence[str]) -> Sequence[list[RunbookVersion]]:
        async with self.pool.connection() as conn:
            found = await versions_of_triggers(conn, self.tenant, types)
        return [found[one] for one in types]

    @cached_property
    def actor(self) -> Batcher[str, dict[str, Any] | None]:
        """Return what gives an actor of the directory as it is now, or None, read together with others."""
        return Batcher(with_fallback_to_single(self._read_actors), most=_NOTIFICATIONS, at_once=1)

    async def _read_actors(self, ids: Sequence[str]) -> Sequence[dict[str, Any] | None]:
        async with self.pool.connection() as conn:
            return await directory.actors(conn, [(self.tenant, one) for one in ids])

    def notification(
        self, payload: Payload, *, by: Actor, about: str, key: str, request_id: str | None = None
    ) -> Notification:
        """Return what somebody says, not recorded yet; `about` is what it is correlated by, `key` its dedupe key."""
        request_id = self.new_id("req") if request_id is None else request_id
        return Notification(self.new_id("ntf"), self.tenant, key, about, payload, by, request_id)

    @cached_property
    def addressed(self) -> Batcher[str, Addressed]:
        """Return what gives a notification and what it is for, read together with others; it raises PayloadError."""
        return Batcher(with_fallback_to_single(self._read_addressed), most=_NOTIFICATIONS, at_once=1)

    async def _read_addressed(self, ids: Sequence[str]) -> Sequence[Addressed | PayloadError | LookupError]:
        async with self.pool.connection() as conn:
            return await notifications.addressed(conn, ids)

    @cached_property
    def record(self) -> Batcher[Notification, str]:
        """Return what writes a notification, together with others, for its writer to apply; it gives the first's id."""
        return Batcher(with_fallback_to_single(self._record_all), most=_NOTIFICATIONS, at_once=1)

    async def _record_all(self, new: Sequence[Notification]) -> Sequence[str | Coroutine[object, object, str]]:
        """Write notifications in one commit; a repeat is counted on the first in one of its own."""
        now = self.clock()
        async with self.pool.connection() as conn:
            written = await notifications.record_all(conn, new, now, now + HEAD_START)
        return [one.notification_id if one.notification_id in written else self._record(one) for one in new]

    @cached_property
    def record_addressed(self) -> Batcher[Notification, Addressed | str]:
        """Return what does as `record`, and gives what is new with what it is for; of a repeat the first's id."""
        return Batcher(with_fallback_to_single(self._record_all_addressed), most=_NOTIFICATIONS, at_once=1)

    async def _record_all_addressed(
        self, new: Sequence[Notification]
    ) -> Sequence[Addressed | str | Coroutine[object, object, str]]:
        now, ids = self.clock(), [one.notification_id for one in new]
        async with self.pool.connection() as conn:
            written, found = await at_once(
                notifications.record_all(conn, new, now, now + HEAD_START), notifications.addressed(conn, ids)
            )
        return [
            (read if isinstance(read, Addressed) else one.notification_id)
            if one.notification_id in written
            else self._record(one)
            for one, read in zip(new, found, strict=True)
        ]

    async def _record(self, new: Notification) -> str:
        async with self.pool.connection() as conn:
            return await notifications.record(conn, new, self.clock())

    @cached_property
    def _together(self) -> TransactionBatcher:
        return TransactionBatcher(self.pool, self.lock_runs_beside, self.made_run)

    async def lock_runs(self, conn: Conn, run_ids: Collection[str], *, wait: bool) -> dict[str, RunTx]:
        """Lock runs of the tenant; those that others hold are left out, or waited for."""
        return await self.lock_runs_beside(BatchedReads(conn), run_ids, wait=wait)

    async def lock_runs_beside(self, loads: BatchedReads, run_ids: Collection[str], *, wait: bool) -> dict[str, RunTx]:
        """Do as `lock_runs`; what `loads` reads at the same moment is read behind the locks, in one round trip."""
        found = await lock_runs(loads, self.tenant, run_ids, self.clock(), self.definitions, self.privacy, wait=wait)
        loads.conn.on_commit(self.wakeup.leaves.set)
        for tx in found.values():
            self._listen_to(tx)
        if wait and len(found) < len(set(run_ids)):
            raise UnknownRunError(", ".join(sorted(set(run_ids) - set(found))))
        return found

    def made_run(self, loads: BatchedReads, row: dict[str, Any], now: datetime | None = None) -> RunTx:
        """Return a run whose row was made, or locked, in the transaction of `loads`, or known; the caller flushes."""
        now = max(now or self.clock(), row["updated_at"])
        tx = run_tx_of(loads, row, now, self.definitions, self.privacy)
        loads.conn.on_commit(self.wakeup.leaves.set)
        self._listen_to(tx)
        return tx

    def _listen_to(self, tx: RunTx) -> None:
        if self.listener is not None:
            tx.listener = partial(self.listener, self)
