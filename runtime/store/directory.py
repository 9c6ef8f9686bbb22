"""The directory of people and agents: loading it, looking people up, and their deactivated accounts.

People are listed with those for whom they stand in now. An account is deactivated when Slack says so.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from receipts.chain import PROGRAM, Actor
from receipts.tenant_acts import DirectoryLoaded
from runtime.model.person import NO_SOURCES, Person, Sources
from runtime.store.database.pool import Conn
from runtime.store.delegations import HOLDS
from runtime.store.tenants import directory_digest, put_act
from runtime.store.usergroups import carry_over, lock_directory, usergroup_state

_DOCUMENTS = ("groups", "grants", "notices", "sign_in")


class DirectoryVersionError(Exception):
    """The directory that is loaded is newer, or says something else under the same version."""


@dataclass(frozen=True)
class Edition:
    """Which directory it is: the version that its file names, 0 where it names none, and the SHA-256 of its content."""

    version: int
    digest: str


async def edition_of(conn: Conn, tenant: str) -> Edition | None:
    """Return which directory is loaded, or None where none is."""
    row = await conn.row("SELECT version, digest FROM directories WHERE tenant = %s", (tenant,))
    return Edition(**row) if row else None


async def group_names(conn: Conn, tenant: str) -> frozenset[str]:
    """Return the groups of the tenant's directory: those of its people, and those that are user groups of Slack."""
    rows = await conn.rows(
        "SELECT DISTINCT g.name FROM actors a, json_array_elements_text(a.groups) AS g (name)"
        " WHERE a.tenant = %s AND a.kind = 'person'",
        (tenant,),
    )
    heard = await usergroup_state(conn, tenant)
    return frozenset(row["name"] for row in rows).union(heard.sources.groups)


def check_edition(loaded: Edition | None, new: Edition) -> None:
    """Raise DirectoryVersionError where the new edition must not take the place of the one that is loaded."""
    if loaded is None or new.version > loaded.version or new == loaded:
        return
    if new.version < loaded.version:
        raise DirectoryVersionError(f"it is version {new.version}, and version {loaded.version} is loaded")
    if new.version > 0:
        raise DirectoryVersionError(
            f"it is version {new.version}, which is loaded and says something else: give it version {new.version + 1}"
        )


async def replace_directory(
    conn: Conn,
    tenant: str,
    edition: Edition,
    actors: Sequence[Mapping[str, Any]],
    accounts: Sequence[tuple[str, str, str]],
    now: datetime,
    remind: Mapping[str, Any] = MappingProxyType({}),
    sources: Sources = NO_SOURCES,
    by: Actor = PROGRAM,
) -> None:
    """Replace the tenant's directory: actors {id, kind, name, groups, grants}, accounts (team, user, actor id).

    Actors may have `notices` and `sign_in`; `remind` is when those are reminded who are asked; `sources` are groups
    that are user groups of Slack, whose people stay as they were heard last.

    A new edition, or other rows of the same, goes on the tenant's record, as an act of the actor that is given. Raise
    DirectoryVersionError, and change nothing, where the edition is older than the one that is loaded.
    """
    async with conn.transaction():
        await lock_directory(conn, tenant)
        before = await usergroup_state(conn, tenant)
        loaded = await edition_of(conn, tenant)
        check_edition(loaded, edition)
        rows_before = await directory_digest(conn, tenant)
        await conn.execute(
            "INSERT INTO directories (tenant, version, digest, loaded_at, remind, usergroups)"
            " VALUES (%s, %s, %s, clock_timestamp(), %s, %s)"
            " ON CONFLICT (tenant) DO UPDATE SET version = excluded.version, digest = excluded.digest,"
            " loaded_at = excluded.loaded_at, remind = excluded.remind, usergroups = excluded.usergroups",
            (tenant, edition.version, edition.digest, json.dumps(dict(remind)), json.dumps(sources.document())),
        )
        await conn.execute("DELETE FROM actors WHERE tenant = %s", (tenant,))
        await conn.execute_many(
            "INSERT INTO actors (tenant, actor_id, kind, name, groups, grants, notices, sign_in)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                (tenant, a["id"], a["kind"], a["name"], *(json.dumps(a.get(one, {})) for one in _DOCUMENTS))
                for a in actors
            ],
        )
        await conn.execute_many(
            "INSERT INTO slack_accounts (tenant, team, account, actor_id) VALUES (%s, %s, %s, %s)",
            [(tenant, team, user, actor) for team, user, actor in accounts],
        )
        if before.sources.groups or sources.groups:
            await carry_over(conn, tenant, before)
        rows = await directory_digest(conn, tenant)
        if edition != loaded or rows != rows_before:  # a later program may keep more of one file
            act = DirectoryLoaded(version=edition.version, digest=edition.digest, rows=rows)
            await put_act(conn, tenant, act, by, now)


async def people_of(conn: Conn, tenant: str, account: str) -> dict[str, list[Person]]:
    """Return every person behind a Slack user, by the team of each of the user's accounts; {} for an unknown user."""
    rows = await conn.rows(
        "SELECT s.team, a.actor_id, a.name, a.groups FROM slack_accounts s"
        " LEFT JOIN actors a ON a.tenant = s.tenant AND a.actor_id = s.actor_id AND a.kind = 'person'"
        " WHERE s.tenant = %s AND s.account = %s",
        (tenant, account),
    )
    found: dict[str, list[Person]] = {row["team"]: [] for row in rows}
    for row in rows:
        if row["actor_id"] is not None:
            found[row["team"]].append(Person(row["actor_id"], row["name"], tuple(row["groups"])))
    return found


async def people_named(conn: Conn, tenant: str, names: Sequence[str]) -> dict[str, list[str]]:
    """Return the ids behind names, each an id or an account of the directory, by name; unknown ones are left out."""
    rows = await conn.rows(
        "SELECT name, array_agg(DISTINCT actor_id ORDER BY actor_id) AS ids FROM ("
        " SELECT actor_id AS name, actor_id FROM actors WHERE tenant = %(tenant)s AND actor_id = ANY(%(names)s)"
        " UNION ALL SELECT account, actor_id FROM slack_accounts WHERE tenant = %(tenant)s AND account = ANY(%(names)s)"
        ") AS known GROUP BY name",
        {"tenant": tenant, "names": list(names)},
    )
    return {row["name"]: row["ids"] for row in rows}


async def people_behind(conn: Conn, tenant: str, users: Sequence[str]) -> list[tuple[str, str, Person]]:
    """Return team, user and person of these Slack users, by their ids; one person alone for each."""
    rows = await conn.rows(
        "SELECT DISTINCT ON (s.account) s.team, s.account, a.actor_id, a.name, a.groups"
        " FROM slack_accounts s JOIN actors a USING (tenant, actor_id)"
        " WHERE s.tenant = %s AND s.account = ANY(%s) AND a.kind = 'person' ORDER BY s.account, a.actor_id",
        (tenant, list(users)),
    )
    return [(row["team"], row["account"], Person(row["actor_id"], row["name"], tuple(row["groups"]))) for row in rows]


async def actor(conn: Conn, tenant: str, actor_id: str) -> dict[str, Any] | None:
    """Return {actor_id, kind, name, groups, grants} or None."""
    (found,) = await actors(conn, [(tenant, actor_id)])
    return found


async def actors(conn: Conn, wanted: Sequence[tuple[str, str]]) -> list[dict[str, Any] | None]:
    """Return what `actor` does, of many (tenant, actor id) in one read."""
    rows = await conn.look(
        """
        SELECT tenant, actor_id, kind, name, groups, grants FROM actors
         WHERE (tenant, actor_id) IN (SELECT * FROM unnest(%(tenants)b::text[], %(ids)b::text[]))
        """,
        {"tenants": [tenant for tenant, _ in wanted], "ids": [actor_id for _, actor_id in wanted]},
        table="actors",
        keys=(),
    )
    found = {(row.pop("tenant"), row["actor_id"]): row for row in rows}
    return [found.get(one) for one in wanted]


async def actor_with_accounts(
    conn: Conn, tenant: str, actor_id: str
) -> tuple[Person, Sequence[tuple[str, str]]] | None:
    """Return somebody of the directory and their (team, user) accounts, or None."""
    row = await conn.read_row(
        """
        SELECT a.actor_id, a.name, a.groups,
               (SELECT coalesce(json_agg(json_build_array(s.team, s.account) ORDER BY s.team, s.account), '[]')
                  FROM slack_accounts s WHERE s.tenant = a.tenant AND s.actor_id = a.actor_id) AS accounts
          FROM actors a WHERE a.tenant = %(tenant)s AND a.actor_id = %(id)s
        """,
        {"tenant": tenant, "id": actor_id},
    )
    if row is None:
        return None
    person = Person(row["actor_id"], row["name"], tuple(row["groups"]))
    return person, [(team, user) for team, user in row["accounts"]]


async def accounts_of(conn: Conn, tenant: str, *actor_ids: str) -> list[tuple[str, str]]:
    """Return the (team, user) accounts of actors, one actor after the other."""
    rows = await conn.read(
        "SELECT team, account FROM slack_accounts WHERE tenant = %(tenant)s AND actor_id = ANY(%(ids)b)"
        " ORDER BY array_position(%(ids)b, actor_id), team, account",
        {"tenant": tenant, "ids": list(actor_ids)},
    )
    return [(row["team"], row["account"]) for row in rows]


@dataclass(frozen=True)
class Sender:
    """Who is behind a trigger: the actor who wants the run, and the caller that sent it."""

    tenant: str
    requester: str
    caller: str


@dataclass(frozen=True)
class KnownSender:
    """What is known of a sender: the tenant's salt, the (team, user) accounts of both, the name of the requester.

    The requester's accounts come first; `name` is "" where the directory has none.
    """

    salt: str | None
    accounts: Sequence[tuple[str, str]]
    name: str


async def known_senders(conn: Conn, senders: Sequence[Sender]) -> list[KnownSender]:
    """Return what is known of senders, in one read; the salt is None of a tenant that there is not yet."""
    query = """
        SELECT (SELECT salt FROM tenants t WHERE t.tenant = w.tenant) AS salt,
               (SELECT json_agg(json_build_array(team, account)
                                ORDER BY actor_id <> w.requester, team, account)
                  FROM slack_accounts s
                 WHERE s.tenant = w.tenant AND s.actor_id IN (w.requester, w.caller)) AS accounts,
               (SELECT name FROM actors a WHERE (a.tenant, a.actor_id) = (w.tenant, w.requester)) AS name
          FROM unnest(%(tenants)b::text[], %(requesters)b::text[], %(callers)b::text[]) WITH ORDINALITY
               AS w (tenant, requester, caller, number)
         ORDER BY number
    """
    columns = {"tenants": [one.tenant for one in senders], "requesters": [one.requester for one in senders]}
    rows = await conn.read(query, {**columns, "callers": [one.caller for one in senders]})
    return [
        KnownSender(row["salt"], [(team, user) for team, user in row["accounts"] or ()], row["name"] or "")
        for row in rows
    ]


async def reached_accounts_of(conn: Conn, tenant: str, actor_id: str) -> list[tuple[str, str]]:
    """Return the (team, user) accounts at which somebody reads what is sent: not those that are deactivated."""
    query = """
        SELECT s.team, s.account FROM slack_accounts s
         WHERE s.tenant = %s AND s.actor_id = %s
           AND NOT EXISTS (SELECT FROM slack_absentees x
                            WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))
         ORDER BY s.team, s.account
    """
    rows = await conn.rows(query, (tenant, actor_id))
    return [(row["team"], row["account"]) for row in rows]


async def reached_members_of(conn: Conn, tenant: str, group: str, without: str) -> list[str]:
    """Return the Slack users at which the people of a group read what is sent; without that one person's."""
    query = """
        SELECT DISTINCT s.account FROM slack_accounts s JOIN actors a USING (tenant, actor_id)
         WHERE s.tenant = %s AND a.kind = 'person' AND a.groups::jsonb ? %s AND a.actor_id <> %s
           AND NOT EXISTS (SELECT FROM slack_absentees x
                            WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))
         ORDER BY s.account
    """
    rows = await conn.rows(query, (tenant, group, without))
    return [row["account"] for row in rows]


async def accounts_in_groups(
    conn: Conn, tenant: str, groups: Sequence[str], now: datetime, *, without: Sequence[str] = ()
) -> list[str]:
    """Return the Slack users of every person in one of the groups, and of those who now stand in for one there.

    People of `without` are left out, and nobody stands in for them. Accounts that Slack says are deactivated are left
    out: nobody reads what is sent there.
    """
    rows = await conn.read(
        f"""
        WITH asked AS (
            SELECT a.actor_id FROM actors a
             WHERE a.tenant = %(tenant)s AND a.kind = 'person' AND a.groups::jsonb ?| %(groups)s
            UNION
            SELECT p.actor_id FROM delegations d
              JOIN actors a ON a.tenant = d.tenant AND a.actor_id = d.delegator AND a.kind = 'person'
              JOIN actors p ON p.tenant = d.tenant AND p.actor_id = d.delegate AND p.kind = 'person'
             WHERE d.tenant = %(tenant)s AND {HOLDS}
               AND a.actor_id <> ALL(%(without)s)
               AND EXISTS (SELECT FROM jsonb_array_elements_text(a.groups::jsonb) AS g (name)
                            WHERE d.groups::jsonb ? g.name AND g.name = ANY(%(groups)s))
        )
        SELECT DISTINCT s.account FROM slack_accounts s JOIN asked USING (actor_id)
         WHERE s.tenant = %(tenant)s AND s.actor_id <> ALL(%(without)s)
           AND NOT EXISTS (SELECT FROM slack_absentees x
                            WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))
         ORDER BY s.account
        """,  # noqa: S608 - our own condition
        {"tenant": tenant, "groups": list(groups), "now": now, "without": list(without)},
    )
    return [row["account"] for row in rows]


_NOW = "d.ended_at IS NULL AND d.starts_at <= clock_timestamp() AND d.ends_at > clock_timestamp()"
_PEOPLE = f"""
    SELECT a.actor_id AS person, a.name, a.groups,
           (SELECT coalesce(json_agg(s.team || ' ' || s.account ORDER BY s.team, s.account), '[]')
              FROM slack_accounts s WHERE s.tenant = a.tenant AND s.actor_id = a.actor_id) AS slack,
           (SELECT coalesce(json_agg(DISTINCT d.delegator), '[]')
              FROM delegations d WHERE d.tenant = a.tenant AND d.delegate = a.actor_id AND {_NOW}) AS stands_in_for,
           (SELECT coalesce(json_agg(DISTINCT d.delegate), '[]')
              FROM delegations d WHERE d.tenant = a.tenant AND d.delegator = a.actor_id AND {_NOW}) AS delegates
      FROM actors a
     WHERE a.tenant = %(tenant)s AND a.kind = 'person'
       AND (%(group)s::text IS NULL OR a.groups::jsonb ? %(group)s)
       AND (%(person)s::text IS NULL OR a.actor_id = %(person)s)
     ORDER BY a.actor_id
"""  # noqa: S608 - our own clause


async def find_people(conn: Conn, tenant: str, group: str | None, person: str | None) -> list[dict[str, Any]]:
    """Return people by their ids, those of a group or one of them, if that is named."""
    given = {"tenant": tenant, "group": group, "person": person}
    return await conn.rows(_PEOPLE, given)


async def note_account_state(
    conn: Conn, tenant: str, team: str, account: str, now: datetime, *, is_active: bool
) -> bool:
    """Note what Slack says of an account of the directory; return whether that is new."""
    if is_active:
        query = "DELETE FROM slack_absentees WHERE tenant = %s AND team = %s AND account = %s"
        return (await conn.execute(query, (tenant, team, account))).rowcount == 1
    query = """
        INSERT INTO slack_absentees (tenant, team, account, since)
        SELECT %(tenant)s, %(team)s, %(account)s, %(now)s
         WHERE EXISTS (SELECT FROM slack_accounts
                        WHERE tenant = %(tenant)s AND team = %(team)s AND account = %(account)s)
        ON CONFLICT DO NOTHING
    """
    said = {"tenant": tenant, "team": team, "account": account, "now": now}
    return (await conn.execute(query, said)).rowcount == 1


async def is_deactivated(conn: Conn, team: str, account: str) -> bool:
    """Return whether an account is deactivated."""
    query = "SELECT 1 FROM slack_absentees WHERE (team, account) = (%s, %s)"
    return await conn.read_row(query, (team, account)) is not None


async def is_person_deactivated(conn: Conn, tenant: str, person: str) -> bool:
    """Return whether all accounts of a person are deactivated; of somebody who has none, False."""
    query = """
        SELECT bool_and(EXISTS (SELECT FROM slack_absentees x
                                 WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))) AS has_left
          FROM slack_accounts s WHERE s.tenant = %s AND s.actor_id = %s
    """
    row = await conn.read_row(query, (tenant, person))
    return bool(row and row["has_left"])


async def deactivated_people(conn: Conn, tenant: str) -> list[str]:
    """Return the people all of whose accounts are deactivated."""
    query = """
        SELECT s.actor_id FROM slack_accounts s
          LEFT JOIN slack_absentees a ON (a.tenant, a.team, a.account) = (s.tenant, s.team, s.account)
         WHERE s.tenant = %s GROUP BY s.actor_id HAVING bool_and(a.account IS NOT NULL) ORDER BY s.actor_id
    """
    return [row["actor_id"] for row in await conn.rows(query, (tenant,))]
