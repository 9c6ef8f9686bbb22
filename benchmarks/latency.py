"""One thing at a time: ten steps in a row, and how soon a parked run goes on. Ours between two runs of each peer."""

from collections.abc import Sequence

from benchmarks import measures, plant, resume
from benchmarks.figures import percentile
from benchmarks.measures import Measure, Party, less, more
from benchmarks.restate import Restate
from benchmarks.stage import Stage, fresh

SEQUENTIAL_P99 = less("sequential_ten_p99_ms", "ten steps in a row, p99", "ms")
CALLED_P50 = less("resume_called_p50_ms", "resume, event to the next connector's call, p50", "ms")
CALLED_P99 = less("resume_called_p99_ms", "resume, event to the next connector's call, p99", "ms")
PARKED = more("park_per_s", "runs parked", "runs/s")
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
        one.database.run(resume.CLAIMS)
        async with resume.opened(one) as counter:
            chains = [await counter.chain() for _ in range(WARM_UP + options.sequential)][WARM_UP:]
            _sequential(stage, Party.OURS, [1000 * seconds for seconds in chains])
            found = await counter.resume_each(await counter.park(options.resumes))
            _resumed(stage, Party.OURS, found.claimed)
            stage.put(CALLED_P50, Party.OURS, 1000 * percentile(found.called, 0.5))
            stage.put(CALLED_P99, Party.OURS, 1000 * percentile(found.called, 0.99))
            crowd, per_s = await counter.park_timed(options.bulk)
            stage.put(PARKED, Party.OURS, per_s)
            stage.put(measures.BULK, Party.OURS, await counter.resume_all(crowd))


async def _dbos(stage: Stage) -> None:
    options = stage.options
    with stage.server.database() as database:
        alone = await stage.dbos.measure(database, "sequential", fresh("chain"), str(options.sequential))
    _sequential(stage, Party.DBOS, alone["ms"])
    with stage.server.database() as database:
        found = await stage.dbos.measure(database, "resume", fresh("wait"), str(options.resumes), str(options.bulk))
    _resumed(stage, Party.DBOS, [milliseconds / 1000 for milliseconds in found["ms"]])
    stage.put(PARKED, Party.DBOS, found["park_per_s"])
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
    stage.put(PARKED, Party.RESTATE, per_s)
    stage.put(measures.BULK, Party.RESTATE, await peer.resume_all(crowd))


def _sequential(stage: Stage, party: Party, milliseconds: Sequence[float]) -> None:
    _percentiles(stage, party, milliseconds, measures.SEQUENTIAL, SEQUENTIAL_P99)


def _resumed(stage: Stage, party: Party, seconds: Sequence[float]) -> None:
    _percentiles(stage, party, [1000 * one for one in seconds], measures.RESUME_P50, measures.RESUME_P99)


def _percentiles(stage: Stage, party: Party, values: Sequence[float], middle: Measure, late: Measure) -> None:
    stage.put(middle, party, percentile(values, 0.5))
    stage.put(late, party, percentile(values, 0.99))
