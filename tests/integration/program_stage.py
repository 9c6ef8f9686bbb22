"""The whole program for tests, and a witness as a process.

The whole program for tests: composed from settings, its edge on a loopback port, or as processes of its own.

A witness as a process, and what a log sends to it.
"""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
from psycopg.rows import dict_row
from pydantic import SecretStr

from countersign.doctor.readiness import Readiness
from countersign.embedded.system import workspace_file
from countersign.loaded_files import load_people
from countersign.parts import Role
from countersign.serve import make_edge, make_refusals
from countersign.settings import ROOT, Settings, required, variable
from countersign.system import System, compose, prepare
from edge.server import Limits as Bounds
from edge.server import Server
from edge.signing import headers
from receipts.add_checkpoint import AddCheckpoint, parse_size
from receipts.note import Algorithm, NoteSigner, VerifierKey
from receipts.signing import load_or_create
from runtime.clock import utc_now
from sandbox.harness import served
from sandbox.server import create_app
from sandbox.slack_errors import Limits
from sandbox.workspace import parse_workspace
from tests.files import DIRECTORY
from tests.forked import Forked, server
from tests.logins import as_directory, as_program
from tests.patience import MINUTE
from tests.unit.log_sample import MemoryLog, sample_log, signer, vkey

SECRETS = {
    "onboarding-portal": "portal-secret-" * 4,
    "servicenow": "servicenow-secret-" * 4,
    "policy-desk": "policy-secret-" * 4,
    "stranger": "stranger-" * 5,
}
HEAVY = ("aiohttp", "alembic", "boto3", "fastapi", "psycopg", "slack_bolt", "slack_sdk", "sqlalchemy", "uvicorn")
"""Libraries of servers and networks."""
SLACK_SECRET = "sandbox-signing-secret"
WORKSPACE = workspace_file()
SOON = 0.05
"""Seconds between two looks at another process."""
CASE = json.loads((ROOT / "packs/kyc/example-trigger.json").read_text(encoding="utf-8"))


def settings_of(dsn: str, opa: str, home: Path, **more: Any) -> Settings:
    """Return settings of a system whose Slack is not there, as long as nothing else is said."""
    given: dict[str, Any] = {
        "database_url": as_program(dsn),
        "opa_url": opa,
        "opa_timeout": MINUTE,
        "database_patience": 0.0,
        "home": home,
        "directory": DIRECTORY,
        "slack_bot_token": "xoxb-sandbox-bot-token",
        "slack_api_url": "http://127.0.0.1:1/api/",
        "slack_signing_secrets": [SLACK_SECRET],
        "slack_channel": "C0APPROVALS",
        "slack_channels": {"compliance": "C0COMPLIANCE"},
        "callers": SECRETS,
        "caller_burst": 100_000,
    }
    return Settings(**given | more)


def environment(settings: Settings) -> dict[str, str]:
    """Return what a process must find in its environment to run with these settings."""
    given = {variable(name): _plain(getattr(settings, name)) for name in settings.model_fields_set}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


@contextmanager
def database(postgres: str, name: str, template: str = "template_countersign") -> Iterator[str]:
    """Make a database that a whole module may use, and give its DSN."""
    with psycopg.connect(postgres, autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        yield postgres.replace("/postgres?", f"/{name}?", 1)
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


def rows(dsn: str, query: str, *values: Any) -> list[dict[str, Any]]:
    """Look into the database."""
    with psycopg.connect(dsn, row_factory=dict_row) as conn:
        return conn.execute(query, values).fetchall()


@dataclass(frozen=True)
class Answer:
    """What an edge answered."""

    status: int
    headers: Mapping[str, str]
    body: Any


@dataclass
class Edge:
    """A client of an edge, which signs as its callers do."""

    url: str
    http: aiohttp.ClientSession

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        signed: Mapping[str, str] | None = None,
        by: str = "onboarding-portal",
    ) -> Answer:
        """Send bytes; the signature is right unless other headers are given."""
        now = int(utc_now().timestamp())
        given = headers(by, SECRETS[by], now, method, path, body) if signed is None else signed
        async with self.http.request(
            method, f"{self.url}{path}", data=BytesIO(body) if body else None, headers=given
        ) as response:
            return Answer(response.status, response.headers, await response.json(content_type=None))

    async def trigger(self, ref: str, by: str = "onboarding-portal", **more: Any) -> Answer:
        """Trigger an onboarding on Rita's behalf."""
        body = {"ref": ref, "payload": CASE, "on_behalf_of": "rita", **more}
        return await self.send("POST", "/v1/triggers/kyc.onboarding", json.dumps(body).encode(), by=by)

    async def notify(self, by: str = "onboarding-portal", **word: Any) -> Answer:
        """Send a notification."""
        return await self.send("POST", "/v1/notifications", json.dumps(word).encode(), by=by)

    async def run(self, run_id: str, by: str = "onboarding-portal") -> Answer:
        """Ask for a run."""
        return await self.send("GET", f"/v1/runs/{run_id}", by=by)


async def load(settings: Settings) -> None:
    """Load the settings' directory as an operator does, by the login that may."""
    assert settings.directory
    login = SecretStr(as_directory(required(settings, "database_url")))
    await load_people(settings.model_copy(update={"directory_database_url": login}), settings.directory)


@asynccontextmanager
async def composed(settings: Settings) -> AsyncIterator[System]:
    """Load the directory, compose and prepare a system, as a start does."""
    await load(settings)
    async with compose(settings, frozenset(Role)) as system:
        await prepare(system)
        yield system


@asynccontextmanager
async def edge_of(system: System, *, slack_faults: Callable[[], list[str]] = list) -> AsyncIterator[Edge]:
    """Serve a system's edge on a free port of loopback."""
    refusals = make_refusals(system)
    app = make_edge(system, Readiness(system, slack_faults), refusals)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(app, Bounds(connections=500, seconds=MINUTE), headers=[])
    task = asyncio.create_task(server.serve([listener]))
    try:
        # one connection for each request: the server may end an idle one just as the client uses it again
        once = aiohttp.TCPConnector(force_close=True)
        async with refusals.recorded(MINUTE), aiohttp.ClientSession(connector=once) as http:
            yield Edge(f"http://127.0.0.1:{listener.getsockname()[1]}", http)
    finally:
        server.should_exit = True
        await task
        listener.close()


@asynccontextmanager
async def sandbox(request_url: str | None = None) -> AsyncIterator[str]:
    """Serve the workspace of embedded mode; without a request URL it speaks Socket Mode."""
    app = {**WORKSPACE["app"], **({"request_url": request_url} if request_url else {})}
    workspace = parse_workspace({**WORKSPACE, "app": app}, "the stage")
    async with served(create_app(workspace, clock=utc_now, sleep=asyncio.sleep, limits=Limits(burst=1000))) as url:
        yield url


@dataclass
class Program:
    """A `countersign` process; `lines` is its log so far."""

    process: Forked
    lines: list[dict[str, Any]] = field(default_factory=list)

    async def said(self, words: str) -> dict[str, Any]:
        """Read the log until a line holds these words."""
        async with asyncio.timeout(MINUTE):
            async for line in self.process.stderr:
                self.lines.append(json.loads(line) if line.startswith(b"{") else {"message": line.decode()})
                if words in self.lines[-1]["message"]:
                    return self.lines[-1]
        raise AssertionError(f"it ended without saying {words!r}: {self.lines}")

    async def ended(self) -> int:
        """Wait for its end; return the exit status."""
        async with asyncio.timeout(MINUTE):
            async for line in self.process.stderr:
                self.lines.append(json.loads(line) if line.startswith(b"{") else {"message": line.decode()})
            return await self.process.wait()


@asynccontextmanager
async def program(*arguments: str, env: Mapping[str, str]) -> AsyncIterator[Program]:
    """Run `countersign` with this environment; what is left of it is killed at the end."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERSIGN_")}
    process = await server().start(arguments, {**inherited, **env})
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


async def command(*arguments: str, env: Mapping[str, str]) -> Finished:
    """Run `countersign` to its end."""
    async with program(*arguments, env=env) as running, asyncio.timeout(MINUTE):
        out, err = await running.process.communicate()
    assert running.process.returncode is not None
    return Finished(running.process.returncode, out.decode(), err.decode())


async def imported(words: Sequence[str]) -> str:
    """Run a command that ends well, in a process of its own; return the list of what it imported of `HEAVY`."""
    script = f"""
import sys
from countersign.cli.app import main
sys.argv[1:] = {list(words)!r}
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    *said, found = out.decode().splitlines()
    assert said[-1] == "Everything holds."
    return found


@asynccontextmanager
async def serving(settings: Settings, *roles: str) -> AsyncIterator[tuple[Program, Edge]]:
    """Run `countersign serve` and wait until it serves."""
    if not roles or "edge" in roles:
        await load(settings)
    arguments = ["serve", *(f"--role={role}" for role in roles), "--processes=1"]
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(program(*arguments, env=environment(settings)))
        listening = await running.said("listening on")
        await running.said("serving: ")
        http = await stack.enter_async_context(aiohttp.ClientSession())
        yield running, Edge(f"http://127.0.0.1:{listening['message'].rpartition(' ')[2]}", http)


async def until_ready(edge: Edge) -> None:
    """Look at the probe until all is in order."""
    async with asyncio.timeout(MINUTE):
        while (await edge.send("GET", "/readyz", signed={})).status != 200:
            await asyncio.sleep(SOON)


def is_problem(answer: Answer, status: int, says: str = "") -> bool:
    """Return whether the answer is a problem document of this status."""
    return (
        answer.status == status
        and answer.headers["Content-Type"] == "application/problem+json"
        and answer.body.keys() == {"type", "title", "status", "detail"}
        and answer.body["status"] == status
        and says in answer.body["detail"]
    )


def signed_now(method: str, path: str, body: bytes, age: int = 0) -> dict[str, str]:
    """Return the headers of the portal's signature."""
    at = int(utc_now().timestamp()) - age
    return headers("onboarding-portal", SECRETS["onboarding-portal"], at, method, path, body)


NAME = "witness.example/w1"
OWNER = signer("log.example/acme", 1)
LOG = sample_log(40)


@dataclass(frozen=True)
class WitnessAnswer:
    """What came back."""

    status: int
    kind: str
    body: bytes


@dataclass
class Served:
    """A running witness, and a connection to it."""

    process: Program
    url: str
    http: aiohttp.ClientSession

    async def send(self, body: bytes, path: str = "/add-checkpoint", method: str = "POST") -> WitnessAnswer:
        async with self.http.request(method, self.url + path, data=body) as response:
            return WitnessAnswer(response.status, response.headers.get("Content-Type", ""), await response.read())

    async def size(self) -> int:
        """Ask which size was cosigned last, as a log does that does not know."""
        answer = await self.send(request(0, 0, MemoryLog()))
        return 0 if answer.status == 200 else parse_size(answer.body)


def request(old: int, new: int, log: MemoryLog = LOG) -> bytes:
    return bytes(AddCheckpoint(old, tuple(log.consistency(old, new)), log.checkpoint(OWNER, new)))


def arguments(folder: Path, listen: str = "127.0.0.1:0", log: str = str(vkey(OWNER))) -> list[str]:
    """Return the command of a witness that keeps all in a folder."""
    files = ("--key", str(folder / "key.pem"), "--state", str(folder / "state"))
    return ["witness", "--name", NAME, "--log", log, *files, "--listen", listen]


def env(folder: Path) -> dict[str, str]:
    return {"COUNTERSIGN_HOME": str(folder)}


def key_of(folder: Path) -> VerifierKey:
    """Return the witness's key."""
    return NoteSigner(NAME, load_or_create(folder / "key.pem")).verifier(Algorithm.COSIGNATURE_V1)


@asynccontextmanager
async def running(folder: Path, log: str = str(vkey(OWNER))) -> AsyncIterator[Served]:
    """Run a witness until the block ends; it listens when the block begins."""
    async with (
        program(*arguments(folder, log=log), env=env(folder)) as process,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(MINUTE)) as http,
    ):
        listening = (await process.said("listens on"))["message"]
        assert f"the witness {key_of(folder)} listens" in listening
        await process.said("serving: http")
        yield Served(process, f"http://127.0.0.1:{listening.split()[-1]}", http)
