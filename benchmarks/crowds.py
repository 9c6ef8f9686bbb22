"""What people in Slack see of it: clicks until their vote is counted, how soon a Home is drawn; and crowds.

Many people at once cost those who decide: a burst of submissions, and strangers while officers vote.
"""

import asyncio
import itertools
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from benchmarks import measures, slack
from benchmarks.measures import Party, less, more, percentile
from benchmarks.plant import BenchError, plant
from benchmarks.slack import CHANNEL, PEOPLE, TEAM, Desk
from benchmarks.stage import Stage
from bot.listeners.admission import BUSY, LATE

STRANGERS = 25
_FORM = "application/x-www-form-urlencoded"
_RECORDED = "SELECT count(*) FROM notifications WHERE kind = 'vote'"
_VOTED_BY = "SELECT count(*) = 1 FROM votes WHERE approval_id = %s AND account = %s"


@dataclass(frozen=True)
class Burst:
    """Seconds until each submission was acknowledged, and how many were recorded."""

    seconds: list[float]
    recorded: int


async def burst(desk: Desk, count: int) -> Burst:
    """Have so many submissions come at once; raise BenchError where people are told another thing than holds."""
    value = json.loads(desk.values(1)[0])
    before = int(desk.plant.database.value(_RECORDED))
    answers = await asyncio.gather(*(_submit(desk, person, value, number) for number, person in _turns(count)))
    said = Counter(words for _, words in answers)
    recorded = int(desk.plant.database.value(_RECORDED)) - before
    if not said[""] <= recorded <= said[""] + said[LATE] or set(said) - {"", LATE, BUSY}:
        raise BenchError(f"{recorded} submissions are recorded, and people are told: {dict(said)}")
    return Burst([seconds for seconds, _ in answers], recorded)


def _turns(count: int) -> Iterator[tuple[int, str]]:
    return zip(range(count), itertools.cycle(PEOPLE), strict=False)


async def _submit(desk: Desk, person: str, value: dict[str, str], number: int) -> tuple[float, str]:
    """Submit a reason; return the seconds until the answer, and what it says."""
    ref = {**value, "verdict": "approve", "channel": CHANNEL}
    view = {
        "type": "modal",
        "id": f"V{number}",
        "callback_id": "countersign_reason",
        "private_metadata": json.dumps(ref),
        "state": {"values": {"reason": {"reason": {"value": "seen and checked"}}}},
    }
    payload = {"type": "view_submission", "user": {"id": person, "team_id": TEAM}, "view": view}
    began = time.perf_counter()
    text = await desk.send(urlencode({"payload": json.dumps(payload)}).encode(), _FORM)
    return time.perf_counter() - began, next(iter(json.loads(text)["errors"].values())) if text else ""


async def votes_among_strangers(desk: Desk, per_minute: int, seconds: float) -> list[float]:
    """Have strangers give so many commands while officers vote; return the seconds until each vote was counted."""
    pestering = asyncio.create_task(_pester(desk, per_minute / 60, seconds))
    values, times = desk.values(10_000), []
    pause = seconds / (len(values) * len(PEOPLE))
    for value, person in itertools.product(values, PEOPLE):
        began = time.perf_counter()
        await desk.click(person, value)
        await desk.plant.database.until(_VOTED_BY, [json.loads(value)["id"], person])
        times.append(time.perf_counter() - began)
        await asyncio.sleep(max(pause - times[-1], 0))
    await pestering
    return times


async def _pester(desk: Desk, per_second: float, seconds: float) -> None:
    giving = set()
    for number in range(int(per_second * seconds)):
        giving.add(asyncio.create_task(_command(desk, f"U0STRANGER{number % STRANGERS}", number)))
        await asyncio.sleep(1 / per_second)
    await asyncio.gather(*giving)


async def _command(desk: Desk, user: str, number: int) -> None:
    given = {
        "command": "/countersign",
        "text": "help",
        "team_id": TEAM,
        "user_id": user,
        "channel_id": CHANNEL,
        "trigger_id": f"{number}.trigger",
    }
    await desk.send(urlencode(given).encode(), _FORM)


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
            times = await votes_among_strangers(desk, PER_MINUTE, stage.options.pestered)
            row = less("stranger_vote_p99_s", f"vote to counted, {PER_MINUTE} strangers' acts a minute, p99", "s")
            stage.put(row, Party.OURS, percentile(times, 0.99))
        await slack.ask(one, 1)
        async with slack.opened(one) as desk:
            await desk.home()
            found = await burst(desk, BURST)
            row = less("burst_ack_p99_s", f"{BURST} submissions at once, acknowledged, p99", "s")
            stage.put(row, Party.OURS, percentile(found.seconds, 0.99))
            row = more("burst_recorded", f"of {BURST} submissions at once, recorded", "submissions")
            stage.put(row, Party.OURS, found.recorded)
