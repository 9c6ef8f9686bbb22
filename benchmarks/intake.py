"""How fast work comes in: triggers accepted after their commit, one by one and in batches, while nobody works on them.

Beside it stands how fast DBOS enqueues workflows that nobody takes off their queue.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from benchmarks import measures, plant
from benchmarks.edge import AT_ONCE, Edge
from benchmarks.governed_steps import WARM_UP, refs
from benchmarks.measures import Measure, Party
from benchmarks.stage import Stage

BATCH = 500
"""Triggers of a batch; DBOS enqueues as many in one transaction."""
BATCH_CLIENTS = (1, 2)
"""How many clients send batches: the better of both counts."""
_DBOS: dict[str, tuple[Measure, ...]] = {
    "enqueue": (measures.TRIGGERS, measures.TRIGGERS_BATCH),
    "enqueue_sets": (measures.TRIGGERS_BATCH,),
}
"""Each way in which DBOS enqueues, and the rows beside which it stands."""


async def measure(stage: Stage) -> None:
    """Measure ours between two runs of the peer."""
    await _peer(stage)
    await _ours(stage)
    await _peer(stage)


async def _peer(stage: Stage) -> None:
    for mode, rows in _DBOS.items():
        with stage.without("DBOS"), stage.server.database() as database:
            per_s = await stage.dbos.enqueued(database, mode, stage.options.seconds)
            for row in rows:
                stage.put(row, Party.DBOS, per_s)


async def _ours(stage: Stage) -> None:
    seconds = stage.options.seconds
    with plant.plant(stage.server, stage.folder, stage.opa.url) as one:
        async with one.edge() as (_, edge):
            await edge.trigger_all("bench.chain", refs(WARM_UP))
            stage.put(measures.TRIGGERS, Party.OURS, await rate(lambda: _trigger(edge), AT_ONCE, seconds))
            for clients in BATCH_CLIENTS:
                per_s = await rate(lambda: _trigger_batch(edge), clients, seconds)
                stage.put(measures.TRIGGERS_BATCH, Party.OURS, per_s)


async def rate(act: Callable[[], Awaitable[int]], clients: int, seconds: float) -> float:
    """Have each client act again and again for so long; return how much a second came of it, by what acts return."""
    began = time.perf_counter()

    async def client() -> int:
        done = 0
        while time.perf_counter() < began + seconds:
            done += await act()
        return done

    done = await asyncio.gather(*(client() for _ in range(clients)))
    return sum(done) / (time.perf_counter() - began)


async def _trigger(edge: Edge) -> int:
    await edge.trigger("bench.chain", refs(1)[0])
    return 1


async def _trigger_batch(edge: Edge) -> int:
    await edge.trigger_batch("bench.chain", refs(BATCH))
    return BATCH
