"""The one PostgreSQL of a run: every party's databases, what they commit, and what the machine can commit at all.

A proxy that reads along and changes nothing counts the statements that clients send. BEGIN, COMMIT and their like are
not among them.
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from benchmarks.machine import cpu_seconds, family
from countersign.embedded.postgres import embedded_postgres

WRITERS = 16
PAUSE = 0.03
"""Seconds between two looks at whether something has come to pass: what they cost is counted with what is measured."""
_numbers = count(1)


@dataclass(frozen=True)
class Server:
    """A running server with its default durability; `dsn` is its superuser's."""

    dsn: str
    folder: Path

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes."""
        pid = int((self.folder / "postmaster.pid").read_text(encoding="ascii").split()[0])
        return cpu_seconds(family(pid))

    @contextmanager
    def database(self, template: str = "template1") -> Iterator["Database"]:
        """Make a database for one measure, and drop it afterwards."""
        name = f"bench_{next(_numbers)}"
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            conn.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
            try:
                yield Database(self.dsn_of(name))
            finally:
                conn.execute(f"DROP DATABASE {name} WITH (FORCE)")
                conn.execute("CHECKPOINT")  # what one measure has written is not the next one's to flush

    def dsn_of(self, name: str) -> str:
        """Return the DSN of one of its databases."""
        return self.dsn.replace("/postgres?", f"/{name}?", 1)


@dataclass(frozen=True)
class Database:
    """One database of the server, as its superuser sees it."""

    dsn: str

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Look into it."""
        with psycopg.connect(self.dsn, row_factory=dict_row, autocommit=True) as conn:
            return conn.execute(query.encode(), values or None).fetchall()

    def run(self, statements: str) -> None:
        """Change it."""
        with psycopg.connect(self.dsn, autocommit=True) as conn:
            conn.execute(statements.encode())

    def value(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Return the one value that a query gives."""
        return next(iter(self.rows(query, values)[0].values()))

    async def until(self, query: str, values: Sequence[Any] = (), seconds: float = 300.0) -> int:
        """Look, on one connection, until the query's one value is true; return how often that took."""
        looks = 1
        async with await AsyncConnection.connect(self.dsn, autocommit=True) as conn, asyncio.timeout(seconds):
            while not (row := await (await conn.execute(query.encode(), values)).fetchone()) or not row[0]:
                await asyncio.sleep(PAUSE)
                looks += 1
        return looks

    def commits(self) -> int:
        """Return how many transactions it has committed."""
        self.run("SELECT pg_stat_force_next_flush()")
        return int(self.value("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"))


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Run a server that keeps the times of commits, and is else as it comes."""
    with embedded_postgres(folder) as dsn, psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("ALTER SYSTEM SET track_commit_timestamp = on")  # it counts from the next start
    with embedded_postgres(folder) as dsn:
        yield Server(dsn, folder)


async def limit(database: Database, seconds: float) -> float:
    """Return one-row commits a second with 16 connections."""
    database.run("CREATE TABLE commits (id bigserial PRIMARY KEY, body text NOT NULL)")
    until = time.perf_counter() + seconds
    return sum(await asyncio.gather(*(_insert(database.dsn, until) for _ in range(WRITERS)))) / seconds


async def _insert(dsn: str, until: float) -> int:
    inserted = 0
    async with await AsyncConnection.connect(dsn, autocommit=True) as conn:
        while time.perf_counter() < until:
            await conn.execute("INSERT INTO commits (body) VALUES (%s)", ("x" * 110,))
            inserted += 1
    return inserted


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
