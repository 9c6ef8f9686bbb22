"""People as the directory has them, with whom they stand in for now."""

from typing import Any

from runtime.store.database.pool import Conn

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
    return await (await conn.execute(_PEOPLE.encode(), given)).fetchall()
