"""What a shadow costs others: runs at half the load that the workers can bear, with a shadow beside them and without.

A run has ten governed steps. Both are measured in turns; each figure is the median of its turns.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from statistics import median, quantiles

from benchmarks import plant
from benchmarks.edge import Edge
from benchmarks.governed_steps import STEPS, Bout, ended, refs
from benchmarks.machine import cores
from benchmarks.measures import Party, less
from benchmarks.plant import ROOT, BenchError, Plant
from benchmarks.stage import Stage
from countersign.embedded import work
from countersign.embedded.servers import OPA, ensure

TURNS = 3
WITHOUT = less("shadow_without_p99_ms", "a run of ten steps at half load, p99", "ms")
BESIDE = less("shadow_beside_p99_ms", "  with a shadow beside it", "ms")
RATIO = less("shadow_p99", "  the one over the other", "x")
_TOOK = """
    SELECT extract(epoch FROM finished_at - created_at)::float * 1000 AS ms FROM runs WHERE run_id = ANY(%s::text[])
"""
_ASKED = """
    SELECT count(*) = 1 FROM policy_shadows s JOIN log_heads h USING (tenant)
     WHERE s.next_place = h.size AND NOT EXISTS (SELECT FROM log_pending)
"""


async def measure(stage: Stage) -> None:
    """Measure both in turns."""
    program = await asyncio.to_thread(ensure, OPA, work.to_stderr)
    with plant.plant(stage.server, stage.folder, stage.opa.url) as one:
        async with one.edge("sweeps") as (_, edge), one.workers(cores()) as workers:
            rate = await Bout(stage.server, one, edge, workers, None).rate(stage.options.seconds)
            found: dict[bool, list[float]] = {False: [], True: []}
            for turn in range(2 * TURNS):
                is_beside = turn % 2 == 1
                async with shadow(one, str(program)) if is_beside else nullcontext():
                    found[is_beside].append(await p99(one, edge, rate.per_s / STEPS / 2, stage.options.seconds))
    without, beside = median(found[False]), median(found[True])
    stage.put(WITHOUT, Party.OURS, without)
    stage.put(BESIDE, Party.OURS, beside)
    stage.put(RATIO, Party.OURS, beside / without)


@asynccontextmanager
async def shadow(one: Plant, program: str) -> AsyncIterator[None]:
    """Run a shadow of the policy in force; raise BenchError where it has not asked about all in the end."""
    env = {**one.environment(), "COUNTERSIGN_OPA": program}
    command = ("-m", "countersign", "policy", "shadow", "run", "--candidate", str(ROOT / "rego"))
    process = await asyncio.create_subprocess_exec(sys.executable, *command, env=env, stdout=subprocess.DEVNULL)
    try:
        await one.database.until(_ASKED)
        yield
        await one.database.until(_ASKED)
    except TimeoutError as error:
        raise BenchError("the shadow does not keep up") from error
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def p99(one: Plant, edge: Edge, per_s: float, seconds: float) -> float:
    """Trigger runs at a rate, whatever becomes of those before, and return how long of a hundred all but one take."""
    names = refs(max(100, int(per_s * seconds * 2)))
    began = time.perf_counter()
    triggering = []
    for number, name in enumerate(names):
        await asyncio.sleep(max(0.0, began + number / per_s - time.perf_counter()))
        triggering.append(asyncio.create_task(edge.trigger("bench.chain", name)))
    runs: Sequence[str] = await asyncio.gather(*triggering)
    await ended(one.database, list(runs))
    took: list[float] = [row["ms"] for row in one.database.rows(_TOOK, [list(runs)])]
    return quantiles(took, n=100)[98]
