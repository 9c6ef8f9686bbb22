"""What a shadow costs others: runs on a machine that is half busy, with a shadow beside them and without.

A run has ten governed steps. Both are measured in turns.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from statistics import quantiles

from benchmarks import plant
from benchmarks.edge import Edge
from benchmarks.governed_steps import WARM_UP, ended, refs
from benchmarks.machine import cores
from benchmarks.measures import Party, less
from benchmarks.plant import ROOT, BenchError, Plant
from benchmarks.stage import Stage
from countersign.embedded import work
from countersign.embedded.servers import OPA, ensure

TURNS, RUNS = 3, 300
SHARE = 0.1
"""Of the rate at which runs come to their end if there are always more: it keeps two cores about half busy."""
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
        async with one.edge("sweeps") as (_, edge), one.workers(cores()):
            await per_second(one, edge, WARM_UP)
            rate = await per_second(one, edge, RUNS) * SHARE
            found: dict[bool, list[float]] = {False: [], True: []}
            for turn in range(2 * TURNS):
                is_beside = turn % 2 == 1
                async with shadow(one, str(program)) if is_beside else nullcontext():
                    found[is_beside] += await took(one, edge, rate, stage.options.seconds * 2)
    without, beside = (quantiles(found[one], n=100) for one in (False, True))
    for part, name in ((49, "p50"), (98, "p99")):
        stage.put(less(f"shadow_without_{name}_ms", f"a run of ten steps, {name}", "ms"), Party.OURS, without[part])
        stage.put(less(f"shadow_beside_{name}_ms", "  with a shadow beside it", "ms"), Party.OURS, beside[part])
        ratio = less(f"shadow_{name}", "  the one over the other", "x")
        stage.put(ratio, Party.OURS, beside[part] / without[part])


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


async def per_second(one: Plant, edge: Edge, runs: int) -> float:
    """Return how many runs a second come to their end while they are triggered as fast as may be."""
    began = time.perf_counter()
    await ended(one.database, await edge.trigger_all("bench.chain", refs(runs)))
    return runs / (time.perf_counter() - began)


async def took(one: Plant, edge: Edge, per_s: float, seconds: float) -> list[float]:
    """Trigger runs at a rate, whatever becomes of those before, and return the milliseconds that each took."""
    names = refs(max(20, int(per_s * seconds)))
    began = time.perf_counter()
    triggering = []
    for number, name in enumerate(names):
        await asyncio.sleep(max(0.0, began + number / per_s - time.perf_counter()))
        triggering.append(asyncio.create_task(edge.trigger("bench.chain", name)))
    runs: Sequence[str] = await asyncio.gather(*triggering)
    await ended(one.database, list(runs))
    return [row["ms"] for row in one.database.rows(_TOOK, [list(runs)])]
