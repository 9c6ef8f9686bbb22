"""The App Home among few open requests and among many: how soon it is drawn, beside clicks too.

Sixty-four people have a Home each, with more requests open than anybody can look at; a hundred votes are one act.
"""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import yaml

from benchmarks import slack
from benchmarks.measures import Party, less, percentile
from benchmarks.parked_runs import template_of
from benchmarks.plant import HERE, Plant, plant
from benchmarks.slack import TEAM, Desk
from benchmarks.stage import Stage

PEOPLE = [f"U0READER{number:02}" for number in range(64)]
SEVERAL = 100

_RUN = "SELECT run_id FROM approvals WHERE status = 'requested' LIMIT 1"
_BOUND = """
    SELECT approval_id, digest, requirement FROM approvals
     WHERE status = 'requested' AND NOT EXISTS (SELECT FROM votes v WHERE v.approval_id = approvals.approval_id)
     ORDER BY coalesce(prolonged_until, expires_at), approval_id LIMIT %s
"""
_TOGETHER = "SELECT count(*) = %s FROM votes WHERE together IS NOT NULL"


def add_people(plant: Plant) -> None:
    """Have the directory know sixty-four more people of the group that is asked."""
    known = yaml.safe_load((HERE / "directory.yaml").read_text(encoding="utf-8"))
    known["people"] += [
        {"id": user.lower(), "name": user.title(), "groups": ["compliance"], "slack": [{"team": TEAM, "user": user}]}
        for user in PEOPLE
    ]
    path = Path(plant.folder) / "directory.yaml"
    path.write_text(yaml.safe_dump(known), encoding="utf-8")
    plant.env["COUNTERSIGN_DIRECTORY"] = str(path)


def open_more(plant: Plant, count: int) -> None:
    """Have so many more requests open: copies of one that a run waits for."""
    template_of(plant.database, str(plant.database.value(_RUN))).copy(plant.database, 1, count)


async def time_homes(desk: Desk, count: int) -> list[float]:
    """Open Homes one after the other; return the seconds of each until it was drawn."""
    await desk.home(PEOPLE[0])
    return [await desk.home(PEOPLE[number % len(PEOPLE)]) for number in range(count)]


async def beside_clicks(desk: Desk, clicks: int) -> tuple[float, list[float]]:
    """Open all Homes at once while somebody clicks; return the seconds until all are drawn, and those of each click."""
    values = desk.values(clicks)
    drawn = desk.slack.drawn.copy()
    began = time.perf_counter()
    opened = asyncio.gather(*(desk.open(user) for user in PEOPLE))
    times = [await _time_click(desk, value) for value in values]
    await opened
    await desk.slack.until_drawn(Counter(PEOPLE) + drawn)
    return time.perf_counter() - began, times


async def _time_click(desk: Desk, value: str) -> float:
    began = time.perf_counter()
    await desk.click(slack.PEOPLE[1], value)
    return time.perf_counter() - began


async def decide_several(desk: Desk) -> tuple[float, float]:
    """Decide a hundred by one act; return the seconds until they are recorded, and until all votes are counted."""
    found = map(slack.card_ref, desk.plant.database.rows(_BOUND, [SEVERAL]))
    options = [{"value": "{id} {digest} {stamp}".format_map(one)} for one in found]
    ref = json.dumps({"verdict": "approve", "needs_reason": True})
    values = {
        "chosen-0": {"chosen-0": {"selected_options": options}},
        "reason": {"reason": {"value": "seen and checked"}},
    }
    view = {"type": "modal", "id": "V0SEVERAL", "callback_id": "countersign_home_decide", "private_metadata": ref}
    payload = {
        "type": "view_submission",
        "user": {"id": PEOPLE[0], "team_id": TEAM},
        "view": {**view, "state": {"values": values}},
    }
    began = time.perf_counter()
    await desk.send(urlencode({"payload": json.dumps(payload)}).encode(), "application/x-www-form-urlencoded")
    recorded = time.perf_counter() - began
    await desk.plant.database.until(_TOGETHER, [SEVERAL])
    return recorded, time.perf_counter() - began


FEW, MANY = 10, 10_000
LOOKS, CLICKS = 200, 40


async def measure(stage: Stage) -> None:
    """Measure all of it."""
    with plant(stage.server, stage.folder, stage.opa.url) as one:
        add_people(one)
        await slack.ask(one, FEW)
        few = await _measure_home(stage, one, FEW)
        open_more(one, MANY - FEW)
        many = await _measure_home(stage, one, MANY)
        _put(stage, f"home_{MANY}_over_{FEW}", f"a Home among {MANY:,} open over one among {FEW}, p50", "x", many / few)
        async with slack.opened(one) as desk:
            await time_homes(desk, 1)  # what is done once is done by now
            whole, times = await beside_clicks(desk, CLICKS)
            recorded, counted = await decide_several(desk)
    _put(stage, "homes_64_s", f"64 Homes at once among {MANY:,} open, until all are drawn", "s", whole)
    _put(stage, "homes_64_click_p99_ms", "  a click meanwhile, p99", "ms", 1000 * percentile(times, 0.99))
    _put(stage, "homes_64_click_max_ms", "  a click meanwhile, the slowest", "ms", 1000 * max(times))
    _put(stage, "several_recorded_s", "100 requests decided by one act, until they are recorded", "s", recorded)
    _put(stage, "several_counted_s", "  until each vote is counted", "s", counted)


async def _measure_home(stage: Stage, one: Plant, count: int) -> float:
    async with slack.opened(one) as desk:
        times = await time_homes(desk, LOOKS)
    for share in (0.5, 0.99):
        title = f"Home among {count:,} open requests, p{share * 100:.0f}"
        _put(stage, f"home_{count}_open_p{share * 100:.0f}_ms", title, "ms", 1000 * percentile(times, share))
    return percentile(times, 0.5)


def _put(stage: Stage, name: str, title: str, unit: str, value: float) -> None:
    stage.put(less(name, title, unit), Party.OURS, value)
