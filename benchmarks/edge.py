"""A caller of the HTTP edge: triggers runs and answers for what they wait for, signed as the edge wants it."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import aiohttp

from edge.signing import headers

CALLER, SECRET = "bench", "bench-secret-" * 4
AT_ONCE = 8

T = TypeVar("T")


class EdgeRefusedError(Exception):
    """The edge did not take a request; the message is its answer."""


@dataclass(frozen=True)
class Edge:
    """An edge as its caller sees it."""

    url: str
    http: aiohttp.ClientSession

    async def trigger(self, kind: str, ref: str, **more: object) -> str:
        """Start a run and return its id; its case is the reference, and `more` stands beside that in its trigger."""
        answer = await self._post(f"/v1/triggers/{kind}", {"ref": ref, "payload": {"case": ref, **more}})
        return str(answer["run_id"])

    async def answer(self, key: str, token: str) -> None:
        """Answer for a wait."""
        word = {"type": "completed", "correlation_key": key, "token": token, "result": {"answer": "yes"}}
        await self._post("/v1/notifications", {"id": f"{key}:{token}", **word})

    async def trigger_all(self, kind: str, refs: Iterable[str]) -> list[str]:
        """Start many runs, a few at a time; return their ids."""
        return await side_by_side(lambda ref: self.trigger(kind, ref), refs)

    async def trigger_batch(self, kind: str, refs: Sequence[str]) -> None:
        """Start runs by one request; raise EdgeRefusedError where one of them was not started by it."""
        wishes = [{"type": kind, "ref": ref, "payload": {"case": ref}} for ref in refs]
        answer = await self._post("/v1/triggers:batch", {"triggers": wishes})
        if others := [one for one in answer["outcomes"] if one["outcome"] != "started"]:
            raise EdgeRefusedError(f"{len(others)} of {len(refs)} triggers of a batch started nothing: {others[0]}")

    async def _post(self, path: str, message: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(message).encode()
        signed = headers(CALLER, SECRET, int(time.time()), "POST", path, body)
        async with self.http.post(f"{self.url}{path}", data=body, headers=signed) as response:
            answer: dict[str, Any] = await response.json(content_type=None)
            if not response.ok:
                raise EdgeRefusedError(f"{path}: {response.status} {answer}")
            return answer


async def side_by_side(act: Callable[[str], Awaitable[T]], items: Iterable[str], at_once: int = AT_ONCE) -> list[T]:
    """Do something with each item, so many at once; return the results in order."""
    slots = asyncio.Semaphore(at_once)

    async def one(item: str) -> T:
        async with slots:
            return await act(item)

    return await asyncio.gather(*(one(item) for item in items))
