"""The upstream: slow beyond the timeout, failing before or after acting, throttling, and mostly not deduplicating.

What becomes of a request is a function of the seed, the request's key and how often it came. It answers what it was
asked by callbacks to the edge: repeated, out of order, and late.
"""

import argparse
import asyncio
import hashlib
import itertools
import json
from collections import Counter, defaultdict
from enum import StrEnum
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from edge.signing import headers
from tests.faults.world.history import History, true_time

CALLER = "world-upstream"
SECRET = "world-upstream-secret-" * 3
DEDUPLICATES = {"tell", "ask_client"}
"""What the upstream knows again by its key; the rest it does as often as it is asked."""


class Fate(StrEnum):
    """What becomes of a request."""

    WELL = "well"
    FAIL_BEFORE = "fail_before"
    FAIL_AFTER = "fail_after"
    CUT_BEFORE = "cut_before"
    CUT_AFTER = "cut_after"
    SLOW = "slow"  # it acts at once, and answers after the client has gone
    LATE = "late"  # it acts after the client has gone
    THROTTLED = "throttled"


_FATES = [fate for fate in Fate if fate is not Fate.WELL]
_TROUBLED = 0.16
"""Share of requests that do not go well."""
_SLOW, _LATE = 2.6, 3.6
"""Seconds, beyond the verbs' timeout of two: with the 3.5 for which a link may hold a request, within the time in which
it may still land (`settles_within`)."""
_GIVE_UP = 900.0


def fraction(*parts: object) -> float:
    """Return a number in [0, 1) that these parts always give."""
    digest = hashlib.sha256("|".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:7], "big") / (1 << 56)


def fate_of(seed: int, operation: str, key: str, number: int) -> Fate:
    """Return what becomes of the nth request under a key."""
    roll = fraction(seed, operation, key, number)
    return _FATES[int(roll / _TROUBLED * len(_FATES))] if roll < _TROUBLED else Fate.WELL


class Upstream:
    """The other side of the world's verbs."""

    def __init__(self, seed: int, history: History, edge: str, first: Fate) -> None:
        self.seed, self.history, self.edge, self.first = seed, history, edge, first
        self.acts: dict[tuple[str, str], list[str]] = defaultdict(list)
        self.asked: Counter[tuple[str, str]] = Counter()
        self.numbers = itertools.count(1)
        self.tasks: set[asyncio.Task[None]] = set()

    def app(self) -> web.Application:
        """Return the HTTP application."""
        app = web.Application()
        app.router.add_post("/act/{operation}", self.act)
        app.router.add_get("/acts/{operation}", self.look_back)
        app.router.add_get("/look", self.look)
        return app

    async def act(self, request: web.Request) -> web.StreamResponse:
        """Act, or not, and answer, or not."""
        operation, key = request.match_info["operation"], request.headers["Idempotency-Key"]
        body = await request.json()
        self.asked[operation, key] += 1
        number = self.asked[operation, key]
        is_set = number == 1 and self.first is not Fate.WELL
        fate = self.first if is_set else fate_of(self.seed, operation, key, number)
        self.history.add("asked", operation=operation, key=key, fate=fate)
        match fate:
            case Fate.FAIL_BEFORE:
                return web.json_response("it broke", status=500)
            case Fate.THROTTLED:
                return web.json_response("too much", status=429, headers={"Retry-After": "1"})
            case Fate.CUT_BEFORE:
                return _hang_up(request)
            case Fate.LATE:
                self.beside(self._act_late(operation, key, body))
                await asyncio.sleep(_LATE)
                return _hang_up(request)
        entry = self._do(operation, key, body)
        match fate:
            case Fate.FAIL_AFTER:
                return web.json_response("it broke", status=500)
            case Fate.CUT_AFTER:
                return _hang_up(request)
            case Fate.SLOW:
                await asyncio.sleep(_SLOW)
        return web.json_response({"entry": entry})

    async def _act_late(self, operation: str, key: str, body: dict[str, Any]) -> None:
        await asyncio.sleep(_LATE)
        self._do(operation, key, body)

    def _do(self, operation: str, key: str, body: dict[str, Any]) -> str:
        """Act: this is the effect in the world, and it is written down."""
        known = self.acts[operation, key]
        if known and operation in DEDUPLICATES:
            return known[0]
        entry = f"{operation}-{next(self.numbers)}"
        known.append(entry)
        self.history.add("acted", operation=operation, key=key, entry=entry, ref=body["ref"], run=body["run"])
        if operation == "ask_client":
            self.beside(self._answer(body))
        return entry

    async def look_back(self, request: web.Request) -> web.Response:
        """Say what was done under a key."""
        return web.json_response({"entries": self.acts[request.match_info["operation"], request.query["key"]]})

    async def look(self, request: web.Request) -> web.StreamResponse:
        """Answer a read; now and then it breaks."""
        ref = request.query["ref"]
        self.asked["look", ref] += 1
        fate = fate_of(self.seed, "look", ref, self.asked["look", ref])
        if fate in (Fate.FAIL_BEFORE, Fate.FAIL_AFTER):
            return web.json_response("it broke", status=500)
        return web.json_response({"value": 3})

    def beside(self, work: Any) -> None:
        """Do it beside the rest."""
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, body: dict[str, Any]) -> None:
        """Call back: up to three deliveries of the same word, side by side and at different times."""
        ref = body["ref"]
        copies = 1 + int(fraction(self.seed, "copies", ref) * 3)
        await asyncio.gather(*(self._deliver(body, copy) for copy in range(copies)))

    async def _deliver(self, body: dict[str, Any], copy: int) -> None:
        ref = body["ref"]
        delay = fraction(self.seed, "delay", ref, copy)
        await asyncio.sleep(0.0 if delay < 0.2 else delay * 2)
        word = {
            "id": f"answer:{ref}",
            "type": "completed",
            "correlation_key": body["correlation"],
            "token": body["token"],
            "result": {"answer": "yes"},
        }
        data = json.dumps(word).encode()
        until = true_time() + _GIVE_UP
        while true_time() < until and not await self._send(ref, data):
            await asyncio.sleep(0.5)

    async def _send(self, ref: str, data: bytes) -> bool:
        path = "/v1/notifications"
        signed = headers(CALLER, SECRET, int(true_time()), "POST", path, data)
        status, answer = 0, {}
        try:
            timeout = aiohttp.ClientTimeout(total=10)
            async with (
                aiohttp.ClientSession(timeout=timeout) as http,
                http.post(f"{self.edge}{path}", data=data, headers=signed) as response,
            ):
                status, answer = response.status, await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError):
            pass
        self.history.add("answered", ref=ref, status=status, outcome=answer.get("status"))
        return status == 202


def _hang_up(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)


async def _serve(options: argparse.Namespace) -> None:
    upstream = Upstream(options.seed, History(options.history), options.edge, Fate(options.first))
    runner = web.AppRunner(upstream.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--edge", required=True)
    parser.add_argument("--first", required=True, help="what becomes of the first request under each key")
    asyncio.run(_serve(parser.parse_args()))
