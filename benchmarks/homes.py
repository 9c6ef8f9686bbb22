"""Sixty-four people with a desk each, and more requests open than anybody can look at."""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlencode

import yaml

from benchmarks import slack
from benchmarks.ours_parked import template_of
from benchmarks.plant import HERE, Plant
from benchmarks.slack import TEAM, Desk

PEOPLE = [f"U0READER{number:02}" for number in range(64)]
SEVERAL = 100

_RUN = "SELECT run_id FROM approvals WHERE status = 'requested' LIMIT 1"
_BOUND = """
    SELECT approval_id || ' ' || left(digest, 16) || ' ' AS value FROM approvals
     WHERE status = 'requested' AND NOT EXISTS (SELECT FROM votes v WHERE v.approval_id = approvals.approval_id)
     ORDER BY coalesce(prolonged_until, expires_at), approval_id LIMIT %s
"""
_TOGETHER = "SELECT count(*) = %s FROM votes WHERE together IS NOT NULL"


def seat(plant: Plant) -> None:
    """Have the directory know sixty-four more people of the group that is asked."""
    known = yaml.safe_load((HERE / "directory.yaml").read_text(encoding="utf-8"))
    known["people"] += [
        {"id": user.lower(), "name": user.title(), "groups": ["compliance"], "slack": [{"team": TEAM, "user": user}]}
        for user in PEOPLE
    ]
    path = Path(plant.folder) / "directory.yaml"
    path.write_text(yaml.safe_dump(known), encoding="utf-8")
    plant.env["COUNTERSIGN_DIRECTORY"] = str(path)


def multiply(plant: Plant, count: int) -> None:
    """Have so many more requests open: copies of one that a run waits for."""
    template_of(plant.database, str(plant.database.value(_RUN))).copy(plant.database, 1, count)


async def looks(desk: Desk, count: int) -> list[float]:
    """Open Homes one after the other; return the seconds of each until it was drawn."""
    await desk.home(PEOPLE[0])
    return [await desk.home(PEOPLE[number % len(PEOPLE)]) for number in range(count)]


async def beside_clicks(desk: Desk, clicks: int) -> tuple[float, list[float]]:
    """Open all Homes at once while somebody clicks; return the seconds until all are drawn, and those of each click."""
    values = desk.values(clicks)
    drawn = desk.slack.drawn.copy()
    began = time.perf_counter()
    opened = asyncio.gather(*(desk.open(user) for user in PEOPLE))
    times = [await _timed(desk, value) for value in values]
    await opened
    await desk.slack.until_drawn(Counter(PEOPLE) + drawn)
    return time.perf_counter() - began, times


async def _timed(desk: Desk, value: str) -> float:
    began = time.perf_counter()
    await desk.click(slack.PEOPLE[1], value)
    return time.perf_counter() - began


async def several(desk: Desk) -> tuple[float, float]:
    """Decide a hundred by one act; return the seconds until they are recorded, and until all votes are counted."""
    found = desk.plant.database.rows(_BOUND, [SEVERAL])
    options = [{"value": row["value"]} for row in found]
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
