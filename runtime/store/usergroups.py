"""Slack user groups as groups of the directory: what the directory says, and who was last heard to be in them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from receipts.chain import PROGRAM
from receipts.tenant_acts import DirectoryRefreshed, GroupChange
from runtime.model.person import KnownAccount, Member, Sources, match_members
from runtime.store.database.pool import Conn
from runtime.store.tenants import directory_digest, put_act

Members = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Heard:
    """What a directory has from user groups: their people, the accounts that addresses told, and since when."""

    sources: Sources
    members: Members
    linked: frozenset[KnownAccount]
    refreshed_at: datetime | None


async def lock_directory(conn: Conn, tenant: str) -> None:
    """Have all others who change the tenant's directory wait until the transaction ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"directory {tenant}",))


async def usergroup_state(conn: Conn, tenant: str) -> Heard:
    """Return what the tenant's directory has from user groups."""
    row = await conn.row("SELECT usergroups, refreshed_at FROM directories WHERE tenant = %s", (tenant,))
    sources = Sources.of(row["usergroups"] if row else {})
    people = await _people(conn, tenant)
    members = {group: frozenset(one for one, groups in people.items() if group in groups) for group in sources.groups}
    accounts = await accounts_known(conn, tenant, linked=True)
    return Heard(sources, members, frozenset(accounts), row["refreshed_at"] if row else None)


async def accounts_known(conn: Conn, tenant: str, *, linked: bool) -> list[KnownAccount]:
    """Return the accounts that the directory lists, or those that addresses told."""
    rows = await conn.rows(
        "SELECT team, account, actor_id FROM slack_accounts WHERE tenant = %s AND linked = %s"
        " ORDER BY team, account, actor_id",
        (tenant, linked),
    )
    return [(row["team"], row["account"], row["actor_id"]) for row in rows]


async def carry_over(conn: Conn, tenant: str, before: Heard) -> None:
    """Let a directory that was just loaded have what was heard before, as far as it still has the same from Slack."""
    now = (await usergroup_state(conn, tenant)).sources
    same = {group for group, source in now.groups.items() if before.sources.groups.get(group) == source}
    told = {person: email for email, person in now.emails.items()}
    linked = {one for one in before.linked if before.sources.emails.get(told.get(one[2], "")) == one[2]}
    await _write(conn, tenant, {group: before.members.get(group, frozenset()) for group in same}, linked)


async def refresh_usergroups(
    conn: Conn, tenant: str, found: Mapping[str, Sequence[Member]], now: datetime
) -> DirectoryRefreshed | None:
    """Have the groups hold who is in their user groups; return what changed, which is on record, or None.

    A user group that is not in `found` was not heard of: its people stay.
    """
    async with conn.transaction():
        await lock_directory(conn, tenant)
        before = await usergroup_state(conn, tenant)
        known = await accounts_known(conn, tenant, linked=False)
        matched = {one: match_members(members, known, before.sources.emails) for one, members in found.items()}
        members = {
            group: matched[source].people if source in matched else before.members[group]
            for group, source in before.sources.groups.items()
        }
        linked = {account for one in matched.values() for account in one.linked}
        stay = {one for one in before.linked if any(one[2] in members[g] for g in _unheard(before, found))}
        await _write(conn, tenant, members, linked | stay, now)
        if members == before.members and linked | stay == before.linked:
            return None
        return await _on_record(conn, tenant, before, members, now)


def _unheard(before: Heard, found: Mapping[str, Any]) -> list[str]:
    return [group for group, source in before.sources.groups.items() if source not in found]


async def _on_record(conn: Conn, tenant: str, before: Heard, members: Members, now: datetime) -> DirectoryRefreshed:
    edition = await conn.row("SELECT version, digest FROM directories WHERE tenant = %s", (tenant,))
    linked = frozenset(await accounts_known(conn, tenant, linked=True))
    changes = [
        GroupChange(
            group=group,
            usergroup=source,
            joined=sorted(members[group] - before.members[group]),
            left=sorted(before.members[group] - members[group]),
        )
        for group, source in before.sources.groups.items()
        if members[group] != before.members[group]
    ]
    act = DirectoryRefreshed(
        **(edition or {}),
        rows=await directory_digest(conn, tenant),
        groups=changes,
        linked=[list(one) for one in sorted(linked - before.linked)],
        unlinked=[list(one) for one in sorted(before.linked - linked)],
    )
    await put_act(conn, tenant, act, PROGRAM, now)
    return act


async def _people(conn: Conn, tenant: str) -> dict[str, list[str]]:
    query = "SELECT actor_id, groups FROM actors WHERE tenant = %s AND kind = 'person' ORDER BY actor_id"
    return {row["actor_id"]: row["groups"] for row in await conn.rows(query, (tenant,))}


async def _write(
    conn: Conn, tenant: str, members: Members, linked: set[KnownAccount], now: datetime | None = None
) -> None:
    """Make groups and accounts what was heard, now if that is said; an account that the directory lists stays."""
    told = [{"team": team, "account": user, "actor_id": person} for team, user, person in sorted(linked)]
    people = {group: sorted(found) for group, found in members.items()}
    await conn.execute("SELECT refresh_usergroups(%s, %s, %s, %s)", (tenant, json.dumps(people), json.dumps(told), now))
