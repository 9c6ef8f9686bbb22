"""What the doctor asks database and policy: their state, and whether the people exist whom cards and callers need.

Policy is asked sample questions: any answer will do, as long as it is one.
"""

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bot.doctor import Fact
from countersign.connection import connected
from countersign.directory import read_directory
from countersign.engine import make_policy, make_routing
from countersign.loaded_files import edition_of
from countersign.settings import Settings, required
from countersign.storage import check_migration_and_schema, try_connection
from evidence.reading.words import counted
from policy.bundle import CONFIG_FILE
from policy.contract import PolicyText, PolicyUnavailableError, Question
from policy.engine import PolicyEngine
from policy.vetting import describe_question, listed_questions, sample_question
from receipts.fields import timestamp
from runtime.clock import Clock
from runtime.engine import Routing
from runtime.model.routing import Destination, surely_sent
from runtime.services import health as inspection
from runtime.services.health import DirectoryRights


async def policy_text(settings: Settings, clock: Clock) -> PolicyText:
    """Return the text of the policy that answers now, or raise PolicyUnavailableError."""
    async with make_policy(settings) as engine:
        verdict = await engine.ask(probe(settings.tenant, clock()))
        return engine.text(verdict.policy_digest)


async def examined(engine: PolicyEngine, tenant: str, now: datetime, passed: str) -> str:
    """Return the digest of the policy that answers now, or raise PolicyUnavailableError.

    It has an answer about every operation that it lists for the tenant; one that `passed` before is not asked again.
    """
    digest = (await engine.ask(probe(tenant, now))).policy_digest
    if digest != passed:
        questions = _questions(engine.text(digest), tenant)
        for question, found in zip(questions, await engine.ask_all(questions), strict=True):
            if isinstance(found, PolicyUnavailableError):
                raise PolicyUnavailableError(f"{describe_question(question)}: {found}") from found
    return digest


def _questions(text: PolicyText, tenant: str) -> list[Question]:
    return [question for question in listed_questions(text) if question.tenant == tenant]


def probe(tenant: str, now: datetime) -> Question:
    """Return a question about nothing in particular."""
    return sample_question(tenant, "none", "none", "none", "low", timestamp(now))


OLDEST_POSTGRES = 15
SKEW_LIMIT = 2.0
"""Seconds by which this machine's clock may differ from the database's."""
TOO_FAR = 0.15
"""Seconds to the database and back: of the two that a click has, Slack may take one to say who clicked, and five round
trips need the other."""


async def database(settings: Settings, clock: Clock) -> list[Fact]:
    """Check that it takes connections such as those of a process that serves; and version, role and clock."""
    await asyncio.to_thread(try_connection, settings)
    async with connected(settings) as conn:
        server, took = await inspection.server_state(conn), await inspection.measure_round_trip(conn)
        rights = await inspection.directory_rights(conn)
    skew = abs((server["now"] - clock()).total_seconds())
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
        _role(server, rights),
        Fact(
            "clock",
            ok=skew < SKEW_LIMIT,
            detail=f"{skew:.3f} s from the database's",
            remedy="Set the clocks by NTP: deadlines and signatures depend on them.",
        ),
        Fact(
            "round trip",
            ok=took < TOO_FAR,
            detail=f"{took * 1000:.1f} ms to the database and back",
            remedy=f"Run the program near its database, in less than {TOO_FAR * 1000:.0f} ms: a click needs five round"
            " trips within two seconds, and Slack may take one of these.",
        ),
    ]


def _role(server: dict[str, Any], rights: DirectoryRights) -> Fact:
    """Say whether the login may do what it need not: with that, nothing guards records and directory against it."""
    too_much = "a superuser" if server["is_superuser"] else "the owner of the tables" if server["is_owner"] else ""
    if rights.writes and not too_much:
        too_much = f"which may write {', '.join(rights.writes)}"
    lacks = f"which lacks {', '.join(rights.lacks)}" if rights.lacks else ""
    detail = f"{server['login']}, {too_much or lacks or 'without rights that the program does not need'}"
    remedy = "Log in as a member of countersign_program alone, as docs/operator.md says."
    if rights.lacks:
        remedy = "Run `countersign migrate` as the owner of the tables. " + remedy
    return Fact("database role", not too_much and not lacks, detail, remedy)


async def migrations(settings: Settings) -> list[Fact]:
    """Check that the database is at the migration that this program needs, and has the declared schema."""
    migration, schema = await asyncio.to_thread(check_migration_and_schema, required(settings, "database_url"))
    named = [("migrations", migration), *(("schema", finding) for finding in schema)]
    return [Fact(name, finding.ok, finding.detail, finding.remedy) for name, finding in named]


async def file(settings: Settings) -> list[Fact]:
    """Check the directory file, and that it is the one that is loaded."""
    path = settings.directory
    known = await asyncio.to_thread(read_directory, path) if path else None
    async with connected(settings) as conn:
        loaded = await inspection.directory_edition(conn, settings.tenant)
    held = "none is loaded" if loaded is None else f"version {loaded.version} is loaded"
    if known is None:
        return [Fact("directory file", ok=True, detail=f"none here; {held}")]
    people, agents = counted(len(known.people), "person", "people"), counted(len(known.agents), "agent")
    detail = f"version {known.version}: {people}, {agents}"
    is_loaded = edition_of(known) == loaded
    if not is_loaded and loaded and loaded.version == known.version:
        held += " and says something else"
    remedy = f"Update the file, or load it: `countersign people load {path} --as PERSON`."
    return [Fact("directory file", is_loaded, detail if is_loaded else f"{detail}; but {held}", remedy)]


async def groups(settings: Settings, clock: Clock) -> list[Fact]:
    """Find groups that cards go to, by settings or by policy, and that nobody with a Slack account is in."""
    routing = make_routing(settings)
    named = {*routing.channels, *routing.doubt_groups, *(routing.fallback.groups if routing.fallback else ())}
    text = await policy_text(settings, clock)
    named |= _asked_by_policy(text, settings.tenant)
    async with connected(settings) as conn:
        empty = [
            group for group in sorted(named) if not await inspection.is_group_reachable(conn, settings.tenant, group)
        ]
        requirements = requirements_of(text, settings.tenant)
        short = await inspection.shortfalls(conn, settings.tenant, requirements, clock())
    wrong = [f"no eligible approver in: {', '.join(empty)}"] if empty else []
    wrong += [f"requirement {name} cannot be fulfilled: {why}" for name, why in short.items()]
    unread = _without_place(routing, requirements)
    wrong += [
        f"requirement {name} needs {group}, which no card reaches: a routing rule says nobody" for name, group in unread
    ]
    shared = _on_default(routing, requirements)
    note = f"; no channel for {', '.join(shared)}: their cards go to {routing.default_channel}" if shared else ""
    detail = "; ".join(wrong) or f"{len(named)} can be asked{note}"
    remedy = "Add people with Slack accounts to these groups in the directory file, and load it as a new version."
    if unread:
        remedy = "Give each group that must sign a channel, or `direct: true`, in COUNTERSIGN_ROUTING. " + remedy
    return [Fact("groups", ok=not wrong, detail=detail, remedy=remedy)]


def _required(requirements: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return each group of which policy wants a signature of its own, with the name of the requirement."""
    return [
        (name, group)
        for name in sorted(requirements)
        for asked in (requirements[name], *requirements[name].get("classes", ()))
        if asked["all_groups"] or (asked is not requirements[name] and len(asked["groups"]) == 1)
        for group in asked["groups"]
    ]


def _without_place(routing: Routing, requirements: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the groups that must sign, and for which a rule of routing posts no card anywhere."""
    nowhere = Destination()
    return [(name, group) for name, group in _required(requirements) if surely_sent(routing.rules, group) == nowhere]


def _on_default(routing: Routing, requirements: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the groups that must sign and have neither a channel nor a rule: they share the channel for all."""
    groups = {group for _, group in _required(requirements)} - set(routing.channels)
    return sorted(group for group in groups if surely_sent(routing.rules, group) is None)


def _asked_by_policy(text: PolicyText, tenant: str) -> set[str]:
    """Return the groups that the tenant's policy data names, wherever in it they stand."""
    found: set[str] = set()
    rest: list[Any] = [json.loads(text.files.get(CONFIG_FILE, "{}")).get(tenant)]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            named = [value[key] for key in ("groups", "to") if isinstance(value.get(key), list)]
            found.update(group for groups in named for group in groups if isinstance(group, str))
            rest += value.values()
        elif isinstance(value, list):
            rest += value
    return found


def requirements_of(text: PolicyText, tenant: str) -> dict[str, Mapping[str, Any]]:
    """Return who has to sign, by the names that the tenant's policy data gives."""
    config = json.loads(text.files.get(CONFIG_FILE, "{}")).get(tenant)
    named = config.get("requirements", {}) if isinstance(config, dict) else {}
    return {name: {"exclude": [], "reason_required": False, **requirement} for name, requirement in named.items()}


async def callers(settings: Settings) -> list[Fact]:
    """Find callers that have a secret, but are no agents of the directory."""
    async with connected(settings) as conn:
        actors = {name: await inspection.actor(conn, settings.tenant, name) for name in sorted(settings.callers)}
    unknown = [name for name, actor in actors.items() if actor is None or actor["kind"] != "agent"]
    detail = f"not in the directory: {', '.join(unknown)}" if unknown else ", ".join(actors) or "none"
    remedy = "Add them as agents to the directory file, or remove their secrets from COUNTERSIGN_CALLERS."
    return [Fact("callers", ok=not unknown, detail=detail, remedy=remedy)]
