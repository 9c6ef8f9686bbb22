"""Embedded mode: PostgreSQL in a data folder, OPA as a child, a local evidence folder and the sandbox workspace.

What it gives is an environment: the program itself runs in it as in production, as children of this process.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import yaml

from countersign.compose.storage import migrate_database
from countersign.config.errors import CountersignError
from countersign.config.settings import Settings, variable
from countersign.embedded import setup_work
from countersign.embedded.attach import announced, write_private
from countersign.embedded.children import Child, running
from countersign.embedded.opa import OpaChild, free_port
from countersign.embedded.postgres import embedded_postgres
from countersign.embedded.servers import OPA, ensure
from policy.text import PolicyFolders

FILES = Path(__file__).parent / "files"
START_LIMIT = 40.0
OPA_PATIENCE = 5.0
"""Seconds for policy here, where all parts share one machine, which may be busy with others."""

# What embedded mode has of its own: whoever names another would not expect it to be left aside.
_PARTS = (
    "database_url",
    "opa_url",
    "slack_bot_token",
    "slack_app_token",
    "slack_signing_secrets",
    "s3_bucket",
    "callers",
)


class EmbeddedError(CountersignError):
    """A part of embedded mode did not start; the message names it and what it said last."""


@dataclass(frozen=True)
class Embedded:
    """Everything around the program. `env` is what a `countersign serve` needs to run in it."""

    home: Path
    env: Mapping[str, str]
    edge: str
    sandbox: str
    caller_secret: str

    @property
    def logs(self) -> Path:
        """Return the folder of the children's logs."""
        return self.home / "logs"

    def serve(self, name: str, *roles: str, **env: str) -> Child:
        """Return a child that serves the roles; those that nobody calls answer their probes at a port of their own."""
        arguments = ["-m", "countersign", "serve", *(f"--role={role}" for role in roles)]
        port = {} if not roles or {"edge", "bot"} & set(roles) else {"COUNTERSIGN_PORT": "0"}
        return Child(name, arguments, {**self.env, **port, **env}, self.logs)


@asynccontextmanager
async def embedded(
    settings: Settings, *, port: int, sandbox_port: int, pack: Mapping[str, Mapping[str, str]]
) -> AsyncIterator[Embedded]:
    """Start what the program needs, on this machine alone; `pack` holds settings of packs; port 0 is any free one."""
    _refuse_other_parts(settings)
    home = settings.home.resolve()
    for folder in ("data", "keys", "logs", "opa"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    port, sandbox_port = port or free_port(), sandbox_port or free_port()
    edge, sandbox = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{sandbox_port}"
    workspace = _workspace(home, f"{edge}/slack/events")
    policies = PolicyFolders(settings.policies, tuple(settings.packs))
    opa = OpaChild(await asyncio.to_thread(ensure, OPA, setup_work.to_stderr), policies, home / "opa")
    async with AsyncExitStack() as stack:
        chat = Child("sandbox", _sandbox_arguments(home, sandbox_port), {}, home / "logs")
        await stack.enter_async_context(running(chat))
        dsn = await _servers(stack, home, opa)
        secret = _caller_secret(home / "keys" / "callers")
        env = {
            **_environment(settings, home),
            **_slack_environment(workspace, sandbox),
            "COUNTERSIGN_DATABASE_URL": dsn,
            "COUNTERSIGN_OPA_URL": opa.url,
            "COUNTERSIGN_CALLERS": json.dumps({"onboarding-portal": secret, "servicenow": secret}),
            "COUNTERSIGN_PORT": str(port),
            "COUNTERSIGN_PACK": json.dumps({name: dict(values) for name, values in pack.items()}),
        }
        await until_answers(f"{sandbox}/", chat)
        stack.enter_context(announced(home, env))
        yield Embedded(home, env, edge, sandbox, secret)


def _refuse_other_parts(settings: Settings) -> None:
    """Raise EmbeddedError where the settings name a part that would be left unused."""
    if foreign := [variable(name) for name in _PARTS if getattr(settings, name)]:
        raise EmbeddedError(
            f"{', '.join(foreign)}: set, but this command brings parts of its own;"
            " unset it, or run `countersign serve`, which uses yours"
        )


async def _servers(stack: AsyncExitStack, home: Path, opa: OpaChild) -> str:
    """Start PostgreSQL and OPA side by side; return PostgreSQL's DSN."""
    parts = _database(stack, home / "data"), stack.enter_async_context(opa)
    started = await asyncio.gather(*parts, return_exceptions=True)
    for result in started:  # looked at when both have come to an end: what failed takes down what did not
        if isinstance(result, BaseException):
            raise result
    return str(started[0])


async def _database(stack: AsyncExitStack, folder: Path) -> str:
    dsn = await asyncio.to_thread(stack.enter_context, embedded_postgres(folder / "postgres"))
    await asyncio.to_thread(migrate_database, dsn)
    return dsn


def _environment(settings: Settings, home: Path) -> dict[str, str]:
    return {
        "COUNTERSIGN_TENANT": settings.tenant,
        "COUNTERSIGN_HOME": str(home),
        "COUNTERSIGN_PACKS": json.dumps([str(pack.resolve()) for pack in settings.packs]),
        "COUNTERSIGN_DEFINITIONS": settings.definitions,
        "COUNTERSIGN_DIRECTORY": str((settings.directory or FILES / "directory.yaml").resolve()),
        "COUNTERSIGN_LOG_LEVEL": settings.log_level,
        "COUNTERSIGN_OPA_TIMEOUT": str(max(settings.opa_timeout, OPA_PATIENCE)),
    }


def _slack_environment(workspace: Mapping[str, str], sandbox: str) -> dict[str, str]:
    return {
        "COUNTERSIGN_SLACK_BOT_TOKEN": workspace["bot_token"],
        "COUNTERSIGN_SLACK_SIGNING_SECRETS": json.dumps([workspace["signing_secret"]]),
        "COUNTERSIGN_SLACK_API_URL": f"{sandbox}/api/",
        "COUNTERSIGN_SLACK_CHANNEL": "C0APPROVALS",
        "COUNTERSIGN_SLACK_CHANNELS": json.dumps({"compliance": "C0COMPLIANCE", "incident-managers": "C0INCIDENTS"}),
    }


def _workspace(home: Path, request_url: str) -> dict[str, str]:
    """Write the workspace with the URL that its callbacks go to; return its app's credentials."""
    workspace = yaml.safe_load((FILES / "workspace.yaml").read_text(encoding="utf-8"))
    workspace["app"]["request_url"] = request_url
    (home / "workspace.yaml").write_text(yaml.safe_dump(workspace, sort_keys=False), encoding="utf-8")
    return dict(workspace["app"])


def _sandbox_arguments(home: Path, port: int) -> list[str]:
    files = ["--workspace", str(home / "workspace.yaml"), "--state", str(home / "data" / "sandbox.json")]
    return ["-m", "sandbox", "--port", str(port), *files]


def _caller_secret(path: Path) -> str:
    """Return the secret that embedded callers sign with, made on first use."""
    if not path.exists():
        write_private(path, secrets.token_hex(32))
    return path.read_text(encoding="ascii")


async def until_answers(url: str, child: Child) -> None:
    """Wait until `url` answers with success; raise EmbeddedError with the child's last words if it does not."""
    try:
        async with asyncio.timeout(START_LIMIT), aiohttp.ClientSession() as session:
            while not await _answers(session, url):
                if not child.is_running:
                    raise EmbeddedError(f"{child.name} ended at its start:\n{child.last_words()}")
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise EmbeddedError(f"{child.name} does not answer at {url}:\n{child.last_words()}") from error


async def _answers(session: aiohttp.ClientSession, url: str) -> bool:
    try:
        async with session.get(url) as response:
            return response.ok
    except aiohttp.ClientError:
        return False
