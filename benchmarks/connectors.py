"""The connectors of the benchmark's pack: they answer at once, and say when they were called where they are told to.

Whoever listens hears of each call in a datagram.
"""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from runtime.handlers import Call, Handler, JsonObject


class BenchSettings(BaseModel):
    """The port that is told of calls."""

    port: int


class Teller:
    """Sends word of each call in a datagram: who waits for it has the moment without asking anybody."""

    def __init__(self, port: str | None) -> None:
        self._to = ("127.0.0.1", int(port)) if port else None
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    async def run(self, call: Call) -> JsonObject:
        """Do nothing, and tell of it."""
        if self._to is not None:
            said = (call.run_id, call.step, time.time(), call.correlation_key, call.token)
            self._socket.sendto(json.dumps(said).encode(), self._to)
        return {"ok": True}


def handlers(settings: Mapping[str, str]) -> dict[str, Handler]:
    """Return the pack's handlers; the setting `port` says where to tell of calls."""
    handler = Handler(run=Teller(settings.get("port")).run)
    operations = ("servicenow::add_work_note", "register::file_report", "portal::request_documents")
    return {**dict.fromkeys(operations, handler), "servicenow::read_incident": Handler(run=handler.run, writes=False)}


CALL_PATIENCE = 120.0
WAITING = 1 << 22
"""Bytes that may wait to be read: what comes while a thousand answers are sent must not be dropped."""


@dataclass(frozen=True)
class Stamp:
    """A call of a connector: `at` in seconds since the epoch; key and token go back with the answer of a wait."""

    run_id: str
    step: str
    at: float
    key: str
    token: str


class Stamps(asyncio.DatagramProtocol):
    """The calls so far, by run and step."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], Stamp] = {}
        self.port = 0
        self._changed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to be told."""
        self.port = transport.get_extra_info("sockname")[1]

    def datagram_received(self, data: bytes, addr: Any) -> None:  # noqa: ARG002 - asyncio's signature
        """Keep word of a call; a second one under the same name would be a second act, and is not expected."""
        stamp = Stamp(*json.loads(data))
        self.seen[stamp.run_id, stamp.step] = stamp
        self._changed.set()

    async def of(self, run_id: str, step: str) -> Stamp:
        """Wait until the step of the run has called its connector."""
        async with asyncio.timeout(CALL_PATIENCE):
            while (run_id, step) not in self.seen:
                self._changed.clear()
                await self._changed.wait()
        return self.seen[run_id, step]


@asynccontextmanager
async def listening() -> AsyncIterator[Stamps]:
    """Listen while the block lasts."""
    door = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    door.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WAITING)
    door.bind(("127.0.0.1", 0))
    transport, stamps = await asyncio.get_running_loop().create_datagram_endpoint(Stamps, sock=door)
    try:
        yield stamps
    finally:
        transport.close()
