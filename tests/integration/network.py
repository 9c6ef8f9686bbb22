"""Roads to servers: proxies that misbehave, round trips that are counted or long, and counting cursors.

A proxy between a client and a real server, that answers or changes what a test wants answered or changed.

A way to PostgreSQL on which each round trip is counted, and may be long.

Cursors that count what is sent to PostgreSQL.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from psycopg import AsyncCursor
from psycopg.rows import DictRow

from benchmarks.instant import connection_to
from benchmarks.postgres import Reader
from tests.faults.world.proxy import Open, Proxy, to_socket
from tests.patience import MINUTE

_OF_THE_HOP = {"connection", "transfer-encoding", "content-length"}


@dataclass
class Answer:
    """An HTTP answer."""

    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""


Fault = Callable[[str, str], Answer | None]
"""Given method and path with query: the answer in the server's place, or None to ask the server."""
Bend = Callable[[str, str, Answer], Answer]
"""Given method, path and the server's answer: the answer to give."""


def no_fault(_method: str, _path: str) -> Answer | None:
    return None


def no_bend(_method: str, _path: str, answer: Answer) -> Answer:
    return answer


@dataclass
class FaultProxy:
    """Where it listens, and what it does to whom; both may change at any moment."""

    endpoint: str
    fault: Fault = no_fault
    bend: Bend = no_bend
    asked: list[str] = field(default_factory=list)


@contextmanager
def fault_proxy(server: str) -> Iterator[FaultProxy]:
    """Run a proxy in front of `server` (http://host:port, or unix:///path) until the block ends."""
    listener = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    proxy = FaultProxy(f"http://127.0.0.1:{listener.server_address[1]}")
    listener.RequestHandlerClass = _handler(proxy, server)
    listener.daemon_threads = True
    thread = Thread(target=listener.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


def _handler(proxy: FaultProxy, server: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            proxy.asked.append(f"{self.command} {self.path}")
            answer = proxy.fault(self.command, self.path)
            if answer is None:
                answer = proxy.bend(self.command, self.path, self._forward(body))
            self.send_response(answer.status)
            for name, value in answer.headers:
                self.send_header(name, value)
            if self.command != "HEAD":
                self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_one  # noqa: N815 - the library's names

        def _forward(self, body: bytes) -> Answer:
            """Ask the server as the client asked, the signed Host included."""
            upstream = connection_to(server, MINUTE)
            try:
                upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():
                    if name.lower() not in ("expect", "connection"):
                        upstream.putheader(name, value)
                upstream.endheaders(body)
                got = upstream.getresponse()
                kept = [(name, value) for name, value in got.getheaders() if name.lower() not in _OF_THE_HOP]
                if self.command == "HEAD":
                    kept += [("Content-Length", got.getheader("Content-Length") or "0")]
                return Answer(got.status, kept, got.read())
            finally:
                upstream.close()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


_BESIDE = ("clock_timestamp()", "pg_notify", "#>> '{refusal,code}' = 'identity.unconfirmed'")
"""What processes ask by themselves, whatever anybody does."""


class Trips(Proxy):
    """Counts what makes the server answer, for which the client then waits: `made` are the statements of each trip."""

    def __init__(self, upstream: Open) -> None:
        super().__init__(upstream)
        self.made: list[str] = []
        self._readers: dict[object, _Reader] = {}

    def hear(self, link: object, data: bytes) -> None:
        """Read along."""
        self._readers.setdefault(link, _Reader(self.made)).feed(data)

    def until(self, words: str) -> list[str]:
        """Return the trips up to the first that asks for something with these words."""
        made = [trip for trip in self.made if not any(beside in trip for beside in _BESIDE)]
        last = next(number for number, trip in enumerate(made) if words in trip)
        return made[: last + 1]


class _Reader(Reader):
    """What one client has said: a simple query, or a Sync, ends a trip."""

    def __init__(self, made: list[str]) -> None:
        super().__init__(Counter())
        self._made = made
        self._asked: list[str] = []

    def _read(self, letter: bytearray, body: bytes) -> None:
        super()._read(letter, body)
        if bytes(letter) in (b"S", b"Q"):
            self._made.append("; ".join(self._asked))
            self._asked.clear()

    def _count(self, text: bytes) -> None:
        self._asked.append(" ".join(text.rstrip(b"\0").decode().split()))


def along(dsn: str, road: Proxy) -> str:
    """Return the DSN by which a server is reached over a road."""
    parts = urlsplit(dsn)
    return parts._replace(netloc=f"postgres:@127.0.0.1:{road.port}", query="sslmode=disable").geturl()


@asynccontextmanager
async def road_to(dsn: str) -> AsyncIterator[Trips]:
    """Open a road to the server at `dsn`, a local socket, until the block ends."""
    folder = parse_qs(urlsplit(dsn).query)["host"][0]
    road = Trips(to_socket(f"{folder}/.s.PGSQL.5432"))
    await road.start()
    try:
        yield road
    finally:
        await road.stop()


class Counting(AsyncCursor[DictRow]):
    """Counts the statements that are sent, but for BEGIN and COMMIT, and those of them that write."""

    sent = 0
    written = 0  # how often a worker looks for work depends on the machine, what it writes does not

    async def execute(self, query: Any, params: Any = None, **kwargs: Any) -> Any:
        if query in ("BEGIN", "COMMIT"):
            return await super().execute(query, params, **kwargs)
        Counting.sent += 1
        Counting.written += bool(re.search(r"\b(INSERT INTO|UPDATE|DELETE FROM)\b", str(query)))
        return await super().execute(query, params, **kwargs)
