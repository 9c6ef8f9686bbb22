"""Governed steps: runs of ten low-tier writes, and one run of many iterations; each write through the whole gate.

Ten steps run one after the other, and as many as go. An iteration is timed in the first tenth of a repeat and in the
last; there policy answers at once, so no rule limits the run.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from benchmarks.edge import Edge
from benchmarks.machine import cpu_seconds
from benchmarks.measures import Party, less
from benchmarks.plant import BenchError, Plant, Process, plant
from benchmarks.postgres import Database, Server
from benchmarks.stage import Stage

STEPS = 10
WARM_UP = 20
FEWEST, MOST = 20, 3000
LAST = 16
_ENDED = "SELECT NOT EXISTS (SELECT FROM runs WHERE run_id = ANY(%s::text[]) AND finished_at IS NULL)"
_numbers = count(1)


@dataclass(frozen=True)
class Cost:
    """CPU seconds, by whose they are, and commits."""

    python: float
    postgres: float
    opa: float
    commits: int

    def since(self, before: "Cost", steps: int) -> "Costs":
        """Return what one of so many steps has cost since then."""
        share = 1e6 / steps
        return Costs(
            (self.python - before.python) * share,
            (self.postgres - before.postgres) * share,
            (self.opa - before.opa) * share,
            (self.commits - before.commits) / steps,
        )


@dataclass(frozen=True)
class Costs:
    """What a step costs: CPU microseconds, by whose they are, and commits."""

    python_us: float
    postgres_us: float
    opa_us: float
    commits: float

    @property
    def cpu_us(self) -> float:
        """Return all of the CPU."""
        return self.python_us + self.postgres_us + self.opa_us


@dataclass(frozen=True)
class Rate:
    """Steps a second, and what each cost."""

    per_s: float
    costs: Costs


@dataclass(frozen=True)
class Bout:
    """Where a bout takes place, and who works in it."""

    server: Server
    plant: Plant
    edge: Edge
    workers: list[Process]
    opa: int | None

    async def rate(self, seconds: float) -> Rate:
        """Return the rate over about so many seconds, after a warm-up."""
        return await self.run(await self.warmed(seconds))

    async def warmed(self, seconds: float) -> int:
        """Return how many runs take about so long: a cold bout says how many a warmer one takes, which says it."""
        cold = await self.run(WARM_UP)
        return sized(await self.run(sized(cold, seconds / 2)), seconds)

    async def run(self, runs: int, at_start: Callable[[], None] = lambda: None) -> Rate:
        """Queue runs while the workers stand still; then let them work until all have ended."""
        for worker in self.workers:
            worker.pause()
        queued = await self.edge.trigger_all("bench.chain", refs(runs))
        at_start()
        before, began = self._cost(), time.perf_counter()
        for worker in self.workers:
            worker.go_on()
        looks = await ended(self.plant.database, queued)
        took = time.perf_counter() - began
        steps = runs * STEPS
        return Rate(steps / took, self._cost(own=looks).since(before, steps))

    def _cost(self, own: int = 0) -> Cost:
        """Return what was spent so far; `own` are commits of the benchmark itself."""
        python = cpu_seconds(worker.pid for worker in self.workers)
        opa = cpu_seconds([self.opa]) if self.opa is not None else 0.0
        return Cost(python, self.server.cpu(), opa, self.plant.database.commits() - own)


async def ended(database: Database, runs: list[str]) -> int:
    """Return how often it was looked until all have ended: first at the last ones alone, since a look has its cost."""
    return await database.until(_ENDED, [runs[-LAST:]]) + await database.until(_ENDED, [runs])


def sized(warm: Rate, seconds: float) -> int:
    """Return how many runs take about so long at this rate."""
    return min(max(int(warm.per_s * seconds / STEPS), FEWEST), MOST)


def refs(wanted: int) -> list[str]:
    """Return names that no run has yet."""
    return [f"bench-{next(_numbers):06}" for _ in range(wanted)]


async def busy(server: Server, plant: Plant, processes: int, seconds: float, opa: int | None) -> Rate:
    """Return the rate of so many worker processes."""
    async with plant.edge() as (_, edge), plant.workers(processes) as workers:
        return await Bout(server, plant, edge, workers, opa).rate(seconds)


async def statements(server: Server, plant: Plant, processes: int, seconds: float, sent: Counter[str]) -> float:
    """Return how many statements a step takes; `sent` counts those of the plant's processes."""
    async with plant.edge() as (_, edge), plant.workers(processes) as workers:
        bout = Bout(server, plant, edge, workers, None)
        runs = await bout.warmed(seconds)
        await bout.run(runs, sent.clear)
        return sum(sent.values()) / (runs * STEPS)


_REPEAT_ENDED = "SELECT NOT EXISTS (SELECT FROM runs WHERE trigger_type = 'bench.repeat' AND finished_at IS NULL)"
_FINISHED = """
    SELECT extract(epoch FROM finished_at)::float AS at FROM steps
     WHERE verb = 'note' AND status = 'succeeded' ORDER BY finished_at
"""


@dataclass(frozen=True)
class Pace:
    """Milliseconds an iteration, in the first tenth of the iterations and in the last."""

    first: float
    last: float


async def run_iterations(plant: Plant, iterations: int) -> Pace:
    """Run it to its end, alone."""
    (case,) = refs(1)
    async with plant.edge("worker") as (_, edge):
        await edge.trigger("bench.repeat", case, items=list(range(iterations)))
        await plant.database.until(_REPEAT_ENDED)
    ends = [row["at"] for row in plant.database.rows(_FINISHED)]
    if len(ends) != iterations:
        raise BenchError(f"of {iterations} iterations {len(ends)} came to their end")
    tenth = iterations // 10
    return Pace(*(1000 * (part[-1] - part[0]) / tenth for part in (ends[: tenth + 1], ends[-tenth - 1 :])))


ITERATION_FIRST = less(
    "iteration_first_ms", "an iteration with one governed step, in the first tenth of a repeat", "ms"
)
ITERATION_LAST = less("iteration_last_ms", "  in the last tenth", "ms")
ITERATION_SLOWDOWN = less("iteration_slowdown", "  the last tenth over the first", "x")


async def measure(stage: Stage) -> None:
    """Measure it once."""
    with plant(stage.server, stage.folder, stage.instant) as one:
        pace = await run_iterations(one, stage.options.iterations)
    stage.put(ITERATION_FIRST, Party.OURS, pace.first)
    stage.put(ITERATION_LAST, Party.OURS, pace.last)
    stage.put(ITERATION_SLOWDOWN, Party.OURS, pace.last / pace.first)
