"""One of two worker processes killed under full load: when all that it had leased goes on, and what the rate does.

Both run under one `countersign serve`, which starts another in the place of the dead one.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.dip import Dip, dip_of
from benchmarks.edge import Edge
from benchmarks.machine import family
from benchmarks.ours_steps import refs
from benchmarks.plant import Plant, until_answers

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
                        WHERE e.attempt = held.attempt AND e.status IN ('leased', 'pending', 'held', 'in_doubt'))
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
