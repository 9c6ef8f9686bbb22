"""The program as real processes over a database of their own, with the policies of this repository."""

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from benchmarks.connectors import CALL_PATIENCE
from benchmarks.edge import CALLER, SECRET, Edge
from benchmarks.postgres import Database, Server
from countersign.embedded import work
from countersign.embedded.children import Supervisor
from countersign.embedded.opa import OpaChild
from countersign.embedded.ports import free_port
from countersign.embedded.servers import OPA, ensure
from countersign.loaded_files import load_people
from countersign.settings import Settings
from policy.bundle import PolicyFolders
from runtime.store.database.migration import make_login, migrate
from runtime.store.schema.role_names import DIRECTORY

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent
TEMPLATE, LOGIN, DIRECTORY_LOGIN = "bench_template", "bench_program", "bench_directory"
CONCURRENCY = 128
SIGNING_SECRET = secrets.token_hex(16)
_KEEP = 2.0
"""Seconds for which a connection to the edge is kept: less than the edge does, or a call meets one just closed."""

_ENTRY_POINT = """
[countersign.handlers]
bench = benchmarks.connectors:handlers
[countersign.settings]
bench = benchmarks.connectors:BenchSettings
"""
# A run that has ended counts as sealed: sealing is measured apart from steps.
_UNSEALED = """
    CREATE FUNCTION count_as_sealed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW.sealed := true; RETURN NEW; END $$;
    CREATE TRIGGER count_as_sealed BEFORE UPDATE OF finished_at ON runs FOR EACH ROW
    WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL) EXECUTE FUNCTION count_as_sealed();
"""


class BenchError(Exception):
    """The benchmark did not do what it says it measures; the message says what was wrong."""


@dataclass(frozen=True)
class Process:
    """A `countersign serve` process."""

    process: asyncio.subprocess.Process
    url: str

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self.process.pid

    def pause(self) -> None:
        """Let it stand still."""
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)


@dataclass
class Plant:
    """Processes over one database. `policy` is where policy answers; `env` is what they are told beside the rest."""

    folder: Path
    database: Database
    policy: str
    env: dict[str, str] = field(default_factory=dict)
    loaded: Path | None = None

    @asynccontextmanager
    async def serve(self, *roles: str) -> AsyncIterator[Process]:
        """Run `countersign serve` with these roles; it answers when the block begins."""
        async with await self.start(*roles) as process:
            await until_answers(process)
            yield process

    def seen_through(self, dsn: str) -> None:
        """Let processes from now on reach the database by another address."""
        self.env["COUNTERSIGN_DATABASE_URL"] = _as_program(dsn)

    def tell(self, port: int) -> None:
        """Let connectors of processes from now on tell of their calls at this port."""
        self.env["COUNTERSIGN_PACK"] = json.dumps({"bench": {"port": str(port)}})

    @asynccontextmanager
    async def workers(self, count: int) -> AsyncIterator[list[Process]]:
        """Run that many worker processes."""
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self.serve("worker")) for _ in range(count)]

    @asynccontextmanager
    async def edge(self, *roles: str) -> AsyncIterator[tuple[Process, Edge]]:
        """Run a process with the edge, and further roles, and give a caller's view of it."""
        connector = aiohttp.TCPConnector(keepalive_timeout=_KEEP)
        async with self.serve("edge", *roles) as process, aiohttp.ClientSession(connector=connector) as http:
            yield process, Edge(process.url, http)

    async def start(self, *roles: str, processes: int = 1) -> "Started":
        """Start a process, or one that keeps so many, and do not wait for it."""
        port = free_port()
        env = {**self.environment(), "COUNTERSIGN_PORT": str(port)}
        if not roles or "edge" in roles:
            await self._load(Path(env["COUNTERSIGN_DIRECTORY"]))
        with (self.folder / "serve.log").open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "countersign", "serve", *(f"--role={role}" for role in roles)),
                f"--processes={processes}",
                env=env, cwd=ROOT, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        return Started(Process(process, f"http://127.0.0.1:{port}"))

    def environment(self) -> dict[str, str]:
        """Return what a process of the program finds in its environment."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
        return {**inherited, **_environment(self), **self.env}

    async def _load(self, directory: Path) -> None:
        """Load a directory that is not loaded yet, as an operator does."""
        if directory != self.loaded:
            login = self.database.dsn.replace("//postgres:@", f"//{DIRECTORY_LOGIN}:@", 1)
            await load_people(Settings(directory_database_url=login), directory)
            self.loaded = directory


@dataclass(frozen=True)
class Started:
    """A process that is ended with the block."""

    process: Process

    async def __aenter__(self) -> Process:
        """Give the process."""
        return self.process

    async def __aexit__(self, *_: object) -> None:
        """End it, and what is left of it."""
        with suppress(ProcessLookupError):
            self.process.go_on()
            self.process.process.terminate()
        await self.process.process.wait()


async def until_answers(process: Process) -> None:
    """Wait until the process answers its probe; raise BenchError where it ends instead."""
    async with asyncio.timeout(CALL_PATIENCE), aiohttp.ClientSession() as http:
        while process.process.returncode is None:
            try:
                async with http.get(f"{process.url}/healthz") as response:
                    if response.ok:
                        return
            except aiohttp.ClientError:
                await asyncio.sleep(0.01)
    raise BenchError("countersign serve ended at its start; serve.log says why")


@asynccontextmanager
async def policies(folder: Path) -> AsyncIterator[OpaChild]:
    """Run the pinned OPA with the policies of the repository and its packs."""
    program = await asyncio.to_thread(ensure, OPA, work.to_stderr)
    packs = tuple(sorted(found.parent for found in ROOT.glob("packs/*/rego")))
    folders = PolicyFolders(ROOT / "rego", packs)
    async with OpaChild(program, folders, folder, Supervisor(), key=folder / "policy.pem") as child:
        yield child


def prepare(server: Server) -> None:
    """Make the migrated database that all of ours are copies of, and the program's logins."""
    Database(server.dsn).run(f"CREATE DATABASE {TEMPLATE}")
    migrate(server.dsn_of(TEMPLATE))
    make_login(server.dsn_of(TEMPLATE), LOGIN)
    make_login(server.dsn_of(TEMPLATE), DIRECTORY_LOGIN, DIRECTORY)


@contextmanager
def plant(server: Server, folder: Path, policy: str, *, sealing: bool = False) -> Iterator[Plant]:
    """Give a plant over a fresh database; runs that have ended are sealed only where that is measured."""
    with ExitStack() as stack:
        database = stack.enter_context(server.database(TEMPLATE))
        if not sealing:
            database.run(_UNSEALED)
        yield Plant(folder, database, policy)


def _environment(plant: Plant) -> dict[str, str]:
    offered = plant.folder / "site" / "countersign_bench-1.dist-info"
    offered.mkdir(parents=True, exist_ok=True)
    (offered / "METADATA").write_text("Metadata-Version: 2.1\nName: countersign-bench\nVersion: 1\n", encoding="ascii")
    (offered / "entry_points.txt").write_text(_ENTRY_POINT, encoding="ascii")
    settings = {
        "tenant": "acme",
        "home": plant.folder / "home",
        "database_url": _as_program(plant.database.dsn),
        "opa_url": plant.policy,
        "opa_timeout": 30,
        "packs": [HERE / "pack/bench"],
        "directory": HERE / "directory.yaml",
        "slack_bot_token": "xoxb-bench-bot-token",
        "slack_signing_secrets": [SIGNING_SECRET],
        "slack_api_url": "http://127.0.0.1:1/api/",
        "slack_channel": "C0BENCH",
        "callers": {CALLER: SECRET},
        "caller_rate": 1e9,
        "person_rate": 1e9,
        "caller_burst": 10**9,
        "concurrency": CONCURRENCY,
        "log_level": "error",
    }
    env = {f"COUNTERSIGN_{name.upper()}": _text(value) for name, value in settings.items()}
    return {**env, "PYTHONPATH": str(plant.folder / "site")}


def _as_program(dsn: str) -> str:
    return dsn.replace("//postgres:@", f"//{LOGIN}:@", 1)


def _text(value: object) -> str:
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)


def workers_wanted(cores: int) -> Sequence[int]:
    """Return how many worker processes are measured: one, and as many as there are cores."""
    return sorted({1, cores})
