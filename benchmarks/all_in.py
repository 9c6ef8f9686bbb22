"""All of it: from the first trigger over HTTP to the last run's end, and on to its bundle in MinIO.

Beside it stand the steps of the peers, which start their workflows by themselves and seal nothing.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks import measures, minio, plant, throughput
from benchmarks.edge import Edge
from benchmarks.governed_steps import STEPS, WARM_UP, ended, refs
from benchmarks.machine import cpu_seconds, family
from benchmarks.measures import Measure, Party
from benchmarks.postgres import Database
from benchmarks.stage import Stage

WORKERS = 2
_SEALED = """
    SELECT count(*) = cardinality(%s::text[]) FROM evidence_bundles
     WHERE run_id = ANY(%s::text[]) AND status = 'stored' AND location LIKE 's3://%%'
"""


@dataclass(frozen=True)
class Found:
    """Seconds from the first trigger until the last run had ended, and until the last was sealed."""

    ended: float
    sealed: float


async def work_off(database: Database, edge: Edge, runs: int) -> Found:
    """Trigger so many runs while workers work; return when all are sealed."""
    began = time.perf_counter()
    started = await edge.trigger_all("bench.chain", refs(runs))
    await ended(database, started)
    until_ended = time.perf_counter() - began
    await database.until(_SEALED, [started, started])
    return Found(until_ended, time.perf_counter() - began)


async def measure(stage: Stage) -> None:
    """Measure it once; the peers' steps only where nothing has measured them before."""
    if stage.figures.get(measures.STEPS_OPA, Party.DBOS) is None:
        await throughput.peers(stage)
    for party in (Party.DBOS, Party.RESTATE):
        if (steps := stage.figures.get(measures.STEPS_OPA, party)) is not None:
            _put_rates(stage, party, steps, steps)
    with plant.plant(stage.server, stage.folder, stage.opa.url, sealing=True) as one:
        async with minio.running(stage.folder / "minio") as store:
            one.env.update(store.env)
            await _ours(stage, one, store.pid)


async def _ours(stage: Stage, one: plant.Plant, store: int) -> None:
    runs = stage.options.all_in
    async with one.edge() as (process, edge), one.workers(WORKERS) as workers:
        owners: dict[Measure, list[int]] = {
            measures.ALL_IN_EDGE: [process.pid],
            measures.ALL_IN_WORKERS: [worker.pid for worker in workers],
            measures.ALL_IN_OPA: [stage.opa.pid] if stage.opa.pid else [],
            measures.ALL_IN_MINIO: [store],
        }
        await work_off(one.database, edge, WARM_UP)
        before = _spent(stage, owners)
        found = await work_off(one.database, edge, runs)
        spent = _spent(stage, owners)
    _put_rates(stage, Party.OURS, runs * STEPS / found.ended, runs * STEPS / found.sealed)
    for owner, seconds in spent.items():
        stage.put(owner, Party.OURS, (seconds - before[owner]) * 1e6 / runs)


def _spent(stage: Stage, owners: Mapping[Measure, list[int]]) -> dict[Measure, float]:
    """Return the CPU seconds of each owner so far, with those of their children."""
    own = {owner: cpu_seconds(one for pid in pids for one in family(pid)) for owner, pids in owners.items()}
    return {**own, measures.ALL_IN_POSTGRES: stage.server.cpu()}


def _put_rates(stage: Stage, party: Party, ended: float, sealed: float) -> None:
    stage.put(measures.ALL_IN_ENDED, party, ended)
    stage.put(measures.ALL_IN_SEALED, party, sealed)
