"""Checks every part by itself, and says what is wrong and what to do. Reads only, but for an archive's probe object."""

import asyncio
import platform
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

from bot.doctor import Fact
from countersign.archive import make_archive, unkept_retention
from countersign.console import check_provider
from countersign.doctor import database, evidence
from countersign.doctor.diagnosis import remedy_of
from countersign.doctor.evidence import time_stamps
from countersign.doctor.needs_attention import stopped_work
from countersign.doctor.policies import policy, policy_version, rollback
from countersign.doctor.slack import links, members, slack, user_groups
from countersign.engine import load_overlay, offered_handlers, validated_catalog
from countersign.parts import Role
from countersign.settings import Settings
from evidence.archive import ArchiveFact
from receipts.signing import load_or_create
from runtime.clock import Clock
from runtime.model.limits import first_line

Check = Callable[[Settings], Awaitable[list[Fact]]]

_ALL = frozenset(Role)
_CALLERS, _CLICKS, _WORK = frozenset({Role.EDGE}), frozenset({Role.BOT}), frozenset({Role.WORKER})
_REACH = "Set COUNTERSIGN_DATABASE_URL to a PostgreSQL that runs and can be reached from here."


async def examine(settings: Settings, clock: Clock, roles: frozenset[Role]) -> list[Fact]:
    """Return the result of every check of what the roles need, in an order in which a person would mend things."""
    checks: tuple[tuple[str, Check, frozenset[Role], str], ...] = (
        ("program", _program, _ALL, "Install the program with `make up`, or use its image."),
        ("database", partial(database.database, clock=clock), _ALL, _REACH),
        ("migrations", database.migrations, _ALL, _REACH),
        ("policy", partial(policy, clock=clock), _ALL, "Start OPA with the policy bundle, as docs/policy.md says."),
        (
            "policy version",
            partial(policy_version, clock=clock, needs_keys=bool(_WORK & roles)),
            _ALL,
            "Repair database and policy first.",
        ),
        ("rollback", rollback, _WORK, _REACH),
        ("definitions", _definitions, _ALL, "Correct COUNTERSIGN_PACKS and COUNTERSIGN_PACK."),
        ("directory file", database.file, _CALLERS, "Correct the file; the message says where."),
        ("groups", partial(database.groups, clock=clock), _ALL, "Repair database, policy and channels first."),
        ("callers", database.callers, _CALLERS, "Repair the database first."),
        ("slack transport", _transport, _CLICKS, "Set COUNTERSIGN_SLACK_BOT_TOKEN."),
        ("slack", slack, _CLICKS | _WORK, "Set COUNTERSIGN_SLACK_BOT_TOKEN, or have the app installed by OAuth."),
        ("links", partial(links, clock=clock), _CALLERS | _CLICKS | _WORK, "Start OPA with the policy bundle first."),
        ("console sign-in", check_provider, frozenset({Role.CONSOLE}), "Let the identity provider be reached."),
        ("members", members, _ALL, "Repair the database first."),
        ("user groups", partial(user_groups, clock=clock), _CLICKS, "Repair database, Slack and routing file first."),
        ("needs attention", stopped_work, _ALL, "Repair the database first."),
        ("archive", partial(_archive, clock=clock), _WORK, "Check the settings that begin with COUNTERSIGN_S3_."),
        ("evidence", partial(evidence.evidence, clock=clock), _WORK, "Repair the database first."),
        ("audit log", evidence.audit_log, _WORK, "Repair the database first."),
        ("time stamps", partial(time_stamps, clock=clock), _WORK, "Repair the database first."),
        ("signing key", _key, _WORK, "Use an Ed25519 key in PEM that only its owner can read."),
    )
    wanted = ((name, check, remedy) for name, check, needed_by, remedy in checks if needed_by & roles)
    return [fact for name, check, remedy in wanted for fact in await _guarded(name, check(settings), remedy)]


async def _guarded(name: str, check: Awaitable[list[Fact]], remedy: str) -> list[Fact]:
    try:
        return await check
    except Exception as error:  # noqa: BLE001 - whatever a part raises is what is wrong with it; the others are checked too
        why = first_line(error) or type(error).__name__
        return [Fact(name, ok=False, detail=why, remedy=remedy_of(why, remedy))]


async def _program(_: Settings) -> list[Fact]:
    text = f"countersign {version('countersign')}, Python {platform.python_version()}"
    return [Fact("program", ok=True, detail=text)]


async def _definitions(settings: Settings) -> list[Fact]:
    catalog = await asyncio.to_thread(validated_catalog, settings)
    overlay = load_overlay(settings, offered_handlers(settings), catalog)
    problems = [str(problem) for problem in catalog.problems]
    mocks = f"; on mocks: {', '.join(sorted(overlay))}" if overlay else ""
    detail = "; ".join(problems) or f"{len(catalog.definitions)} available{mocks}"
    return [Fact("definitions", ok=not problems, detail=detail, remedy="Correct the files; the messages say where.")]


async def _transport(settings: Settings) -> list[Fact]:
    by = [
        *(["Socket Mode"] if settings.slack_app_token else []),
        *(["HTTP"] if settings.slack_signing_secrets else []),
    ]
    neither = "COUNTERSIGN_SLACK_SIGNING_SECRETS is not set, nor COUNTERSIGN_SLACK_APP_TOKEN: no click can be heard"
    detail = " and ".join(by) or neither
    remedy = "Set COUNTERSIGN_SLACK_SIGNING_SECRETS for HTTP, or COUNTERSIGN_SLACK_APP_TOKEN for Socket Mode."
    return [Fact("slack transport", bool(by), detail, remedy)]


async def _archive(settings: Settings, clock: Clock) -> list[Fact]:
    facts = await asyncio.to_thread(make_archive(settings, clock).check)
    remedy = "Check bucket, endpoint and keys; `countersign bucket` creates a bucket with Object Lock."
    return [
        _lock(fact, settings) if fact.name == "locked" else Fact(f"archive {fact.name}", fact.ok, fact.text, remedy)
        for fact in facts
    ]


def _lock(fact: ArchiveFact, settings: Settings) -> Fact:
    """Tell about the lock: a store that need not have one fails only where a retention is set that it ignores."""
    unkept = "" if fact.ok else unkept_retention(settings)
    remedy = "`countersign bucket` creates a bucket with Object Lock" + (
        "; without one, remove the settings of retention." if unkept else "."
    )
    is_fine = fact.ok or (not settings.wants_lock and not unkept)
    return Fact("archive locked", is_fine, f"{fact.text}{unkept}", remedy)


async def _key(settings: Settings) -> list[Fact]:
    path = settings.key_path.resolve()
    data = [(settings.home / folder).resolve() for folder in ("data", "evidence")]
    if any(path.is_relative_to(folder) for folder in data):
        remedy = "Move it, and point COUNTERSIGN_SIGNING_KEY there: who can change the data must not be able to sign."
        return [Fact("signing key", ok=False, detail=f"{path} is stored among the data", remedy=remedy)]
    if not await asyncio.to_thread(Path.exists, path):
        return [Fact("signing key", ok=True, detail=f"none at {path} yet; the first worker creates it")]
    key = await asyncio.to_thread(load_or_create, path)
    return [Fact("signing key", ok=True, detail=f"{path}, readable by its owner alone, {key.public.key_id[:16]}")]
