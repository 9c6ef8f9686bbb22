"""What a worker costs that is killed under full load: what it had leased, and the rate."""

from benchmarks import ours_killed as killed
from benchmarks.measures import Party, less, more
from benchmarks.plant import BenchError, plant
from benchmarks.stage import Stage

LEASE = less("killed_lease_s", "a worker of two killed under full load: the lease", "s")
HELD = more("killed_held", "  pieces of work that it had leased", "pieces")
TAKEN_UP = less("killed_taken_up_s", "  from the kill until all of them were taken up by others", "s")
BEFORE = more("killed_before_per_s", "  steps a second before", "steps/s")
LOWEST = more("killed_lowest_per_s", "  steps in the worst second", "steps/s")
BACK = less("killed_back_s", "  from the kill to the end of a second with nine tenths of the rate before", "s")


async def measure(stage: Stage) -> None:
    """Measure it once: the figures are times, and the lease's length is the greater part of the first."""
    lease = stage.options.lease
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        loss = await killed.lose_one(one, lease)
    if not loss.held:
        raise BenchError("the killed worker had nothing leased: it was not under load")
    stage.put(LEASE, Party.OURS, lease)
    stage.put(HELD, Party.OURS, loss.held)
    stage.put(TAKEN_UP, Party.OURS, loss.taken_up)
    stage.put(BEFORE, Party.OURS, loss.dip.before)
    stage.put(LOWEST, Party.OURS, loss.dip.lowest)
    if loss.dip.back is None:
        stage.figures.remarks.append("After a worker was killed the rate did not come back while the load lasted")
    else:
        stage.put(BACK, Party.OURS, loss.dip.back)
