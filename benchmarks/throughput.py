"""How many steps a second, and what each costs: ours between two runs of the peers and of the machine's limit."""

from benchmarks import governed_steps as steps
from benchmarks import measures, plant, postgres
from benchmarks.machine import cores
from benchmarks.measures import Measure, Party, less, more
from benchmarks.postgres import counting
from benchmarks.stage import Stage, fresh

COUNTED = 3.0
"""Seconds for which statements are counted, which slows everybody: rates are measured apart."""
SEALING = more("governed_steps_sealing", "governed steps, real OPA, while evidence is sealed", "steps/s")
PYTHON = less("python_us_per_step", "  of it Python", "us")
POSTGRES = less("postgres_us_per_step", "  of it PostgreSQL", "us")
OPA = less("opa_us_per_step", "  of it OPA", "us")


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    stage.figures.name(PYTHON, POSTGRES, OPA)
    await _others(stage)
    await _ours(stage)
    await _others(stage)
    await _statements(stage)


async def _others(stage: Stage) -> None:
    with stage.server.database() as database:
        limit = await postgres.limit(database, stage.options.seconds)
    _put_rate(stage, Party.LIMIT, limit)
    await peers(stage)


async def peers(stage: Stage) -> None:
    """Measure the steps of the peers."""
    with stage.without("DBOS"):
        await _dbos(stage)
    with stage.without("Restate"):
        await _restate(stage)


def _put_rate(stage: Stage, party: Party, per_s: float) -> None:
    """Keep what has no policy of its own beside both of ours."""
    for measure in (measures.STEPS_OPA, measures.STEPS_INSTANT):
        stage.put(measure, party, per_s)


async def _dbos(stage: Stage) -> None:
    with stage.server.database() as database:
        found = await stage.dbos.steps(database, stage.options.seconds)
    _put_rate(stage, Party.DBOS, found.per_s)
    stage.put(measures.COMMITS, Party.DBOS, found.commits)
    stage.put(measures.CPU, Party.DBOS, found.python_us + found.postgres_us)
    stage.put(PYTHON, Party.DBOS, found.python_us)
    stage.put(POSTGRES, Party.DBOS, found.postgres_us)


async def _restate(stage: Stage) -> None:
    async with stage.restate() as peer:
        if peer is not None:
            per_s, cpu = await peer.steps(fresh("steps"), stage.options.seconds)
            _put_rate(stage, Party.RESTATE, per_s)
            stage.put(measures.CPU, Party.RESTATE, cpu)


async def _ours(stage: Stage) -> None:
    wanted = plant.workers_wanted(cores())
    rates = [await _rate(stage, measures.STEPS_OPA, stage.opa.url, processes) for processes in wanted]
    for processes in wanted:
        await _rate(stage, measures.STEPS_INSTANT, stage.instant, processes)
    costs = max(rates, key=lambda rate: rate.per_s).costs
    stage.put(measures.COMMITS, Party.OURS, costs.commits)
    stage.put(measures.CPU, Party.OURS, costs.cpu_us)
    stage.put(PYTHON, Party.OURS, costs.python_us)
    stage.put(POSTGRES, Party.OURS, costs.postgres_us)
    stage.put(OPA, Party.OURS, costs.opa_us)
    with plant.plant(stage.server, stage.folder, stage.opa.url, sealing=True) as sealing:
        rate = await steps.busy(stage.server, sealing, 1, stage.options.seconds, stage.opa.pid)
    stage.put(SEALING, Party.OURS, rate.per_s)


async def _rate(stage: Stage, measure: Measure, policy: str, processes: int) -> steps.Rate:
    opa = stage.opa.pid if policy == stage.opa.url else None
    with plant.plant(stage.server, stage.folder, policy) as one:
        rate = await steps.busy(stage.server, one, processes, stage.options.seconds, opa)
    stage.put(measure, Party.OURS, rate.per_s)
    title = f"  with {processes} worker process{'es' if processes > 1 else ''}: {measure.title}"
    stage.put(more(f"{measure.name}_{processes}", title, measure.unit), Party.OURS, rate.per_s)
    return rate


async def _statements(stage: Stage) -> None:
    with plant.plant(stage.server, stage.folder, stage.opa.url) as one:
        async with counting(one.database.dsn) as wire:
            one.seen_through(wire.dsn)
            sent = await steps.statements(stage.server, one, cores(), COUNTED, wire.counts)
    stage.put(measures.STATEMENTS, Party.OURS, sent)
    with stage.server.database() as database:
        async with counting(database.dsn) as wire:
            sent = await stage.dbos.statements(wire, COUNTED)
    stage.put(measures.STATEMENTS, Party.DBOS, sent)
