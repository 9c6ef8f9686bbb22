"""Delegations: each is written once, ended at most once, and never goes away."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.model.delegation import Delegate, Delegation, StandIn, given_by
from runtime.model.person import Person
from runtime.store.database.pool import Conn

HOLDS = "d.ended_at IS NULL AND d.starts_at <= %(now)s AND d.ends_at > %(now)s"
_SELF = ", ".join(f"d.{name}" for name in Delegation.__dataclass_fields__)
_ALL = f"""
    SELECT {_SELF}, d.recorded_at, d.ended_at, d.ended_by, d.ended_reason
      FROM delegations d WHERE d.tenant = %(tenant)s
"""  # noqa: S608 - our own columns

GROUPS_NOW = """
    CASE WHEN v.verdict <> 'approve' THEN v.groups
         WHEN v.delegator IS NULL THEN coalesce(p.groups, '[]'::json)
         ELSE coalesce((SELECT json_agg(g.name) FROM actors q, jsonb_array_elements_text(q.groups::jsonb) AS g (name)
                         WHERE q.tenant = r.tenant AND q.actor_id = v.delegator AND v.groups::jsonb ? g.name
                           AND p.actor_id IS NOT NULL), '[]'::json) END
"""
"""The groups for which the vote `v` of the actor `p` in the run `r` counts now: of those that a delegation gave then,
the ones that the delegator is still in, as long as the delegate is still known. A no keeps those with which it was
given: by them it ended the request, or did not."""


async def stand_ins_of(conn: Conn, tenant: str, delegate: str, now: datetime) -> list[StandIn]:
    """Return for whom a person may vote now, in the order in which that was recorded."""
    (found,) = await stand_ins_of_all(conn, [Delegate(tenant, delegate)])
    return [stand_in for stand_in in found if stand_in.delegation.covers(now)]


async def stand_ins_of_all(conn: Conn, wanted: Sequence[Delegate]) -> list[list[StandIn]]:
    """Return, of many people in one read, by which delegations each votes now, did, or will, in their order.

    Left out is what somebody has ended.
    """
    rows = await conn.read(
        f"""
        SELECT d.tenant, {_SELF}, q.name AS delegator_name, q.groups AS delegator_groups,
               (SELECT coalesce(json_agg(json_build_array(s.team, s.account) ORDER BY s.team, s.account), '[]')
                  FROM slack_accounts s WHERE s.tenant = d.tenant AND s.actor_id = d.delegator) AS accounts
          FROM delegations d
          JOIN actors q ON q.tenant = d.tenant AND q.actor_id = d.delegator AND q.kind = 'person'
         WHERE (d.tenant, d.delegate) IN (SELECT * FROM unnest(%(tenants)b::text[], %(delegates)b::text[]))
           AND d.ended_at IS NULL
         ORDER BY d.recorded_at, d.delegation_id
        """,  # noqa: S608 - our own columns
        {"tenants": [one.tenant for one in wanted], "delegates": [one.person for one in wanted]},
    )
    found: dict[Delegate, list[StandIn]] = {one: [] for one in wanted}
    for row in rows:
        found[Delegate(row["tenant"], row["delegate"])].append(_stand_in(row))
    return [found[one] for one in wanted]


async def stand_ins_in(conn: Conn, tenant: str, groups: Sequence[str], now: datetime) -> list[tuple[str, str]]:
    """Return by their names who may now vote for whom in these groups, and is in none of them: a few, by name."""
    rows = await conn.read(
        f"""
        SELECT DISTINCT p.name AS delegate, q.name AS delegator FROM delegations d
          JOIN actors q ON q.tenant = d.tenant AND q.actor_id = d.delegator AND q.kind = 'person'
          JOIN actors p ON p.tenant = d.tenant AND p.actor_id = d.delegate AND p.kind = 'person'
         WHERE d.tenant = %(tenant)s AND {HOLDS} AND NOT p.groups::jsonb ?| %(groups)s
           AND EXISTS (SELECT FROM jsonb_array_elements_text(q.groups::jsonb) AS g (name)
                        WHERE d.groups::jsonb ? g.name AND g.name = ANY(%(groups)s))
         ORDER BY delegate, delegator LIMIT 5
        """,  # noqa: S608 - our own condition
        {"tenant": tenant, "groups": list(groups), "now": now},
    )
    return [(row["delegate"], row["delegator"]) for row in rows]


async def add_delegation(conn: Conn, tenant: str, new: Delegation, now: datetime) -> None:
    """Write a delegation."""
    await conn.execute(
        """
        INSERT INTO delegations (delegation_id, tenant, delegator, delegate, groups, starts_at, ends_at, recorded_by,
                                 reason, recorded_at)
        VALUES (%(delegation_id)s, %(tenant)s, %(delegator)s, %(delegate)s, %(groups)s, %(starts_at)s, %(ends_at)s,
                %(recorded_by)s, %(reason)s, %(now)s)
        """,
        {**vars(new), "groups": json.dumps(list(new.groups)), "tenant": tenant, "now": now},
    )


async def end_delegation(conn: Conn, delegation_id: str, by: str, reason: str, now: datetime) -> bool:
    """Compare and set: end a delegation. False if somebody has ended it before."""
    done = await conn.execute(
        "UPDATE delegations SET ended_at = %s, ended_by = %s, ended_reason = %s"
        " WHERE delegation_id = %s AND ended_at IS NULL",
        (now, by, reason, delegation_id),
    )
    return done.rowcount == 1


async def find_delegation(conn: Conn, tenant: str, delegation_id: str) -> Delegation | None:
    """Return a delegation that nobody has ended, or None."""
    query = f"{_ALL} AND d.delegation_id = %(id)s AND d.ended_at IS NULL"
    row = await conn.row(query, {"tenant": tenant, "id": delegation_id})
    return delegation_of(row) if row else None


async def list_delegations(conn: Conn, tenant: str, person: str | None, *, over: bool) -> list[dict[str, Any]]:
    """Return delegations, newest first: of a person, from or to them; with `over` also those that hold no more."""
    query = f"""
        {_ALL} AND (%(person)s::text IS NULL OR %(person)s IN (d.delegator, d.delegate))
           AND (%(over)s OR d.ended_at IS NULL AND d.ends_at > clock_timestamp())
         ORDER BY d.recorded_at DESC, d.delegation_id
    """
    return await conn.rows(query, {"tenant": tenant, "person": person, "over": over})


def delegation_of(row: Mapping[str, Any]) -> Delegation:
    """Return the delegation that a row has."""
    said = {name: row[name] for name in Delegation.__dataclass_fields__}
    return Delegation(**{**said, "groups": tuple(row["groups"])})


def _stand_in(row: Mapping[str, Any]) -> StandIn:
    delegation = delegation_of(row)
    groups = given_by(delegation, row["delegator_groups"])
    delegator = Person(delegation.delegator, row["delegator_name"], groups)
    return StandIn(delegation, delegator, [(team, account) for team, account in row["accounts"]])
