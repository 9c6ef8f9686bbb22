"""Checks every part by itself, and says what is wrong and what to do. Reads only, but for an archive's probe object."""

import asyncio
import json
import platform
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from bot.client import slack_client
from bot.doctor import Fact, check_slack
from countersign.compose import database_versions, make_archive, make_routing, required, validated_catalog
from countersign.directory import read_directory
from countersign.logs import first_line
from countersign.settings import Settings
from policy.client import OpaEngine
from policy.model import PolicyText, Question
from policy.text import CONFIG_FILE
from receipts.fields import timestamp
from receipts.signing import load_or_create
from runtime.clock import utc_now
from runtime.store import directory, health
from runtime.store.pool import Conn

OLDEST_POSTGRES = 16
SKEW_LIMIT = 2.0
"""Seconds by which this machine's clock may differ from the database's."""

Check = Callable[[Settings], Awaitable[list[Fact]]]


async def examine(settings: Settings) -> list[Fact]:
    """Return every check's result, in an order in which a person would mend things."""
    return [fact for name, check, remedy in CHECKS for fact in await _guarded(name, check(settings), remedy)]


async def _guarded(name: str, check: Awaitable[list[Fact]], remedy: str) -> list[Fact]:
    try:
        return await check
    except Exception as error:  # noqa: BLE001 - whatever a part raises is what is wrong with it; the others are checked too
        return [Fact(name, ok=False, detail=first_line(error) or type(error).__name__, remedy=remedy)]


async def _program(_: Settings) -> list[Fact]:
    text = f"countersign {version('countersign')}, Python {platform.python_version()}"
    return [Fact("program", ok=True, detail=text)]


@asynccontextmanager
async def _connected(settings: Settings) -> AsyncIterator[Conn]:
    dsn = required(settings, "database_url")
    async with await psycopg.AsyncConnection.connect(
        dsn, autocommit=True, row_factory=dict_row, connect_timeout=5
    ) as conn:
        yield conn


async def _database(settings: Settings) -> list[Fact]:
    async with _connected(settings) as conn:
        server = await health.server(conn)
    skew = abs((server["now"] - utc_now()).total_seconds())
    return [
        Fact(
            "database",
            ok=int(server["version"].split(".")[0]) >= OLDEST_POSTGRES,
            detail=f"PostgreSQL {server['version']}",
            remedy=f"Use PostgreSQL {OLDEST_POSTGRES} or newer.",
        ),
        Fact(
            "writer",
            ok=not server["is_replica"],
            detail="a replica" if server["is_replica"] else "the writer",
            remedy="Point COUNTERSIGN_DATABASE_URL to the writer: decisions are never read from a replica.",
        ),
        Fact(
            "clock",
            ok=skew < SKEW_LIMIT,
            detail=f"{skew:.3f} s from the database's",
            remedy="Set the clocks by NTP: deadlines and signatures depend on them.",
        ),
    ]


async def _migrations(settings: Settings) -> list[Fact]:
    current, newest = await asyncio.to_thread(database_versions, required(settings, "database_url"))
    detail = f"at {current or 'none'}, newest {newest}"
    return [Fact("migrations", ok=current == newest, detail=detail, remedy="Run `countersign migrate`.")]


async def _policy(settings: Settings) -> list[Fact]:
    """OPA's version, the bundle's revision and every member of the answer are checked by the client that asks."""
    text = await _policy_text(settings)
    return [Fact("policy", ok=True, detail=f"answers, with policy {text.digest}")]


async def _policy_text(settings: Settings) -> PolicyText:
    async with OpaEngine(required(settings, "opa_url")) as engine:
        verdict = await engine.ask(probe(settings.tenant, utc_now()))
        return engine.text(verdict.policy_digest)


def probe(tenant: str, now: datetime) -> Question:
    """Return a question whose answer does not matter, as long as it is one."""
    return Question.model_validate(
        {
            "time": timestamp(now),
            "tenant": tenant,
            "actor": {"id": "doctor", "kind": "system", "groups": [], "submitted_by": "doctor"},
            "run": {"id": "none", "definition": "none", "version": 1, "trigger_type": "none"},
            "step": "",
            "effect": {
                "connector": "none",
                "operation": "none",
                "target": "none",
                "fields": {},
                "tier": "low",
                "reversible": True,
                "digest": "0" * 64,
            },
            "votes": [],
            "counters": {"writes": 0},
        }
    )


async def _definitions(settings: Settings) -> list[Fact]:
    catalog = await asyncio.to_thread(validated_catalog, settings)
    problems = [str(problem) for problem in catalog.problems]
    detail = "; ".join(problems) or f"{len(catalog.definitions)} available"
    return [Fact("definitions", ok=not problems, detail=detail, remedy="Mend the files; the messages say where.")]


async def _file(settings: Settings) -> list[Fact]:
    if settings.directory is None:
        return [Fact("directory file", ok=True, detail="none here; the database holds what was loaded last")]
    known = await asyncio.to_thread(read_directory, settings.directory)
    return [Fact("directory file", ok=True, detail=f"{len(known.people)} people, {len(known.agents)} agents")]


async def _groups(settings: Settings) -> list[Fact]:
    """Find groups that cards go to, by settings or by policy, and that nobody with a Slack account is in."""
    routing = make_routing(settings)
    named = {*routing.channels, *routing.doubt_groups}
    named |= _asked_by_policy(await _policy_text(settings), settings.tenant)
    async with _connected(settings) as conn:
        empty = [group for group in sorted(named) if not await health.reachable(conn, settings.tenant, group)]
    detail = f"nobody can be asked in: {', '.join(empty)}" if empty else f"{len(named)} can be asked"
    remedy = "Add people with Slack accounts to these groups in the directory file, and start a process to load it."
    return [Fact("groups", ok=not empty, detail=detail, remedy=remedy)]


def _asked_by_policy(text: PolicyText, tenant: str) -> set[str]:
    """Return the groups that the tenant's policy data names, wherever in it they stand."""
    found: set[str] = set()
    rest: list[Any] = [json.loads(text.files.get(CONFIG_FILE, "{}")).get(tenant)]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            named = [value[key] for key in ("groups", "escalate_to") if isinstance(value.get(key), list)]
            found.update(group for groups in named for group in groups if isinstance(group, str))
            rest += value.values()
    return found


async def _callers(settings: Settings) -> list[Fact]:
    async with _connected(settings) as conn:
        actors = {name: await directory.actor(conn, settings.tenant, name) for name in sorted(settings.callers)}
    strangers = [name for name, actor in actors.items() if actor is None or actor["kind"] != "agent"]
    detail = f"not in the directory: {', '.join(strangers)}" if strangers else ", ".join(actors) or "none"
    remedy = "Add them as agents to the directory file, or remove their secrets from COUNTERSIGN_CALLERS."
    return [Fact("callers", ok=not strangers, detail=detail, remedy=remedy)]


async def _slack(settings: Settings) -> list[Fact]:
    client = slack_client(required(settings, "slack_bot_token"), settings.slack_api_url)
    app_token = settings.slack_app_token
    heard = [*(["Socket Mode"] if app_token else []), *(["HTTP"] if settings.slack_signing_secrets else [])]
    transport = Fact(
        "slack transport",
        ok=bool(heard),
        detail=" and ".join(heard) or "none, so no click can be heard",
        remedy="Set COUNTERSIGN_SLACK_SIGNING_SECRETS for HTTP, or COUNTERSIGN_SLACK_APP_TOKEN for Socket Mode.",
    )
    return [transport, *await check_slack(client, app_token.get_secret_value() if app_token else None)]


async def _archive(settings: Settings) -> list[Fact]:
    local = settings.s3_bucket is None
    facts = await asyncio.to_thread(lambda: make_archive(settings).check())
    remedy = "Check bucket, endpoint and keys; a bucket as it must be is made by `countersign bucket`."
    # A local folder cannot be locked; who chose it is told, and that is all that can be done about it.
    return [
        Fact(f"archive {fact.name}", fact.ok or (local and fact.name == "locked"), fact.text, remedy) for fact in facts
    ]


async def _key(settings: Settings) -> list[Fact]:
    path = settings.key_path.resolve()
    data = [(settings.home / folder).resolve() for folder in ("data", "evidence")]
    if any(path.is_relative_to(folder) for folder in data):
        remedy = "Move it, and point COUNTERSIGN_SIGNING_KEY there: who can change the data must not be able to sign."
        return [Fact("signing key", ok=False, detail=f"{path} lies among the data", remedy=remedy)]
    if not await asyncio.to_thread(Path.exists, path):
        return [Fact("signing key", ok=True, detail=f"none at {path} yet; the first worker to start makes it")]
    key = await asyncio.to_thread(load_or_create, path)
    return [Fact("signing key", ok=True, detail=f"{path}, readable by its owner alone, {key.public.key_id[:16]}")]


_REACH = "Set it to a PostgreSQL that runs and can be reached from here."
CHECKS: tuple[tuple[str, Check, str], ...] = (
    ("program", _program, "Install the program with `make up`, or use its image."),
    ("database", _database, _REACH),
    ("migrations", _migrations, _REACH),
    ("policy", _policy, "Start OPA with the policy bundle, as docs/policy.md says."),
    ("definitions", _definitions, "Mend COUNTERSIGN_PACKS and COUNTERSIGN_PACK."),
    ("directory file", _file, "Mend the file; the message says where."),
    ("groups", _groups, "Mend database and policy first."),
    ("callers", _callers, "Mend the database first."),
    ("slack", _slack, "Set COUNTERSIGN_SLACK_BOT_TOKEN."),
    ("archive", _archive, "Check the settings that begin with COUNTERSIGN_S3_."),
    ("signing key", _key, "Only its owner may read it: chmod 600."),
)
