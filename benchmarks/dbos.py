"""Drives DBOS: its processes, over a database of the same server."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_seconds
from benchmarks.postgres import Database, Server, Wire

APP = Path(__file__).resolve().with_name("dbos_app.py")
PROCESSES = 2
PATIENCE = 600.0

_SIZE = "SELECT pg_database_size(current_database())"
_TABLES = """
    SELECT table_name AS name
      FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'dbos' AND column_name = 'workflow_uuid' AND table_type = 'BASE TABLE'
"""
_COPIES = """
    INSERT INTO dbos.{table}
    SELECT (jsonb_populate_record(w, jsonb_build_object(
               'workflow_uuid', 'parked-' || n, 'created_at', (to_jsonb(w) ->> 'created_at')::bigint + n))).*
      FROM dbos.{table} w, generate_series(1, {count}) n WHERE w.workflow_uuid LIKE 'template%'
"""


class PeerError(Exception):
    """A peer did not do what it was asked; the message has its last words."""


@dataclass(frozen=True)
class App:
    """A process of the peer that has said it is ready."""

    process: asyncio.subprocess.Process

    async def line(self) -> str:
        """Return the next line that it says."""
        assert self.process.stdout  # noqa: S101 - it is a pipe
        async with asyncio.timeout(PATIENCE):
            line = await self.process.stdout.readline()
        if not line:
            raise PeerError("the peer ended without an answer")
        return line.decode().strip()

    def go_on(self) -> None:
        """Let it do the next thing."""
        assert self.process.stdin  # noqa: S101 - it is a pipe
        self.process.stdin.write(b"\n")

    async def measured(self) -> dict[str, Any]:
        """Let it measure, and return what it found."""
        self.go_on()
        found: dict[str, Any] = json.loads(await self.line())
        return found


@dataclass(frozen=True)
class Peer:
    """DBOS in the environment whose Python this is, its words going to a log."""

    python: Path
    log: Path
    server: Server

    @asynccontextmanager
    async def app(self, database: Database, *arguments: str) -> AsyncIterator[App]:
        """Run a process until the block ends; it is ready when the block begins."""
        mode, *rest = arguments
        with self.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(str(self.python), "-P", str(APP), mode, _url(database), *rest),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log,
            )  # fmt: skip
        try:
            app = App(process)
            while await app.line() != "ready":
                pass
            yield app
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    @asynccontextmanager
    async def apps(self, database: Database, seconds: float, mode: str = "steps") -> AsyncIterator[list[App]]:
        """Run the processes that are busy for so long; one after the other is made ready, since the first migrates."""
        async with AsyncExitStack() as stack:
            names = [f"{time.monotonic_ns()}-{number}" for number in range(PROCESSES)]
            yield [
                await stack.enter_async_context(self.app(database, mode, name, str(round(seconds)))) for name in names
            ]

    async def statements(self, wire: Wire, seconds: float) -> float:
        """Return how many statements a step takes."""
        async with self.apps(Database(wire.dsn), seconds) as apps:
            wire.counts.clear()
            found = await asyncio.gather(*(app.measured() for app in apps))
            steps: int = sum(one["steps"] for one in found)
            return sum(wire.counts.values()) / steps

    async def steps(self, database: Database, seconds: float) -> "Steps":
        """Return steps a second of two processes, and what a step costs."""
        async with self.apps(database, seconds) as apps:
            pids = [app.process.pid for app in apps]
            before = cpu_seconds(pids), self.server.cpu(), database.commits()
            found = await asyncio.gather(*(app.measured() for app in apps))
            after = cpu_seconds(pids), self.server.cpu(), database.commits()
        steps = sum(one["steps"] for one in found)
        python, postgres, commits = ((late - early) / steps for early, late in zip(before, after, strict=True))
        rate = sum(one["steps"] / one["seconds"] for one in found)
        return Steps(rate, python * 1e6, postgres * 1e6, commits)

    async def enqueued(self, database: Database, mode: str, seconds: float) -> float:
        """Return how many workflows two processes enqueue a second, one by one or in sets as the mode says."""
        async with self.apps(database, seconds, mode) as apps:
            found = await asyncio.gather(*(app.measured() for app in apps))
        return float(sum(one["enqueued"] / one["seconds"] for one in found))

    async def park_copies(self, database: Database, count: int) -> float:
        """Park one workflow by running it, and so many copies of its row; return the bytes that one of them takes."""
        async with self.app(database, "parked", "template", "1") as app:
            await app.measured()
        before = database.value(_SIZE)
        copies = [_COPIES.format(table=table["name"], count=count) for table in database.rows(_TABLES)]
        database.run("; ".join(["SET session_replication_role = replica", *copies]))
        return float(database.value(_SIZE) - before) / count

    async def restarted(self, database: Database, count: int) -> "Restarted":
        """Start a process over that many parked copies; return the seconds until the last one, and all, went on."""
        began = time.time()
        async with self.app(database, "restart", f"parked-{count}", str(count)) as app:
            found = await app.measured()
        return Restarted(found["first"] - began, found["all"] and found["all"] - began)

    async def measure(self, database: Database, *arguments: str) -> dict[str, Any]:
        """Run one process for one measure, and return what it found."""
        async with self.app(database, *arguments) as app:
            return await app.measured()


@dataclass(frozen=True)
class Restarted:
    """Seconds from the start of a process until the run that was parked last went on, and until all could, if soon."""

    first: float
    all: float | None


@dataclass(frozen=True)
class Steps:
    """Steps a second, and CPU microseconds and commits for each."""

    per_s: float
    python_us: float
    postgres_us: float
    commits: float


def _url(database: Database) -> str:
    return database.dsn.replace("postgresql://", "postgresql+psycopg://", 1)
