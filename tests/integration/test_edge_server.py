"""Nobody keeps the server waiting: a request has its time to arrive, and the slow make room for those who come."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from edge import server as edge_server
from edge.server import Limits, Server
from tests.patience import MINUTE

SOON = 0.2
HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
WHOLE = HEAD + b"0123456789"


@dataclass
class Site:
    """A server whose application reads the body, and waits with its answer if it is told to."""

    port: int = 0
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    read: asyncio.Event = field(default_factory=asyncio.Event)
    refuses: bool = False

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        self.reading.set()
        while not self.refuses and (message := await receive())["type"] == "http.request":
            if not message["more_body"]:
                self.read.set()
                await self.hold.wait()
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


class Caller:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def is_answered(self) -> bool:
        """Wait for an answer; return whether one came before the connection ended."""
        async with asyncio.timeout(MINUTE):
            try:
                return (await self.reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            except (asyncio.IncompleteReadError, ConnectionResetError):
                return False

    async def is_cut_off_while_it_sends(self, piece: bytes, every: float) -> bool:
        """Send the piece again and again; return whether the connection ended."""
        try:
            async with asyncio.timeout(MINUTE):
                while not self.reader.at_eof():
                    await self.send(piece)
                    await asyncio.sleep(every)
        except ConnectionError:
            return True
        return self.reader.at_eof()


@asynccontextmanager
async def site(limits: Limits, *, hold: bool = False, refuses: bool = False) -> AsyncIterator[Site]:
    running = Site(refuses=refuses)
    if not hold:
        running.hold.set()
    listener = socket.create_server(("127.0.0.1", 0))
    running.port = listener.getsockname()[1]
    server = Server(running, limits, headers=[])
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield running
    finally:
        server.should_exit = True
        await task


@asynccontextmanager
async def caller(to: Site) -> AsyncIterator[Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", to.port)
    try:
        yield Caller(reader, writer)
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST / HT", HEAD[:-2], HEAD, WHOLE[:-1], WHOLE + HEAD],
    ids=["-", "line", "head", "-body", "body", "2nd"],
)
async def test_a_request_that_does_not_arrive_in_time_ends_its_connection(sent: bytes) -> None:
    async with site(Limits(connections=9, seconds=SOON)) as there, caller(there) as slow:
        await slow.send(sent)
        assert await slow.is_answered() is sent.startswith(WHOLE)
        assert not await slow.is_answered()


async def test_a_request_that_comes_in_drops_has_no_more_time_than_others() -> None:
    async with site(Limits(connections=9, seconds=SOON)) as there, caller(there) as slow:
        await slow.send(b"POST / HTTP/1.1\r\nX-Slow: ")
        assert await slow.is_cut_off_while_it_sends(b"x", every=0.01)


async def test_the_time_for_an_answer_is_not_counted() -> None:
    async with site(Limits(connections=9, seconds=SOON), hold=True) as there, caller(there) as patient:
        await patient.send(WHOLE)
        await asyncio.wait_for(there.read.wait(), MINUTE)
        async with caller(there) as slow:
            assert not await slow.is_answered()  # its time has passed, and the patient one's with it
        there.hold.set()
        assert await patient.is_answered()


async def test_many_requests_pass_on_one_connection_whole_or_in_pieces() -> None:
    async with site(Limits(connections=9, seconds=MINUTE)) as there, caller(there) as one:
        for pieces in ([WHOLE], [WHOLE[:7], WHOLE[7:]], [HEAD, WHOLE[len(HEAD) :]], [WHOLE + WHOLE[:30], WHOLE[30:]]):
            for piece in pieces:
                await one.send(piece)
            assert await one.is_answered()
        assert await one.is_answered()


async def test_who_waits_longest_makes_room_for_who_comes() -> None:
    async with site(Limits(connections=2, seconds=MINUTE)) as there, caller(there) as first, caller(there) as second:
        await first.send(HEAD)
        await asyncio.wait_for(there.reading.wait(), MINUTE)
        there.reading.clear()
        await second.send(HEAD)
        await asyncio.wait_for(there.reading.wait(), MINUTE)
        async with caller(there) as third:
            assert not await first.is_answered()
            await second.send(WHOLE[len(HEAD) :])
            await third.send(WHOLE)
            assert await second.is_answered()
            assert await third.is_answered()


async def test_who_is_being_served_makes_no_room() -> None:
    async with site(Limits(connections=1, seconds=MINUTE), hold=True) as there, caller(there) as first:
        await first.send(WHOLE)
        await asyncio.wait_for(there.read.wait(), MINUTE)
        async with caller(there) as second:
            assert not await second.is_answered()
        there.hold.set()
        assert await first.is_answered()


async def test_who_holds_most_makes_room_when_there_is_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge_server, "UNFINISHED_LIMIT", 1000)
    big = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"
    async with site(Limits(connections=9, seconds=MINUTE)) as there, caller(there) as small, caller(there) as large:
        await small.send(HEAD)
        await large.send(big + b"x" * 2000)
        assert not await large.is_answered()
        await small.send(WHOLE[len(HEAD) :])
        assert await small.is_answered()


async def test_what_comes_after_an_early_answer_is_thrown_away_and_then_the_connection_is_as_new() -> None:
    big = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"
    async with site(Limits(connections=9, seconds=MINUTE), refuses=True) as there, caller(there) as one:
        for _ in range(3):
            await one.send(big)
            assert await one.is_answered()
            await one.send(b"x" * 100_000)


async def test_what_comes_after_an_early_answer_has_a_bound() -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    async with site(Limits(connections=9, seconds=MINUTE), refuses=True) as there, caller(there) as endless:
        await endless.send(head)
        assert await endless.is_answered()
        assert await endless.is_cut_off_while_it_sends(chunk, every=0)
