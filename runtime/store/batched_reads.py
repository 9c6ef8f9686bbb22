"""Batched reads: what the runs of one transaction read, one statement for all that ask at the same moment.

`Batcher` is the queue in front of any work that is cheaper in sets. `private_documents` finds what a run's rows hold
that nobody may see.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from runtime.model.approval import Approval
from runtime.model.delegation import Delegate, StandIn
from runtime.model.delivery import Notices
from runtime.model.notification import NotificationState
from runtime.model.run import StepState
from runtime.model.states import StepStatus
from runtime.model.votes import Vote
from runtime.model.wait import NamedWait, Wait
from runtime.store.approvals import counted_votes, get_approvals
from runtime.store.database.pool import AWAY, Conn
from runtime.store.delegations import stand_ins_of_all
from runtime.store.direct_messages import notices_of, people_reached
from runtime.store.directory import KnownSender, Sender, actors, known_senders
from runtime.store.effects import insert_messages
from runtime.store.metrics import SeenByVoter, seen_by_voters
from runtime.store.notifications import find_all_recorded, standings
from runtime.store.open_work import EndedRun, OpenWork, RunStep, is_step_open, open_work_of
from runtime.store.passage_facts import EndedEffect, RunFacts, run_facts
from runtime.store.runs import Queued, Subject, TriggerName, claim_triggers, runs_about, runs_of_triggers
from runtime.store.steps import WantedSteps, load_steps
from runtime.store.waits import open_waits

T = TypeVar("T")
R = TypeVar("R")


BatchResults = Sequence[R | Exception | Coroutine[Any, Any, R | Exception]]

log = logging.getLogger(__name__)


def with_fallback_to_single(
    do: Callable[[Sequence[T]], Awaitable[BatchResults[R]]],
) -> Callable[[Sequence[T]], Awaitable[BatchResults[R]]]:
    """Return what does the same, but takes a set apart that fails: each piece is then done, and fails, by itself."""

    async def one(piece: T) -> R | Exception:
        (found,) = await do([piece])
        return await found if asyncio.iscoroutine(found) else found

    async def together(pieces: Sequence[T]) -> BatchResults[R]:
        try:
            return await do(pieces)
        except AWAY:
            raise
        except Exception:
            if len(pieces) == 1:
                raise
            log.debug("a set of %d is taken apart", len(pieces), exc_info=True)  # each then raises for itself
            return [one(piece) for piece in pieces]

    return together


class Batcher(Generic[T, R]):
    """Does pieces of work in sets of at most `most`, with at most `at_once` sets under way.

    `do` returns, in order, for each piece its result, the exception that it ended with, or a coroutine that gives one
    of them: a piece that takes longer, for which the next set does not wait. What `do` raises is that of all.
    """

    def __init__(
        self,
        do: Callable[[Sequence[T]], Awaitable[BatchResults[R]]],
        *,
        most: int,
        at_once: int,
    ) -> None:
        self._do = do
        self._most = most
        self._free = at_once
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()

    async def __call__(self, piece: T) -> R:
        """Do a piece of work together with others that wait; return its result, or raise what it ended with."""
        return await self.put(piece)

    def put(self, piece: T) -> asyncio.Future[R]:
        """Start a piece of work together with others that wait; the caller awaits its future, or cancels it."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((piece, future))
        if self._free:
            self._free -= 1
            self._beside(self._work())
        return future

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _work(self) -> None:
        try:
            while self._waiting:
                size = min(self._most, len(self._waiting))
                await self._one([self._waiting.popleft() for _ in range(size)])
        finally:
            self._free += 1

    async def _one(self, pieces: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        found: BatchResults[R]
        try:
            found = await self._do([piece for piece, _ in pieces])
        except Exception as error:  # noqa: BLE001 - it is for those who wait
            found = [error] * len(pieces)
        for (_, future), result in zip(pieces, found, strict=True):
            if asyncio.iscoroutine(result):
                self._beside(_end_later(future, result))
            else:
                _end_future(future, result)


async def _end_later(future: asyncio.Future[R], work: Coroutine[Any, Any, R | Exception]) -> None:
    try:
        _end_future(future, await work)
    except Exception as error:  # noqa: BLE001 - it is for whoever waits
        _end_future(future, error)


def _end_future(future: asyncio.Future[R], result: Any) -> None:
    if future.done():
        return  # whoever waited has gone
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)


@dataclass(frozen=True)
class PrivateDocument:
    """The fields of an effect, the params of a read, or a wait's token. `pointers` None: the step's verb says them."""

    step: str
    document: Any
    pointers: Sequence[str] | None


async def private_documents(conn: Conn, run_ids: Sequence[str]) -> list[list[PrivateDocument]]:
    """Return, of each run, the documents that may hold what nobody may see."""
    rows = await conn.look(
        """
        SELECT run_id, step, fields AS document, redact AS pointers FROM effects
         WHERE run_id = ANY(%(run_ids)b) AND purpose = 'step' AND hides AND forgotten IS NULL
        UNION ALL
        SELECT run_id, path, params, NULL FROM steps WHERE run_id = ANY(%(run_ids)b) AND params IS NOT NULL
        UNION ALL
        SELECT run_id, step, json_build_object('token', token), '[]' FROM waits
         WHERE run_id = ANY(%(run_ids)b) AND type = 'external'
        """,
        {"run_ids": list(run_ids)},
        table="steps",
        keys=set(run_ids),
    )
    found: dict[str, list[PrivateDocument]] = {run_id: [] for run_id in run_ids}
    for row in rows:
        found[row["run_id"]].append(PrivateDocument(row["step"], row["document"], row["pointers"]))
    return [found[run_id] for run_id in run_ids]


_MOST = 1000


class BatchedReads:
    """What the `runs` of a transaction on `conn` share: reads, and messages, each of which may be there already."""

    def __init__(self, conn: Conn, runs: int = 1) -> None:
        self.conn = conn
        self.runs = runs
        self.alone = asyncio.Lock()  # of what is looked at and written by one run of the transaction at a time
        self.sign_counts = dict[str, int]()  # by passkey, what its authenticator counted in this transaction
        self.steps: Batcher[WantedSteps, tuple[dict[str, StepState], frozenset[StepStatus]]]
        self.steps = Batcher(partial(load_steps, conn), most=_MOST, at_once=1)
        self.leftovers: Batcher[EndedRun, OpenWork]
        self.leftovers = Batcher(partial(open_work_of, conn), most=_MOST, at_once=1)
        self.is_open: Batcher[RunStep, bool]
        self.is_open = Batcher(partial(is_step_open, conn), most=_MOST, at_once=1)
        self.standing: Batcher[str, NotificationState]
        self.standing = Batcher(partial(standings, conn), most=_MOST, at_once=1)
        self.wait: Batcher[NamedWait, Wait | None]
        self.wait = Batcher(partial(open_waits, conn), most=_MOST, at_once=1)
        self.approval: Batcher[str, Approval | None]
        self.approval = Batcher(partial(get_approvals, conn), most=_MOST, at_once=1)
        self.votes: Batcher[str, list[Vote]]
        self.votes = Batcher(partial(counted_votes, conn), most=_MOST, at_once=1)
        self.actor: Batcher[tuple[str, str], dict[str, Any] | None]
        self.actor = Batcher(partial(actors, conn), most=_MOST, at_once=1)
        self.notices: Batcher[tuple[str, str], Notices]
        self.notices = Batcher(partial(notices_of, conn), most=_MOST, at_once=1)
        self.stand_ins: Batcher[Delegate, list[StandIn]]
        self.stand_ins = Batcher(partial(stand_ins_of_all, conn), most=_MOST, at_once=1)
        self.reached: Batcher[tuple[str, str], dict[str, Notices]]
        self.reached = Batcher(partial(people_reached, conn), most=_MOST, at_once=1)
        self.seen: Batcher[tuple[str, str], SeenByVoter]
        self.seen = Batcher(partial(seen_by_voters, conn), most=_MOST, at_once=1)
        self.message: Batcher[Sequence[Any], bool]
        self.message = Batcher(partial(insert_messages, conn), most=_MOST, at_once=1)
        self.run_facts: Batcher[EndedEffect, RunFacts]
        self.run_facts = Batcher(partial(run_facts, conn), most=_MOST, at_once=1)
        self.sender: Batcher[Sender, KnownSender]
        self.sender = Batcher(partial(known_senders, conn), most=_MOST, at_once=1)
        self.recorded: Batcher[str, str | None]
        self.recorded = Batcher(partial(find_all_recorded, conn), most=_MOST, at_once=1)
        self.run_of_trigger: Batcher[TriggerName, dict[str, Any] | None]
        self.run_of_trigger = Batcher(partial(runs_of_triggers, conn), most=_MOST, at_once=1)
        self.run_about: Batcher[Subject, str | None]
        self.run_about = Batcher(partial(runs_about, conn), most=_MOST, at_once=1)
        self.new_run: Batcher[Queued, dict[str, Any] | None]
        self.new_run = Batcher(partial(claim_triggers, conn), most=_MOST, at_once=1)
        self.private: Batcher[str, list[PrivateDocument]]
        self.private = Batcher(partial(private_documents, conn), most=_MOST, at_once=1)
