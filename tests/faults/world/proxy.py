"""A TCP proxy that misbehaves as it is told: cuts, stalls, half-closes, drips, and drops exactly the reply."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum

Open = Callable[[Callable[[], asyncio.Protocol]], Awaitable[tuple[asyncio.BaseTransport, asyncio.BaseProtocol]]]
_DRIP = 0.002


class Trouble(StrEnum):
    """What a link does to those who use it."""

    NONE = "none"
    CUT = "cut"  # all connections end, and new ones too
    STALL = "stall"  # nothing moves; it goes on where it stood
    HALF_CLOSE = "half_close"  # the client is told that no more will come, while its words still arrive
    DRIP = "drip"  # replies come byte by byte
    DROP_REPLY = "drop_reply"  # what is asked is done, and the connection ends in place of the reply


def to_port(port: int) -> Open:
    """Return how to reach a port of this machine."""
    return lambda make: asyncio.get_running_loop().create_connection(make, "127.0.0.1", port)


def to_socket(path: str) -> Open:
    """Return how to reach a Unix socket."""
    return lambda make: asyncio.get_running_loop().create_unix_connection(make, path)


class Proxy:
    """A link from a port of its own to a server."""

    def __init__(self, upstream: Open) -> None:
        self.upstream = upstream
        self.trouble = Trouble.NONE
        self.delay = 0.0  # seconds by which replies come late
        self.port = 0
        self._links: set[_Link] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen."""
        self._server = await asyncio.get_running_loop().create_server(lambda: _Link(self), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def hear(self, link: object, data: bytes) -> None:
        """Hear what a client says on its way to the server; a proxy that reads along does something with it."""

    async def stop(self) -> None:
        """End every connection, and listen no more."""
        self._cut()
        if self._server is not None:
            self._server.close()

    def begin(self, trouble: Trouble) -> None:
        """Make trouble from now on."""
        self.trouble = trouble
        if trouble is Trouble.CUT:
            self._cut()
        for link in list(self._links):
            link.troubled(trouble)

    def end(self) -> None:
        """Behave again; what was stalled flows."""
        self.begin(Trouble.NONE)

    def _cut(self) -> None:
        for link in list(self._links):
            link.cut()


class _Link(asyncio.Protocol):
    """The client's half of a connection; it opens the other half."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.client: asyncio.Transport | None = None
        self.server: asyncio.Transport | None = None
        self._early = bytearray()
        self._drops = bytearray()
        self._closing = self._shut = False  # said by the client that it will say no more, and to it
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.client = transport
        if self.proxy.trouble is Trouble.CUT:
            self.cut()
            return
        self.proxy._links.add(self)
        self.troubled(self.proxy.trouble)
        self.beside(self._connect())

    def beside(self, work: Awaitable[None]) -> None:
        """Do it beside the rest, until the connection ends."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self) -> None:
        try:
            await self.proxy.upstream(lambda: _Far(self))
        except OSError:
            self.cut()
            return

    def connected(self, server: asyncio.Transport) -> None:
        """Hand on what the client has said meanwhile."""
        self.server = server
        if self._early:
            server.write(bytes(self._early))
            self._early.clear()
        if self._closing:
            server.write_eof()

    def data_received(self, data: bytes) -> None:
        self.proxy.hear(self, data)
        if self.server is None:
            self._early += data
        else:
            self.server.write(data)

    def eof_received(self) -> bool:
        self._closing = True
        if self.server is not None and not self.server.is_closing():
            self.server.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.cut()

    def reply(self, data: bytes) -> None:
        """Hand the server's words to the client, or do to them what the trouble does."""
        if self.client is None or self.client.is_closing() or self._shut:
            return
        if self.proxy.trouble is Trouble.DROP_REPLY:
            self.cut()
        elif self.proxy.trouble is Trouble.DRIP or self._drops:
            self._drops += data
            if len(self._drops) == len(data):
                self.beside(self._drip())
        elif self.proxy.delay:
            asyncio.get_running_loop().call_later(self.proxy.delay, self._say, data)
        else:
            self.client.write(data)

    def _say(self, data: bytes) -> None:
        if self.client is not None and not self.client.is_closing():
            self.client.write(data)

    async def _drip(self) -> None:
        """Say it byte by byte at first; what is said meanwhile comes after it."""
        while self._drops and self.client is not None and not (self.client.is_closing() or self._shut):
            size = 1 if self.proxy.trouble is Trouble.DRIP else len(self._drops)
            self.client.write(bytes(self._drops[:size]))
            del self._drops[:size]
            await asyncio.sleep(_DRIP)

    def troubled(self, trouble: Trouble) -> None:
        """Begin a trouble of the connection itself."""
        halves = [half for half in (self.client, self.server) if half is not None and not half.is_closing()]
        for half in halves:
            if trouble is Trouble.STALL:
                half.pause_reading()
            else:
                half.resume_reading()
        if trouble is Trouble.HALF_CLOSE and self.client is not None and not self.client.is_closing():
            self._shut = True
            with suppress(OSError, RuntimeError):
                self.client.write_eof()

    def cut(self) -> None:
        """End both halves at once."""
        self.proxy._links.discard(self)
        for half in (self.client, self.server):
            if half is not None:
                half.abort()
        for task in list(self._tasks):
            task.cancel()


class _Far(asyncio.Protocol):
    """The server's half."""

    def __init__(self, link: _Link) -> None:
        self.link = link

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        if self.link.client is None or self.link.client.is_closing():
            transport.abort()
            return
        self.link.connected(transport)
        if self.link.proxy.trouble is Trouble.STALL:
            transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        self.link.reply(data)

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        if self.link.client is not None and not self.link.client.is_closing():
            self.link.client.close()
