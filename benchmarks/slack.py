"""A Slack that takes everything at once, and people who click and look: what goes to /slack/events, signed as it signs.

What the buttons carry is read from the database: cards are posted at one a second to a channel, which is Slack's limit.
"""

import asyncio
import hashlib
import hmac
import json
import math
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from benchmarks.connectors import CALL_PATIENCE
from benchmarks.edge import EdgeRefusedError, side_by_side
from benchmarks.governed_steps import refs
from benchmarks.plant import SIGNING_SECRET, Plant
from bot.views.references import DIGEST_PREFIX
from countersign.embedded.ports import free_port
from runtime.model.approval import stamp
from runtime.model.requirement import Requirement
from runtime.model.states import ApprovalStatus

TEAM, CHANNEL = "T0BENCH", "C0BENCH"
PEOPLE = ("U0ANNA", "U0BORIS")
AT_ONCE = 16
PROFILES = 100
"""Questions about people that Slack answers in a minute (`users.info` is of its tier 4)."""

_ASKED = "SELECT count(*) >= %s FROM approvals WHERE status = 'requested'"
_OPEN = "SELECT approval_id, digest, requirement FROM approvals WHERE status = 'requested' ORDER BY 1"
_VOTED = "SELECT count(*) = %s FROM votes"
_POSTED = "UPDATE approvals SET channel = 'C0BENCH', card_ts = '1.' || approval_id"


@dataclass
class Slack:
    """The stand-in; `drawn` counts how often the Home of each has been, `limited` what was asked too often.

    `posted` has what `chat.postMessage` was called with, and when.
    """

    limited: int = 0
    asked: deque[float] = field(default_factory=deque)
    drawn: Counter[str] = field(default_factory=Counter)
    posted: list[tuple[str, float]] = field(default_factory=list)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def until_drawn(self, wanted: Counter[str]) -> None:
        """Wait until Homes have been drawn so often."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.drawn >= wanted)

    async def until_posted(self, ref: str) -> float:
        """Wait until a message that names this has been posted; return when that was called."""
        async with self._changed, asyncio.timeout(CALL_PATIENCE):
            await self._changed.wait_for(lambda: any(ref in said for said, _ in self.posted))
        return next(at for said, at in self.posted if ref in said)

    async def answer(self, request: web.Request) -> web.Response:
        """Say yes to any method."""
        method, at = request.match_info["method"], time.time()
        given = await (request.json() if request.content_type == "application/json" else request.post())
        async with self._changed:
            if method == "views.publish":
                self.drawn[str(given.get("user_id", ""))] += 1
            if method == "chat.postMessage":
                self.posted.append((json.dumps(dict(given)), at))
            self._changed.notify_all()
        if method == "users.info" and (wait := self._wait()):
            limit = {"Retry-After": str(wait)}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=limit)
        profile = dict.fromkeys(("deleted", "is_bot", "is_restricted", "is_ultra_restricted"), False)
        user = {"id": given.get("user", request.query.get("user", "")), "team_id": TEAM, **profile}
        place = {"channel": CHANNEL, "ts": str(time.time()), "permalink": "https://bench.example/card"}
        who = {"team_id": TEAM, "user_id": "U0BOT", "bot_id": "B0BOT", "url": "https://bench.example/"}
        return web.json_response({"ok": True, "user": user, "view": {"hash": place["ts"]}, **place, **who})

    def _wait(self) -> int:
        """Return after how many seconds another question about somebody is answered, 0 for now."""
        now = time.monotonic()
        while self.asked and self.asked[0] <= now - 60:
            self.asked.popleft()
        if len(self.asked) < PROFILES:
            self.asked.append(now)
            return 0
        self.limited += 1
        return math.ceil(self.asked[0] + 60 - now)


@dataclass(frozen=True)
class Desk:
    """A bot process, and Slack before it."""

    url: str
    http: aiohttp.ClientSession
    plant: Plant
    slack: Slack
    secret: str

    async def clicks(self, approvals: int) -> float:
        """Let two people sign that many approvals; return the clicks a second until every vote is counted."""
        values = self.values(approvals)
        began = time.perf_counter()
        for person in PEOPLE:
            await side_by_side(partial(self.click, person), values, AT_ONCE)
        await self.plant.database.until(_VOTED, [len(values) * len(PEOPLE)])
        return len(values) * len(PEOPLE) / (time.perf_counter() - began)

    def values(self, approvals: int) -> list[str]:
        """Return what the buttons of that many open requests carry."""
        return [json.dumps(card_ref(row)) for row in self.plant.database.rows(_OPEN)[:approvals]]

    async def home(self, user: str = PEOPLE[0]) -> float:
        """Open a Home; return the seconds until it is drawn."""
        wanted = self.slack.drawn + Counter([user])
        began = time.perf_counter()
        await self.open(user)
        await self.slack.until_drawn(wanted)
        return time.perf_counter() - began

    async def open(self, user: str) -> None:
        """Have Slack tell that somebody has opened their Home."""
        event = {"type": "app_home_opened", "user": user, "tab": "home", "channel": "D0BENCH"}
        body = json.dumps({"type": "event_callback", "team_id": TEAM, "event": event}).encode()
        await self.send(body, "application/json")

    async def click(self, person: str, value: str) -> None:
        """Press the button that approves."""
        stamp = str(time.time())
        payload = {
            "type": "block_actions",
            "user": {"id": person, "team_id": TEAM},
            "actions": [{"action_id": "countersign_approve", "action_ts": stamp, "value": value}],
            "trigger_id": f"{stamp}.trigger",
            "channel": {"id": CHANNEL},
        }
        await self.send(urlencode({"payload": json.dumps(payload)}).encode(), "application/x-www-form-urlencoded")

    async def send(self, body: bytes, content_type: str) -> str:
        """Send what Slack sends, signed; return the answer."""
        stamp = str(int(time.time()))
        digest = hmac.new(self.secret.encode(), b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        signed = {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}", "Content-Type": content_type}
        async with self.http.post(f"{self.url}/slack/events", data=body, headers=signed) as response:
            if not response.ok:
                raise EdgeRefusedError(f"/slack/events: {response.status} {await response.text()}")
            return await response.text()


def card_ref(row: Mapping[str, Any]) -> dict[str, str]:
    """Return what the buttons of an open request carry."""
    bound = stamp(row["digest"], Requirement.of(row["requirement"]), ApprovalStatus.REQUESTED)
    return {"id": row["approval_id"], "digest": row["digest"][:DIGEST_PREFIX], "stamp": bound}


async def ask(plant: Plant, more: int) -> None:
    """Bring about that many more approvals that wait for two people; nobody hears their cards yet."""
    waiting = int(plant.database.value("SELECT count(*) FROM approvals WHERE status = 'requested'"))
    async with plant.edge("worker") as (_, edge):
        await edge.trigger_all("bench.file", refs(more))
        await plant.database.until(_ASKED, [waiting + more])
    plant.database.run(_POSTED)


@asynccontextmanager
async def opened(plant: Plant, *more: str) -> AsyncIterator[Desk]:
    """Run a bot process, which may have more roles, with a Slack that it can reach."""
    slack, port = Slack(), free_port()
    app = web.Application()
    app.router.add_route("*", "/api/{method}", slack.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    plant.env["COUNTERSIGN_SLACK_API_URL"] = f"http://127.0.0.1:{port}/api/"
    try:
        async with (
            plant.serve("bot", *more) as process,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            yield Desk(process.url, http, plant, slack, SIGNING_SECRET)
    finally:
        del plant.env["COUNTERSIGN_SLACK_API_URL"]
        await runner.cleanup()
