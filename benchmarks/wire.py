"""Counts the statements that clients of PostgreSQL send: a proxy that reads along and changes nothing.

BEGIN, COMMIT and their like are not among the statements.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, quote, urlsplit

_CONTROL = (b"BEGIN", b"COMMIT", b"ROLLBACK", b"SAVEPOINT", b"RELEASE", b"START TRANSACTION")
_CHUNK = 1 << 16
_HEAD = 5  # a letter and four bytes of length, which counts itself


@dataclass
class Reader:
    """What one client has said so far. The first message has no letter."""

    counts: Counter[str]
    _buffer: bytearray = field(default_factory=bytearray)
    _texts: dict[bytes, bytes] = field(default_factory=dict)
    _bound: bytes = b""
    _begun: bool = False

    def feed(self, data: bytes) -> None:
        """Read on."""
        self._buffer += data
        if not self._begun:
            self._skip_first()
        while self._begun and len(self._buffer) >= _HEAD:
            whole = 1 + int.from_bytes(self._buffer[1:_HEAD], "big")
            if len(self._buffer) < whole:
                return
            self._read(self._buffer[:1], bytes(self._buffer[_HEAD:whole]))
            del self._buffer[:whole]

    def _skip_first(self) -> None:
        size = int.from_bytes(self._buffer[:4], "big") if len(self._buffer) >= _HEAD - 1 else 0
        if size and len(self._buffer) >= size:
            del self._buffer[:size]
            self._begun = True

    def _read(self, letter: bytearray, body: bytes) -> None:
        if letter == b"Q":  # a simple query
            self._count(body)
        elif letter == b"P":  # parse: a name, a text
            name, text = body.split(b"\0", 2)[:2]
            self._texts[name] = text
        elif letter == b"B":  # bind: a portal, a name
            self._bound = body.split(b"\0", 2)[1]
        elif letter == b"E":  # execute what was bound
            self._count(self._texts.get(self._bound, b""))

    def _count(self, text: bytes) -> None:
        if not text.lstrip().upper().startswith(_CONTROL):
            self.counts[" ".join(text.rstrip(b"\0").decode(errors="replace").split()[:3])] += 1


@dataclass(frozen=True)
class Wire:
    """A proxy: its DSN for clients, and what they have sent, by first words."""

    dsn: str
    counts: Counter[str]


@asynccontextmanager
async def counting(dsn: str) -> AsyncIterator[Wire]:
    """Stand between clients and the server at `dsn`, a local socket, while the block lasts."""
    folder = parse_qs(urlsplit(dsn).query)["host"][0]
    counts: Counter[str] = Counter()
    with TemporaryDirectory(prefix="wire-") as own:
        socket = Path(own) / ".s.PGSQL.5432"
        server = await asyncio.start_unix_server(
            lambda reader, writer: _serve(reader, writer, f"{folder}/{socket.name}", counts), socket
        )
        async with server:
            yield Wire(f"{dsn.partition('?')[0]}?host={quote(own, safe='')}", counts)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: str, counts: Counter[str]) -> None:
    seen = Reader(counts)
    with suppress(ConnectionError, asyncio.CancelledError):
        back, forth = await asyncio.open_unix_connection(to)
        await asyncio.gather(_copy(reader, forth, seen), _copy(back, writer, None))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter, seen: Reader | None) -> None:
    with suppress(ConnectionError):
        while data := await source.read(_CHUNK):
            if seen is not None:
                seen.feed(data)
            sink.write(data)
            await sink.drain()
    sink.close()
