"""One run of many iterations, each with a governed step: what the first tenth of them takes, and what the last."""

from dataclasses import dataclass

from benchmarks.ours_steps import refs
from benchmarks.plant import BenchError, Plant

_ENDED = "SELECT NOT EXISTS (SELECT FROM runs WHERE trigger_type = 'bench.repeat' AND finished_at IS NULL)"
_FINISHED = """
    SELECT extract(epoch FROM finished_at)::float AS at FROM steps
     WHERE verb = 'note' AND status = 'succeeded' ORDER BY finished_at
"""


@dataclass(frozen=True)
class Pace:
    """Milliseconds an iteration, in the first tenth of the iterations and in the last."""

    first: float
    last: float


async def run(plant: Plant, iterations: int) -> Pace:
    """Run it to its end, alone."""
    (case,) = refs(1)
    async with plant.edge("worker") as (_, edge):
        await edge.trigger("bench.repeat", case, items=list(range(iterations)))
        await plant.database.until(_ENDED)
    ends = [row["at"] for row in plant.database.rows(_FINISHED)]
    if len(ends) != iterations:
        raise BenchError(f"of {iterations} iterations {len(ends)} came to their end")
    tenth = iterations // 10
    return Pace(*(1000 * (part[-1] - part[0]) / tenth for part in (ends[: tenth + 1], ends[-tenth - 1 :])))
