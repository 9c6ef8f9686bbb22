"""What waiting costs: the rate of steps, resuming, bytes, memory and a restart, among ever more parked runs."""

import asyncio
import time
from statistics import median

from benchmarks import due, measures, resume
from benchmarks import ours_parked as parked
from benchmarks import ours_steps as steps
from benchmarks.figures import percentile, shown
from benchmarks.machine import cores
from benchmarks.measures import Party, less, more
from benchmarks.ours_parked import Template
from benchmarks.plant import Plant, plant
from benchmarks.stage import Stage, say

EVIDENCE_BYTES = less("parked_evidence_bytes", "a parked run with evidence", "bytes")
MEMORY = less("parked_memory_bytes", "memory of a process for a parked run", "bytes")
ALL_BACK = less("restart_all_s", "restart until all parked runs can go on", "s")
DUE = more("deadlines_per_s", "deadlines due at once among the most parked runs, to the runs' ends", "runs/s")
RESTARTS = 3


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    fewest, most = stage.options.parked[0], stage.options.parked[-1]
    with (
        plant(stage.server, stage.folder, stage.opa.url) as small,
        plant(stage.server, stage.folder, stage.opa.url) as large,
    ):
        for one in (small, large):
            one.database.run(resume.CLAIMS)
        (await parked.parked_one(small)).copy(small.database, 1, fewest)
        template = await parked.parked_one(large)
        memory = [await _at(stage, large, template, size) for size in stage.options.parked]
        stage.put(MEMORY, Party.OURS, max(memory[-1] - memory[0], 0) / most)
        await _slowdown(stage, small, large)
        times = [await parked.restarted(large, most - number) for number in range(1, RESTARTS + 1)]
        stage.put(measures.RESTART, Party.OURS, median(times))
        stage.put(DUE, Party.OURS, await due.fired(large, min(stage.options.due, most // 2), cores()))
    with stage.without("DBOS"):
        await _dbos(stage)


async def _at(stage: Stage, large: Plant, template: Template, size: int) -> int:
    """Bring the plant to so many parked runs and measure there; return the memory of its process."""
    began, before = time.perf_counter(), parked.sizes(large.database)
    first = int(large.database.value("SELECT count(*) FROM waits"))  # the first run was parked by running it
    await asyncio.to_thread(template.copy, large.database, first, size)
    say(f"  {shown(size)} parked, made in {time.perf_counter() - began:.0f} s")
    after, copies = parked.sizes(large.database), size - first + 1
    if size <= parked.WITH_EVIDENCE:
        stage.put(measures.PARKED_BYTES, Party.OURS, (after.state - before.state) / copies)
        stage.put(EVIDENCE_BYTES, Party.OURS, sum(vars(after).values()) / copies - sum(vars(before).values()) / copies)
    rate = await _rate(stage, large)
    stage.put(more(f"steps_at_{size}", f"  governed steps among {size:,} parked runs", "steps/s"), Party.OURS, rate)
    times, memory = await parked.resumed(large, first, size, stage.options.resumes // 4)
    for share, name in ((0.5, "p50"), (0.99, "p99")):
        row = less(f"resume_at_{size}_{name}_ms", f"  resume among {size:,} parked runs, {name}", "ms")
        stage.put(row, Party.OURS, 1000 * percentile(times, share))
    return memory


async def _slowdown(stage: Stage, small: Plant, large: Plant) -> None:
    """Compare the rates among the fewest and the most, one after the other and again."""
    rates: dict[str, list[float]] = {"small": [], "large": []}
    for _ in range(2):
        rates["small"].append(await _rate(stage, small))
        rates["large"].append(await _rate(stage, large))
    stage.put(measures.SLOWDOWN, Party.OURS, sum(rates["small"]) / sum(rates["large"]))


async def _rate(stage: Stage, one: Plant) -> float:
    one.env.clear()
    return (await steps.busy(stage.server, one, 1, stage.options.seconds, stage.opa.pid)).per_s


async def _dbos(stage: Stage) -> None:
    count = stage.options.peer_parked
    with stage.server.database() as database:
        size = await stage.dbos.park_copies(database, count)
        stage.put(EVIDENCE_BYTES, Party.DBOS, size)
        stage.put(measures.PARKED_BYTES, Party.DBOS, size)
        found = await stage.dbos.restarted(database, count)
    stage.put(measures.RESTART, Party.DBOS, found.first)
    if found.all is not None:
        stage.put(ALL_BACK, Party.DBOS, found.all)
    stage.figures.remarks.append(
        f"Parked: ours {stage.options.parked[-1]:,} runs at most, DBOS {count:,}; a restart of DBOS is measured to the"
        " moment at which the run parked last goes on"
    )
