"""The proxy between us and everything else does exactly what it is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

from tests.faults.world.proxy import Proxy, Trouble, to_port
from tests.patience import MINUTE

WORDS = b"what was asked, and more of it than is said byte by byte" * 4


@dataclass
class Line:
    """A proxy in front of a server that repeats what it hears; `heard` is what reached the server."""

    proxy: Proxy
    heard: bytearray

    async def say(self, words: bytes) -> bytes:
        """Say something on a connection of its own, and return what comes back until the end or the last byte."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.proxy.port)
        try:
            return await exchange(reader, writer, words)
        finally:
            writer.close()


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, words: bytes) -> bytes:
    found = b""
    with suppress(ConnectionError):
        writer.write(words)
        async with asyncio.timeout(MINUTE):
            while len(found) < len(words) and (part := await reader.read(4096)):
                found += part
    return found


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    heard = bytearray()

    async def repeat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(4096):
                heard.extend(data)
                writer.write(data)
        writer.close()

    server = await asyncio.start_server(repeat, "127.0.0.1", 0)
    proxy = Proxy(to_port(server.sockets[0].getsockname()[1]))
    await proxy.start()
    yield Line(proxy, heard)
    await proxy.stop()
    server.close()


async def test_without_trouble_everything_passes(line: Line) -> None:
    assert await line.say(WORDS) == WORDS


async def test_a_cut_ends_connections_and_lets_none_in_until_it_is_over(line: Line) -> None:
    line.proxy.begin(Trouble.CUT)
    assert await line.say(WORDS) == b""
    assert line.heard == b""
    line.proxy.end()
    assert await line.say(WORDS) == WORDS


async def test_a_dropped_reply_comes_after_the_act(line: Line) -> None:
    line.proxy.begin(Trouble.DROP_REPLY)
    assert await line.say(WORDS) == b""
    assert line.heard == WORDS


async def test_what_is_stalled_goes_on_where_it_stood(line: Line) -> None:
    line.proxy.begin(Trouble.STALL)
    saying = asyncio.create_task(line.say(WORDS))
    done, _ = await asyncio.wait([saying], timeout=0.1)
    assert not done
    assert line.heard == b""
    line.proxy.end()
    assert await saying == WORDS


async def test_what_drips_comes_whole_and_in_order(line: Line) -> None:
    line.proxy.begin(Trouble.DRIP)
    saying = asyncio.create_task(line.say(WORDS))
    await asyncio.wait([saying], timeout=0.1)
    line.proxy.end()
    assert await saying == WORDS


async def test_after_half_a_close_nothing_comes_while_words_still_arrive(line: Line) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", line.proxy.port)
    assert await exchange(reader, writer, WORDS) == WORDS
    line.proxy.begin(Trouble.HALF_CLOSE)
    assert await reader.read() == b""
    writer.write(b"more")
    async with asyncio.timeout(MINUTE):
        while not line.heard.endswith(b"more"):
            await asyncio.sleep(0.01)
    writer.close()
