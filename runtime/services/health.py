"""What doctor, readiness and the command line may look at, over one connection. Nothing of it stays."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtime.approvals.electorate import able
from runtime.approvals.rules import shortfall
from runtime.model.requirement import Requirement
from runtime.model.run import FoundStep
from runtime.services.audit import Audit, audit
from runtime.store import bundles as stored
from runtime.store import checkpoints, directory, runs
from runtime.store import legal_holds as stored_holds
from runtime.store.bundles import OpenBundle
from runtime.store.checkpoints import LogStanding, Signed
from runtime.store.database import health
from runtime.store.database.health import DirectoryRights
from runtime.store.database.pool import Conn
from runtime.store.electorate import electorate_of
from runtime.store.step_repairs import BlockedEffects, list_blocked_effects, list_steps_needing_attention
from runtime.store.usergroups import Heard, usergroup_state

__all__ = [
    "Audit",
    "BlockedEffects",
    "DirectoryRights",
    "FoundStep",
    "Heard",
    "LogStanding",
    "OpenBundle",
    "actor",
    "audit",
    "list_steps_needing_attention",
    "log_standing",
    "newest_checkpoint",
    "open_bundles",
    "reachable",
    "round_trip",
    "run",
    "server",
    "unretained_bundles",
    "untold_holds",
]


async def server(conn: Conn) -> dict[str, Any]:
    """Return {version, now, is_replica} of the server, and {login, is_superuser, is_owner} of who we are there."""
    return await health.server_state(conn)


async def directory_rights(conn: Conn) -> DirectoryRights:
    """Return what this login may do with the tables of the directory."""
    return await health.directory_rights(conn)


async def try_write(conn: Conn) -> None:
    """Write as a state change does, and take it back; raise psycopg.Error where the database takes no writes."""
    await health.try_write(conn)


async def round_trip(conn: Conn) -> float:
    """Return the seconds that a trivial statement takes: the least of several."""
    return await health.measure_round_trip(conn)


async def reachable(conn: Conn, tenant: str, group: str) -> bool:
    """Return whether a person with a Slack account is in the group."""
    return await health.is_group_reachable(conn, tenant, group)


async def shortfalls(
    conn: Conn, tenant: str, requirements: Mapping[str, Mapping[str, Any]], now: datetime
) -> dict[str, str]:
    """Return for each requirement that the directory's people cannot fulfil, whoever asks, why that is so."""
    found: dict[str, str] = {}
    for name, document in requirements.items():
        requirement = Requirement.of(document)
        asked = (*requirement.groups, *requirement.leads)
        people = able(await electorate_of(conn, tenant, asked, now), set(asked), frozenset(requirement.exclude))
        if why := shortfall(requirement, people, frozenset()):
            found[name] = why
    return found


async def directory_edition(conn: Conn, tenant: str) -> directory.Edition | None:
    """Return which directory is loaded, or None where none is."""
    return await directory.edition_of(conn, tenant)


async def user_groups(conn: Conn, tenant: str) -> Heard:
    """Return what the directory has from Slack's user groups."""
    return await usergroup_state(conn, tenant)


async def blocked_effects(conn: Conn, tenant: str) -> list[BlockedEffects]:
    """Return what blocks the tenant's effects, the most frequent first."""
    return await list_blocked_effects(conn, tenant)


async def actor(conn: Conn, tenant: str, actor_id: str) -> dict[str, Any] | None:
    """Return {actor_id, kind, name, groups, grants} or None."""
    return await directory.actor(conn, tenant, actor_id)


async def open_bundles(conn: Conn, tenant: str) -> list[OpenBundle]:
    """Return the tenant's finished runs whose bundle is not stored, the longest open first."""
    return await stored.list_open(conn, tenant)


async def unretained_bundles(conn: Conn, tenant: str, limit: int) -> list[dict[str, Any]]:
    """Return run_id and location of bundles that a bucket took without a retention, newest first."""
    return await stored.list_unretained(conn, tenant, limit)


async def untold_holds(conn: Conn, tenant: str, limit: int) -> list[dict[str, Any]]:
    """Return run_id, tries and error of bundles that the archive could not be told to hold, or to release."""
    return await stored_holds.list_untold(conn, tenant, limit)


async def run(conn: Conn, tenant: str, run_id: str) -> dict[str, Any] | None:
    """Return a run, its steps, what of it is blocked and what it cost, or None."""
    return await runs.run_summary(conn, tenant, run_id)


async def newest_checkpoint(conn: Conn, tenant: str) -> Signed | None:
    """Return the newest checkpoint of the tenant's audit log."""
    return await checkpoints.newest_checkpoint(conn, tenant)


async def log_standing(conn: Conn, tenant: str) -> LogStanding:
    """Return how the tenant's audit log stands: how many leaves await their places, and how old what was signed is."""
    return await checkpoints.log_standing(conn, tenant)
