"""Embedded mode and `countersign up`: PostgreSQL, OPA, an evidence folder, a sandbox workspace, until Ctrl-C.

PostgreSQL has a data folder, OPA is a child, evidence is kept in a local folder. What embedded mode gives is an
environment: the program itself runs in it as in production, as children of this process.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import yaml
from pydantic import SecretStr
from rich.console import Console

from countersign.connection import DatabaseError, connected
from countersign.directory import read_directory
from countersign.embedded.case import Outside
from countersign.embedded.children import Child, Supervisor, python_child
from countersign.embedded.home import announced, locked_home, write_private
from countersign.embedded.opa import OpaChild
from countersign.embedded.packs import callers, demos, example_of, standins
from countersign.embedded.ports import free_port, try_port
from countersign.embedded.postgres import embedded_postgres
from countersign.embedded.programs import opa_program
from countersign.foreseen_errors import CountersignError
from countersign.loaded_files import load_people
from countersign.migration import directory_login, migrate_database, program_login
from countersign.settings import Settings, variable
from policy.bundle import PolicyFolders
from policy.errors import PolicyError
from runtime.handlers import Demo
from runtime.model.console import ConsoleRole
from runtime.model.runbook_version import Activation
from runtime.services.policy_versions import served_bundle

FILES = Path(__file__).parent / "files"
OPA_PATIENCE = 5.0
"""Seconds for policy here, where all parts share one machine, which may be busy with others."""

AUDITORS = {"auditors", "operators", "senior-compliance"}
"""Groups whose people are given bundles in the console, where the settings name none."""

# What embedded mode has of its own: whoever names another would not expect it to be left aside.
PARTS = (
    "database_url",
    "directory_database_url",
    "opa_url",
    "slack_bot_token",
    "slack_app_token",
    "slack_client_id",
    "slack_signing_secrets",
    "s3_bucket",
    "callers",
)


class EmbeddedError(CountersignError):
    """Embedded mode was asked for something that it does not do; the message says what to do instead."""


@dataclass(frozen=True)
class Ports:
    """Where people look: the edge and the sandbox workspace. Both can be had."""

    edge: int
    sandbox: int

    @classmethod
    def tried(cls, host: str, edge: int, sandbox: int) -> "Ports":
        """Try both before anything is started; 0 takes a free one; raise PortError."""
        if edge == sandbox != 0:
            raise EmbeddedError(f"--port and --sandbox-port are both {edge}: name two")
        return cls(try_port(host, edge, "--port or COUNTERSIGN_PORT"), try_port("127.0.0.1", sandbox, "--sandbox-port"))


@dataclass(frozen=True)
class Embedded:
    """Everything around the program. `env` is what a `countersign serve` needs to run in it."""

    home: Path
    env: Mapping[str, str]
    edge: str
    sandbox: str
    supervisor: Supervisor
    demos: Mapping[str, Demo]
    outside: Outside

    @property
    def logs(self) -> Path:
        """Return the folder of the children's logs."""
        return self.home / "logs"

    def serve(self, name: str, *roles: str, **env: str) -> Child:
        """Return a child that serves the roles; those that nobody calls answer their probes at a port of their own."""
        arguments = ["-m", "countersign", "serve", *(f"--role={role}" for role in roles), "--processes=1"]
        called = not roles or {"edge", "bot"} & set(roles)
        port = self.env["COUNTERSIGN_PORT"] if called else str(free_port())
        whole = {**self.env, "COUNTERSIGN_PORT": port, **env}
        return python_child(name, arguments, whole, self.logs, f"http://127.0.0.1:{port}/readyz")


@asynccontextmanager
async def embedded(settings: Settings, ports: Ports, supervisor: Supervisor) -> AsyncIterator[Embedded]:
    """Start what the program needs, on this machine alone, with stand-ins for packs that are not pointed elsewhere."""
    refuse_other_parts(settings)
    offered = demos(settings)
    async with AsyncExitStack() as stack:
        home = stack.enter_context(locked_home(settings.home))
        edge, sandbox = f"http://127.0.0.1:{ports.edge}", f"http://127.0.0.1:{ports.sandbox}"
        public = settings.public_url or f"http://localhost:{ports.edge}"  # browsers let nobody sign at 127.0.0.1
        workspace = _workspace(home, f"{edge}/slack/events", public)
        chat = python_child("sandbox", _sandbox_arguments(home, ports.sandbox), {}, home / "logs", f"{sandbox}/")
        await stack.enter_async_context(supervisor.running(chat))
        shown = {name: demo for name, demo in offered.items() if name not in settings.pack}
        others = await stack.enter_async_context(standins(supervisor, shown, home / "logs"))
        program = await asyncio.to_thread(opa_program, settings)
        policies = PolicyFolders(settings.policies, tuple(settings.packs))
        opa = OpaChild(program, policies, home / "opa", supervisor, key=settings.policy_key_path)
        logins = await _servers(stack, settings, home, opa)
        await supervisor.until_answers(chat)
        directory = settings.directory or _directory(home, offered)
        loading = {"directory_database_url": SecretStr(logins.directory)}
        await load_people(settings.model_copy(update=loading), directory)
        secrets_of = _secrets(directory, home / "keys" / "callers")
        packs = {name: dict(demo.settings(others[name], edge)) for name, demo in shown.items()}
        env = {
            **_environment(settings, home),
            **_slack_environment(workspace, sandbox),
            "COUNTERSIGN_DATABASE_URL": logins.program,
            "COUNTERSIGN_OPA": str(program.resolve()),
            "COUNTERSIGN_OPA_URL": opa.url,
            "COUNTERSIGN_DIRECTORY": str(directory.resolve()),
            "COUNTERSIGN_CALLERS": json.dumps(secrets_of),
            "COUNTERSIGN_PORT": str(ports.edge),
            "COUNTERSIGN_PUBLIC_URL": public,
            **_console_environment(settings, directory, public),
            "COUNTERSIGN_PACK": json.dumps({**settings.pack, **packs}),
        }
        announcement = {**env, "COUNTERSIGN_DIRECTORY_DATABASE_URL": logins.directory}
        stack.enter_context(announced(home, announcement, others))
        outside = Outside(edge, secrets_of, others, home / "logs")
        yield Embedded(home, env, edge, sandbox, supervisor, offered, outside)


def refuse_other_parts(settings: Settings) -> None:
    """Raise EmbeddedError where the settings name a part that would be left unused."""
    if foreign := [variable(name) for name in PARTS if getattr(settings, name)]:
        raise EmbeddedError(
            f"{', '.join(foreign)}: set, but this command brings parts of its own;"
            " unset it, or run `countersign serve`, which uses yours"
        )


@dataclass(frozen=True)
class Logins:
    """The DSN of each login: the program's, and that which loads the directory."""

    program: str
    directory: str


async def _servers(stack: AsyncExitStack, settings: Settings, home: Path, opa: OpaChild) -> Logins:
    """Start PostgreSQL and OPA side by side; return PostgreSQL's logins.

    OPA begins with the folder. Where that cannot be served, it begins with the version in force, if there is one.
    """
    parts = _database(stack, home / "data"), stack.enter_async_context(opa)
    logins, served = await asyncio.gather(*parts, return_exceptions=True)
    # looked at when both have come to an end: what failed takes down what did not
    if isinstance(logins, BaseException):
        raise logins
    opa.follow_versions(partial(_in_force, settings, logins.program))
    if isinstance(served, PolicyError) and await _in_force(settings, logins.program):
        served = await stack.enter_async_context(opa)
    if isinstance(served, BaseException):
        raise served
    return logins


async def _in_force(settings: Settings, dsn: str) -> tuple[str, bytes] | None:
    """Return digest and bundle of the policy version in force, None without one; raise OSError if it is unknown."""
    try:
        async with connected(settings.model_copy(update={"database_url": SecretStr(dsn)})) as conn:
            found = await served_bundle(conn)
    except (DatabaseError, psycopg.Error) as error:
        raise OSError(str(error)) from error
    return None if found is None else (found[0].digest, found[1])


async def _database(stack: AsyncExitStack, folder: Path) -> Logins:
    dsn = await asyncio.to_thread(stack.enter_context, embedded_postgres(folder / "postgres"))
    await asyncio.to_thread(migrate_database, dsn)
    return Logins(await asyncio.to_thread(program_login, dsn), await asyncio.to_thread(directory_login, dsn))


def _environment(settings: Settings, home: Path) -> dict[str, str]:
    return {
        "COUNTERSIGN_TENANT": settings.tenant,
        "COUNTERSIGN_HOME": str(home),
        "COUNTERSIGN_PACKS": json.dumps([str(pack.resolve()) for pack in settings.packs]),
        "COUNTERSIGN_DEFINITIONS": settings.definitions,
        "COUNTERSIGN_ACTIVATION": activation_of(settings),
        **({"COUNTERSIGN_OVERLAY": str(settings.overlay.resolve())} if settings.overlay else {}),
        **({"COUNTERSIGN_ROUTING": str(settings.routing.resolve())} if settings.routing else {}),
        **_subscriptions(settings),
        "COUNTERSIGN_LOG_LEVEL": settings.log_level,
        "COUNTERSIGN_LOG_FORMAT": "text" if settings.log_format == "auto" else settings.log_format,
        "COUNTERSIGN_OPA_TIMEOUT": str(max(settings.opa_timeout, OPA_PATIENCE)),
    }


def _console_environment(settings: Settings, directory: Path, public: str) -> dict[str, str]:
    """Return the console's settings: a link that is made at each start, and who may use it; none but at localhost."""
    if urlsplit(public).hostname != "localhost":
        return {}
    everybody = {group for person in read_directory(directory).people for group in person.groups}
    known = {ConsoleRole.OFFICER: sorted(everybody), ConsoleRole.AUDITOR: sorted(everybody & AUDITORS)}
    known[ConsoleRole.OPERATOR] = sorted(everybody.intersection(settings.doubt_groups))
    groups = settings.console_groups or known
    return {"COUNTERSIGN_CONSOLE_LINK": secrets.token_urlsafe(24), "COUNTERSIGN_CONSOLE_GROUPS": json.dumps(groups)}


def _subscriptions(settings: Settings) -> dict[str, str]:
    if settings.subscriptions is None:
        return {}
    secrets = {name: secret.get_secret_value() for name, secret in settings.webhook_secrets.items()}
    return {
        "COUNTERSIGN_SUBSCRIPTIONS": str(settings.subscriptions.resolve()),
        "COUNTERSIGN_WEBHOOK_SECRETS": json.dumps(secrets),
    }


def activation_of(settings: Settings) -> str:
    """Return the setting; who did not set it is an author at a desk, for whom the newest version starts."""
    return str(settings.activation if "activation" in settings.model_fields_set else Activation.NEWEST)


def _slack_environment(workspace: Mapping[str, str], sandbox: str) -> dict[str, str]:
    return {
        "COUNTERSIGN_SLACK_BOT_TOKEN": workspace["bot_token"],
        "COUNTERSIGN_SLACK_SIGNING_SECRETS": json.dumps([workspace["signing_secret"]]),
        "COUNTERSIGN_SLACK_API_URL": f"{sandbox}/api/",
        "COUNTERSIGN_SLACK_CHANNEL": "C0APPROVALS",
        "COUNTERSIGN_SLACK_CHANNELS": json.dumps({"compliance": "C0COMPLIANCE", "incident-managers": "C0INCIDENTS"}),
    }


def workspace_file() -> dict[str, Any]:
    """Return the sandbox workspace of embedded mode: its team, users, channels and app."""
    workspace: dict[str, Any] = yaml.safe_load((FILES / "workspace.yaml").read_text(encoding="utf-8"))
    return workspace


def _workspace(home: Path, request_url: str, public_url: str) -> dict[str, str]:
    """Write the workspace with the URL that its callbacks go to and our links' host; return its app's credentials."""
    workspace = workspace_file()
    workspace["app"] |= {"request_url": request_url, "unfurl_domains": [urlsplit(public_url).hostname]}
    write_private(home / "workspace.yaml", yaml.safe_dump(workspace, sort_keys=False))
    return dict(workspace["app"])


def _directory(home: Path, offered: Mapping[str, Demo]) -> Path:
    """Write a directory of the workspace's people and of the agents that the packs' demos need; return its place."""
    people = yaml.safe_load((FILES / "people.yaml").read_text(encoding="utf-8"))
    whole = {**people, "agents": list(callers(offered.values()))}
    write_private(home / "directory.yaml", yaml.safe_dump(whole, sort_keys=False))
    return home / "directory.yaml"


def _sandbox_arguments(home: Path, port: int) -> list[str]:
    files = ["--workspace", str(home / "workspace.yaml"), "--state", str(home / "data" / "sandbox.json")]
    return ["-m", "sandbox", "--port", str(port), *files]


def _secrets(directory: Path, path: Path) -> dict[str, str]:
    """Return the secret of each agent in the directory: one, made on first use."""
    if not path.exists():
        write_private(path, secrets.token_hex(32))
    secret = path.read_text(encoding="ascii")
    return {agent.id: secret for agent in read_directory(directory).agents}


_console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


async def up(settings: Settings, port: int, sandbox_port: int, *, with_case: bool) -> None:
    """Run embedded mode until told to stop; with a case, bring in one of each pack."""
    refuse_other_parts(settings)
    ports = Ports.tried(settings.host, port, sandbox_port)
    supervisor = Supervisor()
    _console.print("Starting PostgreSQL, OPA, the sandbox workspace, the stand-ins and Countersign …")
    await supervisor.until_told(_run_up(settings, ports, supervisor, with_case=with_case))


async def _run_up(settings: Settings, ports: Ports, supervisor: Supervisor, *, with_case: bool) -> None:
    async with embedded(settings, ports, supervisor) as system:
        program = system.serve("countersign")
        async with supervisor.running(program):
            await supervisor.until_answers(program)
            await _print_welcome(system, with_case=with_case)
            try:
                await supervisor.guard(asyncio.Event().wait())
            finally:
                _console.print("Stopping …")


async def _print_welcome(system: Embedded, *, with_case: bool) -> None:
    for pack in system.outside.standins if with_case else ():
        example = example_of(system.demos, pack, None)
        case = await system.outside.bring_in(pack, example)
        await case.replied()
        _console.print(f"Case:       {pack} {example.name}, run {case.run_id}: {example.then}")
    _console.print(f"Workspace:  {system.sandbox}/?user=U0ANNA&channel=C0COMPLIANCE")
    if link := system.env.get("COUNTERSIGN_CONSOLE_LINK"):
        _console.print(f"Console:    {system.env['COUNTERSIGN_PUBLIC_URL']}/console/enter/{link}   (works once)")
    _console.print(f"Edge:       {system.edge}   (secret of its callers: {system.home}/keys/callers)")
    _console.print(f"Evidence:   {system.home}/evidence   Public key: {system.home}/keys/evidence.pub.pem")
    _console.print("Cases:      `countersign case` lists what can be brought in, as often as you like")
    _console.print(f"Logs:       {system.logs}   Ctrl-C stops everything.")
