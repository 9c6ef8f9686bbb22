"""Whom a request reaches, read at once."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.model.actor import Person
from runtime.model.approval_reach import Asked, Deputy
from runtime.store.database.pool import Conn

# One pass over the accounts, however many people are asked; those that Slack says are deactivated reach nobody.
_ASKED = """
    WITH asked AS (
        SELECT a.actor_id, a.name, a.groups FROM actors a
         WHERE a.tenant = %(tenant)s AND a.kind = 'person' AND a.groups::jsonb ?| %(groups)s
    ), standing AS (
        SELECT d.delegator, d.delegation_id, d.recorded_at, d.recorded_by, d.groups, q.actor_id, q.name
          FROM delegations d JOIN asked ON asked.actor_id = d.delegator
          JOIN actors q ON q.tenant = d.tenant AND q.actor_id = d.delegate AND q.kind = 'person'
         WHERE d.tenant = %(tenant)s AND d.delegation_id <> %(without)s
           AND d.ended_at IS NULL AND d.starts_at <= %(now)s AND d.ends_at > %(now)s
    ), reached AS (
        SELECT s.actor_id, json_agg(DISTINCT s.account ORDER BY s.account) AS users FROM slack_accounts s
         WHERE s.tenant = %(tenant)s
           AND NOT EXISTS (SELECT FROM slack_absentees x
                            WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))
           AND s.actor_id = ANY(ARRAY(SELECT actor_id FROM asked UNION SELECT actor_id FROM standing))
         GROUP BY s.actor_id
    )
    SELECT (SELECT coalesce(json_agg(asked ORDER BY actor_id), '[]') FROM asked) AS asked,
           (SELECT coalesce(json_agg(standing ORDER BY recorded_at, delegation_id), '[]') FROM standing) AS standing,
           (SELECT coalesce(json_object_agg(actor_id, users), '{}') FROM reached) AS users
"""


async def asked_in(conn: Conn, tenant: str, groups: Sequence[str], now: datetime, *, without: str = "") -> list[Asked]:
    """Return the people of the groups, by their ids, with those who may vote for them now.

    `without` leaves out one delegation, by its id.
    """
    given = {"tenant": tenant, "groups": list(groups), "now": now, "without": without}
    found = await (await conn.execute(_ASKED.encode(), given)).fetchone()
    if found is None:
        raise LookupError("a statement of aggregates gives one row")
    deputies: dict[str, list[Mapping[str, Any]]] = {}
    for one in found["standing"]:
        deputies.setdefault(one["delegator"], []).append(one)
    return [_asked(one, deputies.get(one["actor_id"], ()), found["users"]) for one in found["asked"]]


def _asked(row: Mapping[str, Any], deputies: Sequence[Mapping[str, Any]], users: Mapping[str, list[str]]) -> Asked:
    person = Person(row["actor_id"], row["name"], tuple(row["groups"]))
    standing = (_deputy(one, person.groups, users.get(one["actor_id"], [])) for one in deputies)
    return Asked(person, tuple(users.get(person.id, [])), tuple(standing))


def _deputy(said: Mapping[str, Any], groups: Sequence[str], users: Sequence[str]) -> Deputy:
    given = tuple(group for group in groups if group in said["groups"])
    return Deputy(said["actor_id"], said["name"], said["recorded_by"], given, tuple(users))
