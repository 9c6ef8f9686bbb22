"""What people in Slack see of it: clicks until their vote is counted, and how soon their Home is drawn."""

from benchmarks import crowds, measures, slack
from benchmarks.figures import percentile
from benchmarks.measures import Party, less, more
from benchmarks.plant import plant
from benchmarks.stage import Stage

BURST = 300
"""Submissions that come at once."""
PER_MINUTE = 500
"""Commands of strangers while officers vote."""
HOMES = (1, 8, 64)
LOOKS = 20


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        await slack.ask(one, stage.options.clicks // len(slack.PEOPLE))
        async with slack.opened(one) as desk:
            await desk.home()  # what is done once is done by now
            stage.put(measures.CLICKS, Party.OURS, await desk.clicks(stage.options.clicks // len(slack.PEOPLE)))
    await _crowds(stage)
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        waiting = 0
        for wanted in HOMES:
            await slack.ask(one, wanted - waiting)
            waiting = wanted
            async with slack.opened(one) as desk:
                times = [await desk.home() for _ in range(1 + LOOKS)][1:]
            row = less(f"home_{wanted}_p50_ms", f"Home with {wanted} waiting, p50", "ms")
            stage.put(row, Party.OURS, 1000 * percentile(times, 0.5))


async def _crowds(stage: Stage) -> None:
    """Measure what many people at once cost those who decide."""
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        await slack.ask(one, 15)
        async with slack.opened(one) as desk:
            await desk.home()
            times = await crowds.votes_among_strangers(desk, PER_MINUTE, stage.options.pestered)
            row = less("stranger_vote_p99_s", f"vote to counted, {PER_MINUTE} strangers' acts a minute, p99", "s")
            stage.put(row, Party.OURS, percentile(times, 0.99))
        await slack.ask(one, 1)
        async with slack.opened(one) as desk:
            await desk.home()
            found = await crowds.burst(desk, BURST)
            row = less("burst_ack_p99_s", f"{BURST} submissions at once, acknowledged, p99", "s")
            stage.put(row, Party.OURS, percentile(found.seconds, 0.99))
            row = more("burst_recorded", f"of {BURST} submissions at once, recorded", "submissions")
            stage.put(row, Party.OURS, found.recorded)
