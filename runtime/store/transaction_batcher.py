"""Shared transactions: many runs share a transaction, and so its commit.

`TransactionBatcher` takes a set that fails apart, so that a poisoned piece holds up no other.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from psycopg.errors import DeadlockDetected, InFailedSqlTransaction

from runtime.model.approval import NamedApproval
from runtime.model.delegation import Delegate
from runtime.model.wait import NamedWait
from runtime.store.batched_reads import BatchedReads, Batcher
from runtime.store.database.pool import AWAY, Pool
from runtime.store.open_work import RunStep
from runtime.store.passage_facts import EndedEffect
from runtime.store.run_tx import RunSnapshot, RunTx, StaleRunError, expect_known
from runtime.store.steps import WantedSteps

T = TypeVar("T")

log = logging.getLogger(__name__)

MOST_ITEMS = 64
"""Pieces of work in one transaction."""
MOST_TRANSACTIONS = 2
"""Transactions under way: one computes while the other waits for the disk."""
MOST_ALONE = 4
"""Pieces that are done alone at a time: those that wait for one lock must not hold all connections."""


Look = WantedSteps | RunStep | EndedEffect | Delegate | NamedWait | NamedApproval
"""What work on a run reads first.

Steps; whether anything of one is open; what is to be known of what follows; who votes for whom; a wait; a request.
"""


@dataclass(frozen=True)
class WorkItem:
    """What is to be done to a run, whose row is locked for it; `looks` are read with the lock.

    Where it stands is `known`, it is not locked, and nothing is read first: if it has moved on, that is done after all.
    What waits for a lock beside its run's is done `alone`: in a set, runs that need no such lock would wait with it.
    """

    run_id: str
    work: Callable[[RunTx], Awaitable[Any]]
    looks: Sequence[Look] = ()
    known: RunSnapshot | None = None
    alone: bool = False


class RunLocker(Protocol):
    """Locks runs in a transaction; those that others hold are left out, or waited for."""

    async def __call__(self, loads: BatchedReads, run_ids: Collection[str], *, wait: bool) -> Mapping[str, RunTx]:
        """Return the locked runs by their ids. What is read at the same moment goes behind the locks."""
        ...


RunMaker = Callable[[BatchedReads, dict[str, Any]], RunTx]
"""Makes a run of a transaction from its row."""


class TransactionBatcher:
    """Does pieces of work on runs, many in one transaction.

    A set that fails is taken apart and tried piece by piece, so that a poisoned one holds up no other. So is a run
    that somebody else holds: nobody waits for it but those who want it. Work may therefore be done twice, and what it
    did to the database the first time is undone.
    """

    def __init__(self, pool: Pool, lock: RunLocker, make: RunMaker) -> None:
        self._pool = pool
        self._lock = lock
        self._make = make
        self._batches: Batcher[WorkItem, Any] = Batcher(self._do, most=MOST_ITEMS, at_once=MOST_TRANSACTIONS)
        self._single: Batcher[WorkItem, Any] = Batcher(self._do_alone, most=1, at_once=MOST_ALONE)

    async def __call__(self, piece: WorkItem) -> Any:
        """Do a piece of work; when this returns, it is committed. Raise what it raised."""
        return await (self._single if piece.alone else self._batches)(piece)

    async def _do_alone(self, pieces: Sequence[WorkItem]) -> Sequence[Any]:
        return [await self._alone(piece) for piece in pieces]

    async def _do(self, pieces: Sequence[WorkItem]) -> Sequence[Any]:
        done: dict[int, Any] = {}
        try:
            try:
                done = await self._in_one(pieces)
            except StaleRunError:  # one of them: which, is seen when all are locked
                done = await self._in_one([replace(piece, known=None) for piece in pieces])
        except Exception as error:
            if isinstance(error, AWAY) and not isinstance(error, DeadlockDetected):  # of which nothing was done
                raise
            if len(pieces) == 1:
                return [error]
            log.debug("a set of %d is taken apart", len(pieces), exc_info=True)  # each then raises for itself
        return [done[number] if number in done else self._alone(piece) for number, piece in enumerate(pieces)]

    async def _in_one(self, pieces: Sequence[WorkItem]) -> dict[int, Any]:
        """Do what can be done at once, and return it by the pieces' numbers."""
        async with self._pool.connection() as conn, conn.transaction():
            wanted: dict[str, list[int]] = {}
            for number, piece in enumerate(pieces):
                wanted.setdefault(piece.run_id, []).append(number)
            alone = [pieces[numbers[0]] for numbers in wanted.values() if len(numbers) == 1]
            loads = BatchedReads(conn, len(wanted))
            found = {piece.run_id: await self._as_known(loads, piece.known) for piece in alone if piece.known}
            if rest := wanted.keys() - found:
                found |= await self._lock_and_look(
                    loads, rest, [one for one in alone if one.run_id in rest], wait=False
                )
            ended = await for_each_run(
                found.values(), lambda tx: _work_on(tx, {n: pieces[n] for n in wanted[tx.run_id]})
            )
        return {number: result for results in ended for number, result in results.items()}

    async def _lock_and_look(
        self, loads: BatchedReads, run_ids: Collection[str], pieces: Sequence[WorkItem], *, wait: bool
    ) -> Mapping[str, RunTx]:
        """Lock runs, and read in the same round trip what these pieces look at first.

        Each is the only one of its run: what a second one reads may be written by the first.
        """
        locking = asyncio.ensure_future(self._lock(loads, run_ids, wait=wait))
        await asyncio.sleep(0)  # the lock goes first
        looks = [(piece.run_id, look, seen(loads, look)) for piece in pieces for look in piece.looks]
        try:
            await asyncio.wait({locking, *(what for _, _, what in looks)})
        finally:
            locking.cancel()  # where this is canceled itself
        found = locking.result()
        for run_id, look, what in looks:
            if run_id in found:
                found[run_id].ahead[look] = what.result()
        return found

    async def _as_known(self, loads: BatchedReads, known: RunSnapshot) -> RunTx:
        """Return a run as it was left: if that is no longer so, nothing of this transaction is written."""
        await expect_known(loads.conn, known)
        tx = self._make(loads, dict(known.row))
        tx.steps, tx.facts, tx.asked_ahead = dict(known.steps), known.facts, known.asked_ahead
        return tx

    async def _alone(self, piece: WorkItem) -> Any:
        try:
            async with self._pool.connection() as conn, conn.transaction():
                tx = (await self._lock_and_look(BatchedReads(conn), {piece.run_id}, [piece], wait=True))[piece.run_id]
                result = await piece.work(tx)
                await tx.flush()
        except Exception as error:  # noqa: BLE001 - it is for whoever wanted it
            return error
        return result


def seen(loads: BatchedReads, look: Look) -> asyncio.Future[Any]:
    """Return what a look will give."""
    match look:
        case WantedSteps():
            return loads.steps.put(look)
        case RunStep():
            return loads.is_open.put(look)
        case EndedEffect():
            return loads.run_facts.put(look)
        case Delegate():
            return loads.stand_ins.put(look)
        case NamedWait():
            return loads.wait.put(look)
        case NamedApproval(approval_id):
            return loads.approval.put(approval_id)


async def for_each_run(txs: Iterable[RunTx], work: Callable[[RunTx], Awaitable[T]]) -> Sequence[T]:
    """Do something to each run of a transaction; when this raises, nobody uses its connection any more."""
    txs = list(txs)
    if len(txs) == 1:
        return [await work(txs[0])]
    ended = await asyncio.gather(*(work(tx) for tx in txs), return_exceptions=True)
    errors = [one for one in ended if isinstance(one, BaseException)]
    if errors:  # what is raised in a transaction that has failed by then says nothing
        raise next((error for error in errors if not isinstance(error, InFailedSqlTransaction)), errors[0])
    return [one for one in ended if not isinstance(one, BaseException)]


async def _work_on(tx: RunTx, pieces: Mapping[int, WorkItem]) -> dict[int, Any]:
    """Do what is wanted of one run, in order; return it by the pieces' numbers."""
    done: dict[int, Any] = {}
    for number, piece in pieces.items():
        if done:
            await tx.conn.write()  # a piece finds what was written before it
        done[number] = await piece.work(tx)
    await tx.flush()
    return done
