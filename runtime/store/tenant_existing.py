"""What there is to be on record in a tenant's chain: its directory, its keys, definitions and policies."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from receipts import canonical
from receipts.act import Act
from receipts.tenant_acts import DefinitionStored, DirectoryLoaded, KeyRegistered, PolicySeen
from runtime.store.database.pool import Conn
from runtime.store.database.round_trips import at_once

ACTORS = "SELECT actor_id AS id, kind, name, groups, grants, notices FROM actors WHERE tenant = %s"
ACCOUNTS = "SELECT team, account, actor_id FROM slack_accounts WHERE tenant = %s"
SETTINGS = "SELECT remind, usergroups FROM directories WHERE tenant = %s"


def rows_digest(
    actors: Iterable[Mapping[str, Any]], accounts: Iterable[Mapping[str, Any]], settings: Iterable[Mapping[str, Any]]
) -> str:
    """Return the digest of a directory's rows, as `ACTORS`, `ACCOUNTS` and `SETTINGS` give them in any order.

    How people are told, and which groups are user groups of Slack, is in it only where that is said.
    """
    people = [{name: value for name, value in one.items() if value or name != "notices"} for one in actors]
    said = [found for one in settings if (found := {name: value for name, value in one.items() if value})]
    rows = {"actors": _sorted(people), "accounts": _sorted(accounts)}
    return canonical.digest({**rows, "settings": said} if said else rows)


async def directory_digest(conn: Conn, tenant: str) -> str:
    """Return the digest of the tenant's directory as it stands in the tables."""
    actors, accounts, settings = await at_once(*(_all(conn, query, tenant) for query in (ACTORS, ACCOUNTS, SETTINGS)))
    return rows_digest(actors, accounts, settings)


async def existing(conn: Conn, tenant: str) -> list[Act]:
    """Return what was there before there was a chain to put it on."""
    definitions, policies, directories, keys = await at_once(
        _all(conn, "SELECT name, version, digest FROM definitions ORDER BY created_at, name, version"),
        _all(conn, "SELECT digest FROM policy_texts ORDER BY first_seen, digest"),
        _all(conn, "SELECT version, digest FROM directories WHERE tenant = %s", tenant),
        _all(conn, "SELECT key_id, entry FROM signing_keys WHERE tenant = %s ORDER BY number", tenant),
    )
    return [
        *(DefinitionStored(**row) for row in definitions),
        *(PolicySeen(**row) for row in policies),
        *[DirectoryLoaded(**row, rows=await directory_digest(conn, tenant)) for row in directories],
        *(KeyRegistered(key_id=row["key_id"], digest=canonical.digest(row["entry"])) for row in keys),
    ]


async def _all(conn: Conn, query: str, *values: str) -> Sequence[Mapping[str, Any]]:
    return await (await conn.read(query, values)).fetchall()


def _sorted(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return sorted(map(dict, rows), key=canonical.dumps)
