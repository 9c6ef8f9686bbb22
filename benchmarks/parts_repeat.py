"""What an iteration late in a long repeat takes beside an early one. Policy answers at once: no rule limits a run."""

from benchmarks import ours_repeat as repeat
from benchmarks.measures import Party, less
from benchmarks.plant import plant
from benchmarks.stage import Stage

FIRST = less("iteration_first_ms", "an iteration with one governed step, in the first tenth of a repeat", "ms")
LAST = less("iteration_last_ms", "  in the last tenth", "ms")
SLOWDOWN = less("iteration_slowdown", "  the last tenth over the first", "x")


async def measure(stage: Stage) -> None:
    """Measure it once."""
    with plant(stage.server, stage.folder, stage.instant) as one:
        pace = await repeat.run(one, stage.options.iterations)
    stage.put(FIRST, Party.OURS, pace.first)
    stage.put(LAST, Party.OURS, pace.last)
    stage.put(SLOWDOWN, Party.OURS, pace.last / pace.first)
