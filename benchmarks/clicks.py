"""What a card and a click take: SQL statements of a click under load, and how soon each has its effect.

Cards and their clicks come one by one: Slack takes one message a second in a channel.
"""

import asyncio
import time
from dataclasses import dataclass

from benchmarks import measures, slack
from benchmarks.connectors import Stamps, listening
from benchmarks.edge import Edge
from benchmarks.governed_steps import ended, refs
from benchmarks.measures import Party, percentile
from benchmarks.plant import plant
from benchmarks.postgres import counting
from benchmarks.slack import PEOPLE, Desk
from benchmarks.stage import Stage

PAUSE = 1.1
"""Seconds after the last message about a run: more than Slack wants, so that the next card waits for nothing."""
WARM_UP = 2
_QUIET = "SELECT NOT EXISTS (SELECT FROM effects WHERE purpose = 'message' AND status IN ('pending', 'leased'))"
_VOTED = "SELECT count(*) = 1 FROM votes JOIN approvals USING (approval_id) WHERE run_id = %s"


@dataclass(frozen=True)
class Counter:
    """A process that does everything, a Slack before it, and what its connectors tell."""

    desk: Desk
    edge: Edge
    stamps: Stamps

    async def card_and_click(self) -> tuple[float, float]:
        """Have a run ask two people; return the seconds from trigger to card, and from the last click to the call."""
        await asyncio.sleep(PAUSE)
        (ref,) = refs(1)
        began = time.time()
        run = await self.edge.trigger("bench.file", ref)
        posted = await self.desk.slack.until_posted(ref) - began
        (value,) = self.desk.values(1)
        await self.desk.click(PEOPLE[0], value)
        await self.desk.plant.database.until(_VOTED, [run])
        began = time.time()
        await self.desk.click(PEOPLE[1], value)
        called = (await self.stamps.of(run, "file")).at - began
        await ended(self.desk.plant.database, [run])
        await self.desk.plant.database.until(_QUIET)
        return posted, called


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    stage.put(measures.CLICK_STATEMENTS, Party.OURS, await statements(stage))
    cards, calls = zip(*(await times(stage))[WARM_UP:], strict=True)
    stage.put(measures.CARD, Party.OURS, 1000 * percentile(cards, 0.5))
    stage.put(measures.CLICK_CALL, Party.OURS, 1000 * percentile(calls, 0.5))


async def statements(stage: Stage) -> float:
    """Return how many statements a click takes where many come at once, counted on the wire of the bot's process."""
    approvals = stage.options.clicks // len(PEOPLE)
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        await slack.ask(one, approvals)
        async with counting(one.database.dsn) as wire:
            one.seen_through(wire.dsn)
            async with slack.opened(one) as desk:
                await desk.home()  # what is done once is done by now
                wire.counts.clear()
                await desk.clicks(approvals)
                return sum(wire.counts.values()) / (approvals * len(PEOPLE))


async def times(stage: Stage) -> list[tuple[float, float]]:
    """Return for each card the seconds until it was posted, and those from its last click to the connector's call."""
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        async with listening() as stamps:
            one.tell(stamps.port)
            async with slack.opened(one, "edge", "worker", "sweeps") as desk:
                counter = Counter(desk, Edge(desk.url, desk.http), stamps)
                return [await counter.card_and_click() for _ in range(WARM_UP + stage.options.cards)]
