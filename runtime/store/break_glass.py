"""Break-glass: how often a person used it, and what a review of it is about.

Whoever counts takes the lock, so that the count stays true.
"""

from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn


async def lock_break_glass_count(conn: Conn, tenant: str, person: str) -> None:
    """Let no other transaction count this person's uses of break-glass before this one ends."""
    await conn.read("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"break_glass:{tenant}:{person}",))


async def count_break_glass(conn: Conn, tenant: str, person: str, since: datetime) -> int:
    """Return how often the person has done without the others after a moment."""
    row = await conn.read_row(
        "SELECT count(*) AS n FROM votes v JOIN approvals a USING (approval_id)"
        " WHERE v.person = %s AND v.break_glass IS NOT NULL AND v.at > %s AND a.tenant = %s",
        (person, since, tenant),
    )
    return int(row["n"]) if row else 0


async def break_glass_of(conn: Conn, review_id: str) -> dict[str, Any] | None:
    """Return of a review who used break-glass (`person`, `name`), by which `ticket`, and which groups heard of it."""
    return await conn.row(
        """
        SELECT v.person, v.person_name AS name, v.break_glass ->> 'ticket' AS ticket,
               o.requirement::jsonb -> 'break_glass' -> 'tell' AS tell
          FROM approvals a
          JOIN approvals o ON o.effect_id = a.effect_id AND o.kind = 'effect' AND o.decided_at = a.requested_at
          JOIN votes v ON v.approval_id = o.approval_id AND v.break_glass IS NOT NULL
         WHERE a.approval_id = %s
        """,
        (review_id,),
    )


async def late_reviews(conn: Conn, tenant: str, now: datetime, limit: int) -> list[dict[str, Any]]:
    """Return break-glass reviews that are late: `approval_id`, `run_id`, and how often its time has passed (`nth`).

    Left out are those of which that has been told. `tell` are the groups that hear of it beside those who are asked.
    """
    return await conn.rows(
        """
        SELECT a.approval_id, a.run_id, late.nth, o.requirement::jsonb -> 'break_glass' -> 'tell' AS tell
          FROM approvals a
          JOIN approvals o ON o.effect_id = a.effect_id AND o.kind = 'effect' AND o.decided_at = a.requested_at,
               LATERAL (SELECT floor(extract(epoch FROM %(now)s - a.requested_at)
                                     / extract(epoch FROM a.expires_at - a.requested_at))::int AS nth) late
         WHERE a.tenant = %(tenant)s AND a.status = 'requested' AND a.kind = 'afterwards'
           AND a.expires_at <= %(now)s
           AND NOT EXISTS (SELECT 1 FROM marks m WHERE m.approval_id = a.approval_id AND m.mark = 'reminded'
                            AND m.who = 'late:' || late.nth)
         ORDER BY a.expires_at LIMIT %(limit)s
        """,
        {"tenant": tenant, "now": now, "limit": limit},
    )
