"""A desk among few open requests and among many: how soon it is drawn, beside clicks too, and a hundred votes."""

from benchmarks import homes, slack
from benchmarks.figures import percentile
from benchmarks.measures import Party, less
from benchmarks.plant import Plant, plant
from benchmarks.stage import Stage

FEW, MANY = 10, 10_000
LOOKS, CLICKS = 200, 40


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        homes.seat(one)
        await slack.ask(one, FEW)
        few = await _looked(stage, one, FEW)
        homes.multiply(one, MANY - FEW)
        many = await _looked(stage, one, MANY)
        _put(stage, f"home_{MANY}_over_{FEW}", f"a Home among {MANY:,} open over one among {FEW}, p50", "x", many / few)
        async with slack.opened(one) as desk:
            await homes.looks(desk, 1)  # what is done once is done by now
            whole, times = await homes.beside_clicks(desk, CLICKS)
            recorded, counted = await homes.several(desk)
    _put(stage, "homes_64_s", f"64 Homes at once among {MANY:,} open, until all are drawn", "s", whole)
    _put(stage, "homes_64_click_p99_ms", "  a click meanwhile, p99", "ms", 1000 * percentile(times, 0.99))
    _put(stage, "homes_64_click_max_ms", "  a click meanwhile, the slowest", "ms", 1000 * max(times))
    _put(stage, "several_recorded_s", "100 requests decided by one act, until they are recorded", "s", recorded)
    _put(stage, "several_counted_s", "  until each vote is counted", "s", counted)


async def _looked(stage: Stage, one: Plant, count: int) -> float:
    async with slack.opened(one) as desk:
        times = await homes.looks(desk, LOOKS)
    for share in (0.5, 0.99):
        title = f"Home among {count:,} open requests, p{share * 100:.0f}"
        _put(stage, f"home_{count}_open_p{share * 100:.0f}_ms", title, "ms", 1000 * percentile(times, share))
    return percentile(times, 0.5)


def _put(stage: Stage, name: str, title: str, unit: str, value: float) -> None:
    stage.put(less(name, title, unit), Party.OURS, value)
