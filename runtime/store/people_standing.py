"""What open requests depend on in the directory, and what was said of that before."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn


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
