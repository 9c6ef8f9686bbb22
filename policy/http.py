"""HTTP/1 as OPA and proxies before it speak it, and no more: a question costs far less Python so than by a library.

One request at a time on a connection; an answer states its length or comes in chunks. All else is no answer.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from policy.contract import PolicyUnavailableError

HEAD_LIMIT = 8 * 1024
MOST_CONNECTIONS = 100
KEPT_SECONDS = 15.0
"""How long a connection may rest: a firewall that forgets it would cost a question its time."""
HTTP_OK = 200

_HEAD = re.compile(
    rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [\t -~\x80-\xff]*)?"
    rb"((?:\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t -~\x80-\xff]*)*)"
)
_FIELD = re.compile(rb"\r\n([^:]+):([^\r]*)")
_LENGTH = re.compile(rb"[0-9]{1,9}")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,7}")
_SIZE_LIMIT = 7

_Found = TypeVar("_Found")
_Reading: TypeAlias = Generator[None, None, _Found]
"""Reads what has come so far, and is resumed whenever there is more."""


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer that came to its end; where its status is not 200, without its body. `last`: no other can follow it."""

    status: int
    body: bytes
    last: bool


class _SilentError(ConnectionError):
    """The connection ended before anything of an answer came."""


def reading(got: bytearray, limit: int) -> _Reading[Whole]:
    """Take an answer with at most `limit` bytes of body out of what comes, or raise PolicyUnavailableError."""
    head = _HEAD.fullmatch((yield from _until(got, b"\r\n\r\n", HEAD_LIMIT, "head")))
    if not head:
        raise PolicyUnavailableError("the answer is not HTTP/1, or its head is malformed")
    if (status := int(head[2])) != HTTP_OK:
        return Whole(status, b"", last=True)
    fields: dict[bytes, bytes] = {}
    for said, value in _FIELD.findall(head[3]):
        name = said.lower()
        fields[name] = b"%b,%b" % (fields[name], value) if name in fields else value.strip(b" \t")
    body = yield from _body(got, limit, fields)
    if got:
        raise PolicyUnavailableError("more came than one answer")
    return Whole(status, body, last=head[1] == b"0" or b"close" in fields.get(b"connection", b"").lower())


def _body(got: bytearray, limit: int, fields: dict[bytes, bytes]) -> _Reading[bytes]:
    length, coding = fields.get(b"content-length"), fields.get(b"transfer-encoding")
    if b"content-encoding" in fields:
        raise PolicyUnavailableError("the answer is encoded, which was not asked for")
    if length is None and coding is not None and coding.lower() == b"chunked":
        return (yield from _chunks(got, limit))
    if length is None or coding is not None or not _LENGTH.fullmatch(length):
        raise PolicyUnavailableError("the answer has neither one Content-Length nor comes in chunks")
    _bound(int(length), limit)
    return (yield from _exactly(got, int(length)))


def _chunks(got: bytearray, limit: int) -> _Reading[bytes]:
    """Chunks have no extensions, and no trailers follow."""
    body, size = bytearray(), 1
    while size:
        line = yield from _until(got, b"\r\n", _SIZE_LIMIT, "length of a chunk")
        if not _SIZE.fullmatch(line):
            raise PolicyUnavailableError("a chunk of the answer has no length")
        size = int(line, 16)
        _bound(len(body) + size, limit)
        body += yield from _exactly(got, size)
        if (yield from _exactly(got, 2)) != b"\r\n":
            raise PolicyUnavailableError("a chunk of the answer is not as long as it says")
    return bytes(body)


def _bound(length: int, limit: int) -> None:
    if length > limit:
        raise PolicyUnavailableError(f"the answer is longer than {limit} bytes")


def _until(got: bytearray, end: bytes, limit: int, what: str) -> _Reading[bytes]:
    looked = 0
    while (at := got.find(end, looked)) < 0 and len(got) < limit + len(end):
        looked = max(0, len(got) - len(end) + 1)
        yield
    if not 0 <= at <= limit:
        raise PolicyUnavailableError(f"the {what} of the answer is longer than {limit} bytes")
    found = bytes(got[:at])
    del got[: at + len(end)]
    return found


def _exactly(got: bytearray, length: int) -> _Reading[bytes]:
    while len(got) < length:
        yield
    found = bytes(got[:length])
    del got[:length]
    return found


class Wire(asyncio.Protocol):
    """One connection. What nobody asked for ends it."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._got = bytearray()
        self._came = False
        self._reading: _Reading[Whole] = reading(self._got, 0)
        self._answer: asyncio.Future[Whole] | None = None
        self.rests_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = transport  # type: ignore[assignment]  # of a stream, as the protocol is one of streams

    async def exchange(self, request: bytes, limit: int) -> Whole:
        """Send a request and return the answer, or raise PolicyUnavailableError, or OSError where the peer is away."""
        if not (transport := self._transport) or transport.is_closing():
            raise _SilentError("Server disconnected")
        self._came = False
        self._reading = reading(self._got, limit)
        next(self._reading)
        self._answer = asyncio.get_running_loop().create_future()
        transport.write(request)
        return await self._answer

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._answer is None or self._answer.done():
            self.end()
            return
        self._came = True
        self._got += data
        try:
            next(self._reading)
        except StopIteration as found:
            self._answer.set_result(found.value)
        except PolicyUnavailableError as error:
            self._answer.set_exception(error)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits."""
        if self._answer is not None and not self._answer.done():
            half = PolicyUnavailableError("the connection ended before the answer did")
            self._answer.set_exception(half if self._came else _SilentError(f"Server disconnected{_why(exc)}"))

    def end(self) -> None:
        """Close the connection, whatever is under way."""
        if self._transport:
            self._transport.abort()


def _why(error: Exception | None) -> str:
    return f": {error}" if error else ""


class Wires:
    """Connections to one server, kept for the next request. `dial` opens one, or raises OSError."""

    def __init__(self, dial: Callable[[], Awaitable[Wire]]) -> None:
        self._dial = dial
        self._rest: list[Wire] = []
        self._turns = asyncio.Semaphore(MOST_CONNECTIONS)

    async def ask(self, request: bytes, limit: int) -> Whole:
        """Return the answer; a kept connection that ends without a byte of it is replaced, and the request sent again.

        Raise PolicyUnavailableError for what is no answer, OSError where the server is away.
        """
        async with self._turns:
            if wire := self._rested():
                try:
                    return await self._exchange(wire, request, limit)
                except _SilentError:
                    pass  # it was closed while it rested
            return await self._exchange(await self._dial(), request, limit)

    async def _exchange(self, wire: Wire, request: bytes, limit: int) -> Whole:
        kept = False
        try:
            answer = await wire.exchange(request, limit)
            kept = not answer.last
        finally:
            if not kept:
                wire.end()
        wire.rests_since = asyncio.get_running_loop().time()
        if kept:
            self._rest.append(wire)
        return answer

    def _rested(self) -> Wire | None:
        """Return the one used last, if it is not too old: then all are."""
        if not self._rest:
            return None
        if asyncio.get_running_loop().time() - self._rest[-1].rests_since < KEPT_SECONDS:
            return self._rest.pop()
        self.close()
        return None

    def close(self) -> None:
        """End the connections that rest."""
        for wire in self._rest:
            wire.end()
        self._rest.clear()
