"""The electorate: whom a request reaches, who may answer which requests, and what has changed since it was opened.

`MAY_ANSWER` says for all requests at once what `approvals.standing_in.way_to_vote` says of one. Deactivated accounts
reach nobody.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.model.delegation import AskedPerson, Deputy
from runtime.model.person import Person
from runtime.store.database.pool import Conn
from runtime.store.delegations import STANDS_IN

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


async def electorate_of(
    conn: Conn, tenant: str, groups: Sequence[str], now: datetime, *, without: str = ""
) -> list[AskedPerson]:
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


def _asked(
    row: Mapping[str, Any], deputies: Sequence[Mapping[str, Any]], users: Mapping[str, list[str]]
) -> AskedPerson:
    person = Person(row["actor_id"], row["name"], tuple(row["groups"]))
    standing = (_deputy(one, person.groups, users.get(one["actor_id"], [])) for one in deputies)
    return AskedPerson(person, tuple(users.get(person.id, [])), tuple(standing))


def _deputy(said: Mapping[str, Any], groups: Sequence[str], users: Sequence[str]) -> Deputy:
    given = tuple(group for group in groups if group in said["groups"])
    return Deputy(said["actor_id"], said["name"], said["recorded_by"], given, tuple(users))


# What `approvals.standing_in.way_to_vote` says of one approval, for all of them at once; who has claimed it, apart.
MAY_ANSWER = f"""
    a.status = 'requested'
    AND (a.kind IN ('in_doubt', 'afterwards') OR coalesce(a.prolonged_until, a.expires_at) > %(now)s)
    AND p.actor_id NOT IN (r.requested_by, r.submitted_by)
    AND NOT (a.requirement::jsonb -> 'exclude') ? p.actor_id
    AND (EXISTS (SELECT 1 FROM jsonb_array_elements_text(p.groups::jsonb) AS g (name)
                  WHERE (a.requirement::jsonb -> 'groups') ? g.name
                     OR a.joined::jsonb ? g.name)
         OR {STANDS_IN})
    AND NOT EXISTS (SELECT 1 FROM votes v WHERE v.approval_id = a.approval_id AND v.withdrawn_at IS NULL
                       AND p.actor_id IN (v.person, v.delegator))
    AND NOT EXISTS (SELECT 1 FROM slack_accounts s
                     WHERE s.tenant = p.tenant AND s.actor_id = p.actor_id
                       AND (EXISTS (SELECT 1 FROM jsonb_array_elements(r.requester_accounts::jsonb) AS own (account)
                                     WHERE own.account = jsonb_build_array(s.team, s.account))
                            OR EXISTS (SELECT 1 FROM votes v WHERE v.approval_id = a.approval_id
                                          AND v.withdrawn_at IS NULL AND v.team = s.team AND v.account = s.account)))
"""  # noqa: S608 - our own clauses
# Nobody else has claimed it who may still answer, and has an account with which to.
IS_FREE = """
    (a.assignee IS NULL OR a.assignee = p.actor_id OR EXISTS (
        SELECT 1 FROM delegations d WHERE d.tenant = p.tenant AND d.delegate = p.actor_id
           AND d.delegator = a.assignee AND d.ended_at IS NULL
           AND d.starts_at <= %(now)s AND d.ends_at > %(now)s) OR NOT EXISTS (
        SELECT 1 FROM actors holder, jsonb_array_elements_text(holder.groups::jsonb) AS g (name)
         WHERE holder.tenant = a.tenant AND holder.actor_id = a.assignee
           AND ((a.requirement::jsonb -> 'groups') ? g.name OR a.joined::jsonb ? g.name)
           AND (NOT EXISTS (SELECT FROM slack_accounts s WHERE (s.tenant, s.actor_id) = (a.tenant, a.assignee))
                OR EXISTS (SELECT FROM slack_accounts s WHERE (s.tenant, s.actor_id) = (a.tenant, a.assignee)
                              AND NOT EXISTS (SELECT FROM slack_absentees x WHERE (x.tenant, x.team, x.account)
                                                    = (s.tenant, s.team, s.account))))))
"""


async def directory_state(conn: Conn, tenant: str, now: datetime) -> str:
    """Return a text that is another once somebody who may decide comes, leaves, or may decide for another."""
    row = await (
        await conn.execute(
            """
            SELECT json_build_array(
                (SELECT json_build_array(digest, version, loaded_at, refreshed_at) FROM directories
                  WHERE tenant = %(tenant)s),
                (SELECT json_build_array(count(*), max(since)) FROM slack_absentees WHERE tenant = %(tenant)s),
                (SELECT json_agg(delegation_id ORDER BY delegation_id) FROM delegations
                  WHERE tenant = %(tenant)s AND ended_at IS NULL AND starts_at <= %(now)s AND ends_at > %(now)s)
            )::text AS state
            """,
            {"tenant": tenant, "now": now},
        )
    ).fetchone()
    return str(row["state"]) if row else ""


_OPEN = """
    SELECT a.approval_id, a.run_id, a.requirement, a.shortfall, r.requested_by, r.submitted_by,
           (SELECT coalesce(json_agg(person), '[]') FROM (
                SELECT DISTINCT ON (1) l.leaf->'data'->>'person' AS person, l.leaf->>'event' AS event
                  FROM audit_leaves l
                 WHERE l.run_id = a.run_id AND l.leaf->>'event' IN ('vote.lapsed', 'vote.restored')
                   AND l.leaf->'data'->>'approval_id' = a.approval_id
                 ORDER BY 1, l.seq DESC) AS said
             WHERE event = 'vote.lapsed') AS lapsed
      FROM approvals a JOIN runs r USING (run_id)
     WHERE a.tenant = %s AND a.status = 'requested'
"""


async def open_requests(conn: Conn, tenant: str, after: str, limit: int) -> list[dict[str, Any]]:
    """Return open requests by their ids, with the people whose votes are on record as lapsed."""
    query = f"{_OPEN} AND a.approval_id > %s ORDER BY a.approval_id LIMIT %s"
    return await (await conn.execute(query.encode(), (tenant, after, limit))).fetchall()


async def open_request(conn: Conn, tenant: str, approval_id: str) -> dict[str, Any] | None:
    """Return one of them, or None where it is not open."""
    return await (await conn.execute(f"{_OPEN} AND a.approval_id = %s".encode(), (tenant, approval_id))).fetchone()


async def set_shortfall(conn: Conn, approval_id: str, why: str) -> None:
    """Keep why nobody can fulfil an open request, "" where people can."""
    await conn.execute("UPDATE approvals SET shortfall = %s WHERE approval_id = %s", (why, approval_id))


async def request_after(conn: Conn, approval_id: str) -> str:
    """Return the request about the same effect that was asked next, "" where none was."""
    row = await (
        await conn.execute(
            """
            SELECT n.approval_id FROM approvals a JOIN approvals n USING (effect_id)
             WHERE a.approval_id = %s AND n.kind = 'effect' AND n.approval_id <> a.approval_id
               AND n.requested_at >= a.decided_at
             ORDER BY n.requested_at, n.approval_id LIMIT 1
            """,
            (approval_id,),
        )
    ).fetchone()
    return str(row["approval_id"]) if row else ""


async def outgrown_voters(conn: Conn, effect_id: str, approval_id: str) -> Sequence[str]:
    """Return who approved the request that a new one took the place of, since policy asks for more; none otherwise."""
    rows = await (
        await conn.execute(
            """
            SELECT DISTINCT v.person FROM votes v
             WHERE v.withdrawn_at IS NULL AND v.approval_id = (
                SELECT approval_id FROM approvals
                 WHERE effect_id = %s AND kind = 'effect' AND approval_id <> %s
                 ORDER BY requested_at DESC, approval_id DESC LIMIT 1)
               AND EXISTS (SELECT FROM approvals a
                            WHERE a.approval_id = v.approval_id AND a.result->>'code' = 'outgrown')
             ORDER BY v.person
            """,
            (effect_id, approval_id),
        )
    ).fetchall()
    return [row["person"] for row in rows]
