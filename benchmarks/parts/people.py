"""What people in Slack see of it: clicks until their vote is counted, and how soon their Home is drawn."""

from benchmarks.ours import slack
from benchmarks.ours.plant import plant
from benchmarks.report import measures
from benchmarks.report.figures import percentile
from benchmarks.report.measures import Party, less
from benchmarks.stage import Stage

HOMES = (1, 8, 64)
LOOKS = 20


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        await slack.ask(one, stage.options.clicks // len(slack.PEOPLE))
        async with slack.opened(one) as desk:
            await desk.home()  # what is done once is done by now
            stage.put(measures.CLICKS, Party.OURS, await desk.clicks(stage.options.clicks // len(slack.PEOPLE)))
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        waiting = 0
        for wanted in HOMES:
            await slack.ask(one, wanted - waiting)
            waiting = wanted
            async with slack.opened(one) as desk:
                times = [await desk.home() for _ in range(1 + LOOKS)][1:]
            row = less(f"home_{wanted}_p50_ms", f"Home with {wanted} waiting, p50", "ms")
            stage.put(row, Party.OURS, 1000 * percentile(times, 0.5))
