"""Latency: ten steps in a row, and how soon a parked run goes on when its answer comes.

One thing at a time. Ours is measured between two runs of each peer.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks import measures, plant
from benchmarks.connectors import Stamps, listening
from benchmarks.edge import Edge, side_by_side
from benchmarks.governed_steps import ended, refs
from benchmarks.measures import Measure, Party, less, percentile
from benchmarks.plant import Plant, Process
from benchmarks.restate import Restate
from benchmarks.stage import Stage, fresh

ALL = ("worker", "sweeps")
AT_ONCE = 32
"""Answers that are on their way at a time, where many runs are resumed."""
PAUSE = 0.02
"""Seconds between two runs that are measured one by one."""

# A row for each lease of a step's effect: the time of its commit is when the step was claimed.
CLAIMS = """
    CREATE TABLE claims (run_id text, step text);
    CREATE FUNCTION claim() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN INSERT INTO public.claims VALUES (NEW.run_id, NEW.step); RETURN NULL; END $$;
    CREATE TRIGGER claimed AFTER INSERT OR UPDATE OF status ON effects FOR EACH ROW
    WHEN (NEW.status = 'leased' AND NEW.purpose = 'step') EXECUTE FUNCTION claim();
"""
_CLAIMED = """
    SELECT run_id, extract(epoch FROM min(pg_xact_commit_timestamp(xmin))) AS at FROM claims
     WHERE step = 'note' GROUP BY run_id
"""
_ENDED = "SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin)) AS at FROM runs WHERE run_id = %s"
_HAS_ENDED = "SELECT finished_at IS NOT NULL FROM runs WHERE run_id = %s"
_ALL_PARKED = """
    SELECT count(*) = cardinality(%s::text[]) FROM waits WHERE run_id = ANY(%s::text[]) AND status = 'active'
"""


@dataclass(frozen=True)
class Counter:
    """A plant with one process that does everything, and what its connectors tell."""

    plant: Plant
    process: Process
    edge: Edge
    stamps: Stamps

    async def chain(self) -> float:
        """Take a run of ten steps to its end, alone; return the seconds from its request to its last commit."""
        began = time.time()
        run = await self.edge.trigger("bench.chain", refs(1)[0])
        await self.stamps.of(run, "note_9")
        await self.plant.database.until(_HAS_ENDED, [run])
        await asyncio.sleep(PAUSE)
        return float(self.plant.database.value(_ENDED, [run])) - began

    async def park(self, count: int) -> list[str]:
        """Start runs that wait for an answer; return when all do."""
        runs = await self.edge.trigger_all("bench.wait", refs(count))
        await self.plant.database.until(_ALL_PARKED, [runs, runs])
        return runs

    async def park_timed(self, count: int) -> tuple[list[str], float]:
        """Park runs; return them, and how many a second that were."""
        began = time.perf_counter()
        runs = await self.park(count)
        return runs, count / (time.perf_counter() - began)

    async def resume(self, run: str) -> tuple[float, float]:
        """Answer for a run's wait; return when that began, and when the next step's connector was called."""
        began = time.time()
        await self._answer(run)
        called = (await self.stamps.of(run, "note")).at
        await asyncio.sleep(PAUSE)
        return began, called

    async def resume_each(self, runs: list[str]) -> "Resumed":
        """Answer for one after the other."""
        times = {run: await self.resume(run) for run in runs}
        await ended(self.plant.database, runs)
        claimed = {row["run_id"]: float(row["at"]) for row in self.plant.database.rows(_CLAIMED)}
        return Resumed(
            [claimed[run] - began for run, (began, _) in times.items()],
            [called - began for began, called in times.values()],
        )

    async def resume_all(self, runs: list[str]) -> float:
        """Answer for all; return how many a second came to their end."""
        began = time.perf_counter()
        await side_by_side(self._answer, runs, AT_ONCE)
        await ended(self.plant.database, runs)
        return len(runs) / (time.perf_counter() - began)

    async def _answer(self, run: str) -> None:
        asked = await self.stamps.of(run, "ask")
        await self.edge.answer(asked.key, asked.token)


@dataclass(frozen=True)
class Resumed:
    """Seconds from the answer's request until the next step was claimed, and until its connector was called."""

    claimed: list[float]
    called: list[float]


@asynccontextmanager
async def opened(plant: Plant) -> AsyncIterator[Counter]:
    """Run one process that does everything."""
    async with listening() as stamps:
        plant.tell(stamps.port)
        async with plant.edge(*ALL) as (process, edge):
            yield Counter(plant, process, edge, stamps)


SEQUENTIAL_P99 = less("sequential_ten_p99_ms", "ten steps in a row, p99", "ms")
CALLED_P50 = less("resume_called_p50_ms", "resume, event to the next connector's call, p50", "ms")
CALLED_P99 = less("resume_called_p99_ms", "resume, event to the next connector's call, p99", "ms")
WARM_UP = 5


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    await _peers(stage)
    await _ours(stage)
    await _peers(stage)


async def _peers(stage: Stage) -> None:
    with stage.without("DBOS"):
        await _dbos(stage)
    with stage.without("Restate"):
        await _restate(stage)


async def _ours(stage: Stage) -> None:
    options = stage.options
    with plant.plant(stage.server, stage.folder, stage.opa.url) as one:
        one.database.run(CLAIMS)
        async with opened(one) as counter:
            chains = [await counter.chain() for _ in range(WARM_UP + options.sequential)][WARM_UP:]
            _sequential(stage, Party.OURS, [1000 * seconds for seconds in chains])
            found = await counter.resume_each(await counter.park(options.resumes))
            _resumed(stage, Party.OURS, found.claimed)
            stage.put(CALLED_P50, Party.OURS, 1000 * percentile(found.called, 0.5))
            stage.put(CALLED_P99, Party.OURS, 1000 * percentile(found.called, 0.99))
            crowd, per_s = await counter.park_timed(options.bulk)
            stage.put(measures.PARKS, Party.OURS, per_s)
            stage.put(measures.BULK, Party.OURS, await counter.resume_all(crowd))


async def _dbos(stage: Stage) -> None:
    options = stage.options
    with stage.server.database() as database:
        alone = await stage.dbos.measure(database, "sequential", fresh("chain"), str(options.sequential))
    _sequential(stage, Party.DBOS, alone["ms"])
    with stage.server.database() as database:
        found = await stage.dbos.measure(database, "resume", fresh("wait"), str(options.resumes), str(options.bulk))
    _resumed(stage, Party.DBOS, [milliseconds / 1000 for milliseconds in found["ms"]])
    stage.put(measures.PARKS, Party.DBOS, found["park_per_s"])
    stage.put(measures.BULK, Party.DBOS, found["bulk_per_s"])


async def _restate(stage: Stage) -> None:
    async with stage.restate() as peer:
        if peer is not None:
            await _alone(stage, peer)


async def _alone(stage: Stage, peer: Restate) -> None:
    options = stage.options
    chains = [await peer.chain(fresh("chain")) for _ in range(WARM_UP + options.sequential)][WARM_UP:]
    _sequential(stage, Party.RESTATE, [1000 * seconds for seconds in chains])
    parked = await peer.park(fresh("wait"), options.resumes)
    _resumed(stage, Party.RESTATE, [await peer.resume(case) for case in parked])
    crowd, per_s = await peer.park_timed(fresh("crowd"), options.bulk)
    stage.put(measures.PARKS, Party.RESTATE, per_s)
    stage.put(measures.BULK, Party.RESTATE, await peer.resume_all(crowd))


def _sequential(stage: Stage, party: Party, milliseconds: Sequence[float]) -> None:
    _percentiles(stage, party, milliseconds, measures.SEQUENTIAL, SEQUENTIAL_P99)


def _resumed(stage: Stage, party: Party, seconds: Sequence[float]) -> None:
    _percentiles(stage, party, [1000 * one for one in seconds], measures.RESUME_P50, measures.RESUME_P99)


def _percentiles(stage: Stage, party: Party, values: Sequence[float], middle: Measure, late: Measure) -> None:
    stage.put(middle, party, percentile(values, 0.5))
    stage.put(late, party, percentile(values, 0.99))
