"""One of two worker processes killed under full load: when what it had leased goes on, and what the rate does.

Both run under one `countersign serve`, which starts another for the dead one. The figures are the rate before, the
lowest rate, and when the rate is back.
"""

import asyncio
import os
import signal
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.edge import Edge
from benchmarks.governed_steps import refs
from benchmarks.machine import family
from benchmarks.measures import Party, less, more
from benchmarks.plant import BenchError, Plant, plant, until_answers
from benchmarks.stage import Stage

STEP = 0.1
"""Seconds from one second that is looked at to the next one."""


@dataclass(frozen=True)
class Dip:
    """Rates are events a second; `back` is in seconds from what happened, None where the rate did not come back."""

    before: float
    lowest: float
    back: float | None


def dip_of(events: Sequence[float], *, before: float, within: float, share: float) -> Dip:
    """Return what the rate did when something happened at 0; `events` are in seconds from then, ascending.

    The rate before is that of the last `before` seconds. The lowest is that of a second which began `within` so many
    seconds. It is back at the end of the first second from there on that has a `share` of the rate before.
    """
    normal = _between(events, -before, 0.0) / before
    starts = [STEP * number for number in range(int(max(events[-1], within) / STEP))]
    rates = [_between(events, start, start + 1) for start in starts]
    lowest = min(range(int(within / STEP)), key=rates.__getitem__)
    back = next((starts[number] + 1 for number in range(lowest, len(rates)) if rates[number] >= share * normal), None)
    return Dip(normal, rates[lowest], back)


def _between(events: Sequence[float], start: float, end: float) -> int:
    return bisect_left(events, end) - bisect_left(events, start)


WORKERS = 2
WARM_UP, SPARE = 200, 1.3
"""Runs that say how many the load takes, and how much more than that is queued: the first are slower."""
BEFORE, COUNTED = 8.0, 5.0
"""Seconds of full load before the kill, and those of them that give the rate before."""
AFTER = 12.0
"""Seconds of full load that are wanted beyond the lease, at least."""
DIP, BACK = 5.0, 0.9
"""Seconds in which the rate is lowest, and the share of the rate before with which it is back."""

_LISTENING = "SELECT count(*) >= %s FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%%'"
_ENDED = "SELECT NOT EXISTS (SELECT FROM runs WHERE finished_at IS NULL)"
_HELD = """
    SELECT effect_id AS id, '' AS path, attempt FROM effects WHERE lease_owner LIKE %s
     UNION ALL SELECT run_id, path, attempt FROM steps WHERE lease_owner LIKE %s AND status = 'running'
"""
# What nobody has settled, and nobody has leased since.
_TAKEN_UP = """
    WITH held AS (SELECT * FROM unnest(%s::text[], %s::text[], %s::int[]) AS held (id, path, attempt))
    SELECT NOT EXISTS (SELECT FROM held JOIN effects e ON held.path = '' AND e.effect_id = held.id
                        WHERE e.attempt = held.attempt AND e.status IN ('leased', 'pending', 'blocked', 'in_doubt'))
       AND NOT EXISTS (SELECT FROM held JOIN steps s ON s.run_id = held.id AND s.path = held.path
                        WHERE s.attempt = held.attempt AND s.status IN ('running', 'ready', 'failed_retryable'))
"""
_FINISHED = "SELECT extract(epoch FROM finished_at)::float AS at FROM steps WHERE finished_at IS NOT NULL ORDER BY 1"


@dataclass(frozen=True)
class Loss:
    """How much a killed worker had leased, in seconds from the kill when all of it went on, and what the rate did."""

    held: int
    taken_up: float
    dip: Dip


@dataclass(frozen=True)
class Crew:
    """The workers under one `countersign serve`."""

    parent: int

    def pids(self) -> list[int]:
        """Return those that are there now."""
        return family(self.parent)[1:]

    def send(self, number: signal.Signals) -> None:
        """Send all of them a signal."""
        for pid in self.pids():
            os.kill(pid, number)


async def lose_one(plant: Plant, lease: float) -> Loss:
    """Have two workers under full load, kill one, and see all runs to their end."""
    plant.env["COUNTERSIGN_LEASE_SECONDS"] = f"{lease:g}"
    async with plant.edge() as (_, edge), _crew(plant) as crew:
        await _load(edge, crew, WARM_UP)
        per_s = await _drained(plant, WARM_UP)
        await _load(edge, crew, int(SPARE * per_s * (BEFORE + lease + AFTER)))
        await asyncio.sleep(BEFORE)
        dead, killed_at = crew.pids()[-1], time.time()
        os.kill(dead, signal.SIGKILL)
        held = plant.database.rows(_HELD, [f"%:{dead}_%"] * 2)
        columns = [[row[name] for row in held] for name in ("id", "path", "attempt")]
        await plant.database.until(_TAKEN_UP, columns)
        taken_up = time.time() - killed_at
        await plant.database.until(_ENDED)
    ends = [row["at"] - killed_at for row in plant.database.rows(_FINISHED)]
    return Loss(len(held), taken_up, dip_of(ends, before=COUNTED, within=DIP, share=BACK))


@asynccontextmanager
async def _crew(plant: Plant) -> AsyncIterator[Crew]:
    async with await plant.start("worker", "sweeps", processes=WORKERS) as process:
        await until_answers(process)
        await plant.database.until(_LISTENING, [WORKERS])
        crew = Crew(process.pid)
        try:
            yield crew
        finally:
            crew.send(signal.SIGCONT)


async def _load(edge: Edge, crew: Crew, runs: int) -> None:
    """Queue runs while the workers stand still, and let them begin."""
    crew.send(signal.SIGSTOP)
    await edge.trigger_all("bench.mixed", refs(runs))
    crew.send(signal.SIGCONT)


async def _drained(plant: Plant, runs: int) -> float:
    """Return how many runs a second came to their end until all had."""
    began = time.perf_counter()
    await plant.database.until(_ENDED)
    return runs / (time.perf_counter() - began)


LEASE = less("killed_lease_s", "a worker of two killed under full load: the lease", "s")
LEASED = more("killed_held", "  pieces of work that it had leased", "pieces")
TAKEN_UP = less("killed_taken_up_s", "  from the kill until all of them were taken up by others", "s")
RATE_BEFORE = more("killed_before_per_s", "  steps a second before", "steps/s")
LOWEST = more("killed_lowest_per_s", "  steps in the worst second", "steps/s")
RATE_BACK = less("killed_back_s", "  from the kill to the end of a second with nine tenths of the rate before", "s")


async def measure(stage: Stage) -> None:
    """Measure it once: the figures are times, and the lease's length is the greater part of the first."""
    lease = stage.options.lease
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        loss = await lose_one(one, lease)
    if not loss.held:
        raise BenchError("the killed worker had nothing leased: it was not under load")
    stage.put(LEASE, Party.OURS, lease)
    stage.put(LEASED, Party.OURS, loss.held)
    stage.put(TAKEN_UP, Party.OURS, loss.taken_up)
    stage.put(RATE_BEFORE, Party.OURS, loss.dip.before)
    stage.put(LOWEST, Party.OURS, loss.dip.lowest)
    if loss.dip.back is None:
        stage.figures.remarks.append("After a worker was killed the rate did not come back while the load lasted")
    else:
        stage.put(RATE_BACK, Party.OURS, loss.dip.back)
