"""The electorate: whom a request reaches, who may answer which requests, and what has changed since it was opened.

`MAY_DECIDE` says for all requests at once what `approvals.rules.way_to_vote` says of one. Deactivated accounts reach
nobody.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.delegation import AskedPerson, Deputy
from runtime.model.person import Person
from runtime.store.database.pool import Conn
from runtime.store.delegations import HOLDS

# One pass over the accounts, however many people are asked; those that Slack says are deactivated reach nobody.
_ASKED = f"""
    WITH asked AS (
        SELECT a.actor_id, a.name, a.groups FROM actors a
         WHERE a.tenant = %(tenant)s AND a.kind = 'person' AND a.groups::jsonb ?| %(groups)s
    ), standing AS (
        SELECT d.delegator, d.delegation_id, d.recorded_at, d.recorded_by, d.groups, q.actor_id, q.name
          FROM delegations d JOIN asked ON asked.actor_id = d.delegator
          JOIN actors q ON q.tenant = d.tenant AND q.actor_id = d.delegate AND q.kind = 'person'
         WHERE d.tenant = %(tenant)s AND d.delegation_id <> %(without)s
           AND {HOLDS}
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
           (SELECT coalesce(json_object_agg(actor_id, users), '{{}}') FROM reached) AS users
"""  # noqa: S608 - our own condition


@dataclass(frozen=True)
class Electorate:
    """Groups whose people may decide."""

    groups: tuple[str, ...]


async def electorate_of(
    conn: Conn, tenant: str, groups: Sequence[str], now: datetime, *, without: str = ""
) -> list[AskedPerson]:
    """Return the people of the groups, by their ids, with those who may vote for them now.

    `without` leaves out one delegation, by its id.
    """
    given = {"tenant": tenant, "groups": list(groups), "now": now, "without": without}
    found = await conn.read_row(_ASKED, given)
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


def groups_reached(person: str) -> str:
    """Return SQL: the groups of a person (an SQL expression) and of everybody who delegated to them, as an array."""
    return f"""
    ARRAY(SELECT jsonb_array_elements_text(q.groups::jsonb) FROM actors q
           WHERE q.tenant = %(tenant)s AND (q.actor_id = {person} OR q.actor_id IN (
                 SELECT d.delegator FROM delegations d
                  WHERE d.tenant = %(tenant)s AND d.delegate = {person} AND d.ended_at IS NULL)))
    """  # noqa: S608 - our own clauses


_IS_ASKED = "((a.requirement::jsonb -> 'groups') ? g.name OR a.joined::jsonb ? g.name)"


def _vote_clause(who: str) -> str:
    return f"""
    {who}.actor_id NOT IN (r.requested_by, r.submitted_by)
    AND NOT (a.requirement::jsonb -> 'exclude') ? {who}.actor_id
    AND NOT EXISTS (SELECT FROM votes v WHERE v.approval_id = a.approval_id AND v.withdrawn_at IS NULL
                       AND {who}.actor_id IN (v.person, v.delegator))
    AND NOT EXISTS (SELECT FROM slack_accounts s
                     WHERE s.tenant = {who}.tenant AND s.actor_id = {who}.actor_id
                       AND (r.requester_accounts::jsonb @> jsonb_build_array(jsonb_build_array(s.team, s.account))
                            OR EXISTS (SELECT FROM votes v WHERE v.approval_id = a.approval_id
                                          AND v.withdrawn_at IS NULL AND v.team = s.team AND v.account = s.account)))
    """  # noqa: S608 - our own clauses


def _unclaimed_clause(who: str) -> str:
    """Return SQL: nobody else has claimed it who may still answer and has an active account."""
    return f"""
    (a.assignee IS NULL OR a.assignee = {who}.actor_id OR NOT EXISTS (
        SELECT FROM actors c, jsonb_array_elements_text(c.groups::jsonb) AS g (name)
         WHERE c.tenant = a.tenant AND c.actor_id = a.assignee AND c.kind = 'person' AND {_IS_ASKED}
           AND (SELECT bool_and(EXISTS (SELECT FROM slack_absentees x WHERE (x.tenant, x.team, x.account)
                                            = (s.tenant, s.team, s.account)))
                  FROM slack_accounts s WHERE (s.tenant, s.actor_id) = (a.tenant, a.assignee)) IS NOT TRUE))
    """  # noqa: S608 - our own clauses


def _answer_clause(unclaimed: Callable[[str], str]) -> str:
    return f"""
    a.status = 'requested'
    AND (a.kind IN ('in_doubt', 'afterwards') OR coalesce(a.prolonged_until, a.expires_at) > %(now)s)
    AND {_vote_clause("p")}
    AND CASE WHEN EXISTS (SELECT FROM jsonb_array_elements_text(p.groups::jsonb) AS g (name) WHERE {_IS_ASKED})
             THEN {unclaimed("p")}
             ELSE EXISTS (
                SELECT FROM delegations d
                  JOIN actors q ON q.tenant = d.tenant AND q.actor_id = d.delegator AND q.kind = 'person'
                 WHERE d.tenant = p.tenant AND d.delegate = p.actor_id AND {HOLDS}
                   AND d.recorded_by NOT IN (r.requested_by, r.submitted_by)
                   AND NOT (a.requirement::jsonb -> 'exclude') ? d.recorded_by
                   AND EXISTS (SELECT FROM jsonb_array_elements_text(q.groups::jsonb) AS g (name)
                                WHERE d.groups::jsonb ? g.name AND {_IS_ASKED})
                   AND {_vote_clause("q")} AND {unclaimed("q")}) END
    """  # noqa: S608 - our own clauses


MAY_DECIDE = _answer_clause(_unclaimed_clause)
"""What `approvals.rules.way_to_vote` says of one person `p` and one request `a` in its run `r`, for all at once."""
MAY_ANSWER = _answer_clause(lambda _: "true")
"""The same, ignoring that somebody else has claimed the request."""


async def directory_state(conn: Conn, tenant: str, now: datetime) -> str:
    """Return a text that is another once somebody who may decide comes, leaves, or may decide for another."""
    row = await conn.row(
        f"""
        SELECT json_build_array(
            (SELECT json_build_array(digest, version, loaded_at, refreshed_at) FROM directories
              WHERE tenant = %(tenant)s),
            (SELECT json_build_array(count(*), max(since)) FROM slack_absentees WHERE tenant = %(tenant)s),
            (SELECT json_agg(d.delegation_id ORDER BY d.delegation_id) FROM delegations d
              WHERE d.tenant = %(tenant)s AND {HOLDS})
        )::text AS state
        """,  # noqa: S608 - our own condition
        {"tenant": tenant, "now": now},
    )
    return str(row["state"]) if row else ""


_OPEN = """
    SELECT a.approval_id, a.run_id, a.requirement, a.shortfall, r.requested_by, r.submitted_by,
           (SELECT coalesce(json_agg(person), '[]') FROM (
                SELECT DISTINCT ON (1) leaf->'data'->>'person' AS person, leaf->>'event' AS event
                  FROM leaf_sets s CROSS JOIN json_array_elements(s.leaves) WITH ORDINALITY AS l (leaf, place)
                 WHERE s.run_id = a.run_id AND leaf->>'event' IN ('vote.lapsed', 'vote.restored')
                   AND leaf->'data'->>'approval_id' = a.approval_id
                 ORDER BY 1, s.first_seq DESC, place DESC) AS said
             WHERE event = 'vote.lapsed') AS lapsed
      FROM approvals a JOIN runs r USING (run_id)
     WHERE a.tenant = %s AND a.status = 'requested'
"""


async def open_requests(conn: Conn, tenant: str, after: str, limit: int) -> list[dict[str, Any]]:
    """Return open requests by their ids, with the people whose votes are on record as lapsed."""
    query = f"{_OPEN} AND a.approval_id > %s ORDER BY a.approval_id LIMIT %s"
    return await conn.rows(query, (tenant, after, limit))


async def open_request(conn: Conn, tenant: str, approval_id: str) -> dict[str, Any] | None:
    """Return one of them, or None where it is not open."""
    return await conn.row(f"{_OPEN} AND a.approval_id = %s", (tenant, approval_id))


async def set_shortfall(conn: Conn, approval_id: str, why: str) -> None:
    """Keep why nobody can fulfil an open request, "" where people can."""
    await conn.execute("UPDATE approvals SET shortfall = %s WHERE approval_id = %s", (why, approval_id))


async def request_after(conn: Conn, approval_id: str) -> str:
    """Return the request about the same effect that was asked next, "" where none was."""
    row = await conn.row(
        """
        SELECT n.approval_id FROM approvals a JOIN approvals n USING (effect_id)
         WHERE a.approval_id = %s AND n.kind = 'effect' AND n.approval_id <> a.approval_id
           AND n.requested_at >= a.decided_at
         ORDER BY n.requested_at, n.approval_id LIMIT 1
        """,
        (approval_id,),
    )
    return str(row["approval_id"]) if row else ""


async def outgrown_voters(conn: Conn, effect_id: str, approval_id: str) -> Sequence[str]:
    """Return who approved the request that a new one took the place of, since policy asks for more; none otherwise."""
    rows = await conn.rows(
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
    return [row["person"] for row in rows]
