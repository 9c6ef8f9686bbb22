"""Starts of queued runs: some in one transaction, with which what they begin with may be leased, and begin, too."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.model.effect import ChainedLease, SlotOffer
from runtime.model.states import RunStatus
from runtime.planning.advance import advance
from runtime.planning.transition import Started
from runtime.store import runs
from runtime.store.batched_reads import BatchedReads
from runtime.store.passage_facts import RunFacts
from runtime.store.run_tx import RunTx
from runtime.store.steps import steps_before
from runtime.store.transaction_batcher import for_each_run

STARTS = 16
"""Runs that are started in one transaction."""

log = logging.getLogger(__name__)


async def start_run(engine: Engine, run_id: str) -> None:
    """Start a queued run, unless another worker has."""
    await engine.on_run(run_id, lambda tx: _start_claimed(engine, tx, SlotOffer(), leave))


Ahead = Callable[[Engine, RunTx, ChainedLease | None, str], Awaitable[None]]
"""What is done about an effect that is leased with a commit, in its transaction; the text names what it follows."""


async def leave(engine: Engine, tx: RunTx, chained: ChainedLease | None, ended: str) -> None:
    """Let it go through the gate by itself."""


async def start_next(engine: Engine, but: set[str], ahead: Ahead = leave) -> int:
    """Start the oldest queued runs that nobody else is starting, and return how many: some in one transaction.

    A worker of this process may take on what they begin with, about which `ahead` does what can be done at once. `but`
    holds runs to leave alone. Where one of a set cannot be started they are started one by one; that one joins
    `but`, and its error is raised.
    """
    try:
        return await _start_some(engine, but, STARTS, ahead)
    except Exception:
        log.debug("a set of runs is started one by one", exc_info=True)  # each then raises for itself
    return sum([await _start_some(engine, but, 1, leave) for _ in range(STARTS)])


async def _start_some(engine: Engine, but: set[str], most: int, ahead: Ahead) -> int:
    with ExitStack() as offers:
        return await _start_offered(engine, but, most, ahead, lambda: offers.enter_context(engine.wakeup.slot_offer()))


async def _start_offered(engine: Engine, but: set[str], most: int, ahead: Ahead, offer: Callable[[], SlotOffer]) -> int:
    run_ids: list[str] = []
    try:
        async with engine.pool.connection() as conn, conn.transaction():
            loads = BatchedReads(conn)
            txs = [_claimed(engine, loads, row) for row in await runs.next_queued(conn, engine.tenant, but, most)]
            if not txs:
                return 0
            loads.runs = len(txs)
            run_ids += [tx.run_id for tx in txs]
            await for_each_run(txs, lambda tx: _start_claimed(engine, tx, offer(), ahead))
            at(Point.RUN_STARTING)
    except BaseException:
        if most == 1:
            but.update(run_ids)
        raise
    at(Point.RUN_STARTED)
    return len(run_ids)


def _claimed(engine: Engine, loads: BatchedReads, row: dict[str, Any]) -> RunTx:
    facts = RunFacts(tuple(row.pop("requester_groups") or ()), begun=0)  # nothing of a queued run has begun
    tx = engine.made_run(loads, row)
    tx.facts = facts
    return tx


async def _start_claimed(engine: Engine, tx: RunTx, offer: SlotOffer, ahead: Ahead) -> None:
    if tx.status is RunStatus.QUEUED:
        tx.steps = steps_before(await tx.definition())
        tx.leaf("run.started", {"worker": engine.worker})
        slot = offer.open(tx.now + engine.timing.lease)
        with tx.chaining_into(slot):
            await advance(engine, tx, Started())
        await ahead(engine, tx, slot.chained, "")
        await tx.flush()
