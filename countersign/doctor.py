"""Checks every part and says what is wrong and what to do. Reads only, but for a probe object in the archive."""

import asyncio
import platform
from collections.abc import Awaitable
from importlib.metadata import version

import psycopg

from bot.doctor import Fact, check_slack
from countersign.compose import System
from evidence.archive import ArchiveError
from policy.model import PolicyUnavailableError, Question
from receipts.fields import timestamp
from runtime.store import health
from runtime.store.migrate import versions

SKEW_LIMIT = 2.0
"""Seconds by which this machine's clock may differ from the database's."""


async def readiness(system: System) -> list[str]:
    """Return what keeps the process from doing its work, for the probe."""
    facts = [*await _guarded("database", _database(system)), *await _guarded("policy", _policy(system))]
    return [f"{fact.name}: {fact.detail}" for fact in facts if not fact.ok]


async def examine(system: System) -> list[Fact]:
    """Return every check's result, in an order in which a person would mend things."""
    checks = (
        ("versions", _versions()),
        ("database", _database(system)),
        ("migrations", _migrations(system)),
        ("policy", _policy(system)),
        ("definitions", _definitions(system)),
        ("directory", _directory(system)),
        ("slack", _slack(system)),
        ("archive", _archive(system)),
    )
    return [fact for name, check in checks for fact in await _guarded(name, check)]


async def _guarded(name: str, check: Awaitable[list[Fact]]) -> list[Fact]:
    try:
        return await check
    except (psycopg.Error, OSError, ArchiveError) as error:
        return [Fact(name, ok=False, detail=str(error).strip(), remedy=f"Check that the {name} can be reached.")]


async def _versions() -> list[Fact]:
    text = f"countersign {version('countersign')}, Python {platform.python_version()}"
    return [Fact("versions", ok=True, detail=text)]


async def _database(system: System) -> list[Fact]:
    async with system.engine.pool.connection(timeout=3) as conn:
        server = await health.server(conn)
    skew = abs((server["now"] - system.engine.clock()).total_seconds())
    return [
        Fact("database", ok=True, detail=f"PostgreSQL {server['version']}"),
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


async def _migrations(system: System) -> list[Fact]:
    current, newest = await asyncio.to_thread(versions, system.engine.dsn)
    detail = f"at {current}, newest {newest}"
    return [Fact("migrations", ok=current == newest, detail=detail, remedy="Run `countersign migrate`.")]


async def _policy(system: System) -> list[Fact]:
    try:
        verdict = await system.engine.policy.ask(_probe(system))
    except PolicyUnavailableError as error:
        remedy = "Start OPA with the policy bundle; docs/policy.md says how."
        return [Fact("policy", ok=False, detail=str(error), remedy=remedy)]
    return [Fact("policy", ok=True, detail=f"answers, policy {verdict.policy_digest[:12]}")]


def _probe(system: System) -> Question:
    """Return a question whose answer does not matter, as long as it is one."""
    return Question.model_validate(
        {
            "time": timestamp(system.engine.clock()),
            "tenant": system.settings.tenant,
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


async def _definitions(system: System) -> list[Fact]:
    problems = [str(problem) for problem in system.catalog.problems]
    detail = "; ".join(problems) or f"{len(system.catalog.definitions)} available"
    return [Fact("definitions", ok=not problems, detail=detail, remedy="Mend the files; the messages say where.")]


async def _directory(system: System) -> list[Fact]:
    """Find groups that cards would go to and that nobody with a Slack account is in."""
    routing = system.engine.routing
    groups = sorted({*routing.channels, *routing.doubt_groups})
    async with system.engine.pool.connection() as conn:
        empty = [group for group in groups if not await health.reachable(conn, system.settings.tenant, group)]
    detail = f"nobody can be asked in: {', '.join(empty)}" if empty else f"{len(groups)} groups can be asked"
    remedy = "Add people with Slack accounts to these groups in the directory file."
    return [Fact("directory", ok=not empty, detail=detail, remedy=remedy)]


async def _slack(system: System) -> list[Fact]:
    app_token = system.settings.slack_app_token
    return await check_slack(system.slack, app_token.get_secret_value() if app_token else None)


async def _archive(system: System) -> list[Fact]:
    facts = await asyncio.to_thread(system.sealer.archive.check)
    remedy = "Give the bucket's key the right to put and read, and make the bucket with Object Lock."
    return [Fact(f"archive {fact.name}", ok=fact.ok, detail=fact.text, remedy=remedy) for fact in facts]
