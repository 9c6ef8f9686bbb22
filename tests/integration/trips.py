"""A way to PostgreSQL on which each round trip is counted, and may be long."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

from benchmarks.postgres import Reader
from tests.faults.world.proxy import Open, Proxy, to_socket

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
