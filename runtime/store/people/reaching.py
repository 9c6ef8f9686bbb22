"""Whom a request reaches, read at once."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.model.actor import Person
from runtime.model.approvals.reach import Asked, Deputy
from runtime.store.database.pool import Conn

_USERS = """
    (SELECT coalesce(json_agg(DISTINCT s.account ORDER BY s.account), '[]') FROM slack_accounts s
      WHERE s.tenant = a.tenant AND s.actor_id = {of}.actor_id
        AND NOT EXISTS (SELECT FROM slack_absentees x
                         WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account)))
"""
"""The Slack users of an actor, but for accounts that Slack says are deactivated."""


async def asked_in(conn: Conn, tenant: str, groups: Sequence[str], now: datetime) -> list[Asked]:
    """Return the people of the groups, by their ids, with those who may vote for them now."""
    rows = await (
        await conn.execute(
            f"""
            SELECT a.actor_id, a.name, a.groups, {_USERS.format(of="a")} AS users,
                   (SELECT coalesce(json_agg(json_build_object(
                               'id', q.actor_id, 'name', q.name, 'recorded_by', d.recorded_by, 'groups', d.groups,
                               'users', {_USERS.format(of="q")}) ORDER BY d.recorded_at, d.delegation_id), '[]')
                      FROM delegations d
                      JOIN actors q ON q.tenant = d.tenant AND q.actor_id = d.delegate AND q.kind = 'person'
                     WHERE d.tenant = a.tenant AND d.delegator = a.actor_id AND d.ended_at IS NULL
                       AND d.starts_at <= %(now)s AND d.ends_at > %(now)s) AS deputies
              FROM actors a
             WHERE a.tenant = %(tenant)s AND a.kind = 'person' AND a.groups::jsonb ?| %(groups)s
             ORDER BY a.actor_id
            """.encode(),  # noqa: S608 - our own clauses
            {"tenant": tenant, "groups": list(groups), "now": now},
        )
    ).fetchall()
    return [_asked(row) for row in rows]


def _asked(row: Mapping[str, Any]) -> Asked:
    person = Person(row["actor_id"], row["name"], tuple(row["groups"]))
    return Asked(person, tuple(row["users"]), tuple(_deputy(one, person.groups) for one in row["deputies"]))


def _deputy(said: Mapping[str, Any], groups: Sequence[str]) -> Deputy:
    given = tuple(group for group in groups if group in said["groups"])
    return Deputy(said["id"], said["name"], said["recorded_by"], given, tuple(said["users"]))
