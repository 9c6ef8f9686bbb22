"""Refusals: how often a person's click was refused, and what the chains of runs and tenants say of refused attempts.

Refused clicks are counted by person, request and reason, so that clicks do not lengthen a chain without bound.
"""

from datetime import datetime
from typing import Any

from receipts.acts import REFUSED_ACTS
from runtime.store.database.pool import Conn


async def count_refusal(conn: Conn, approval_id: str, who: str, code: str) -> int:
    """Count one more refusal; return the how manieth it is of this person, about this request, for this reason."""
    row = await conn.row(
        """
        INSERT INTO refusals (approval_id, who, code, times) VALUES (%s, %s, %s, 1)
        ON CONFLICT (approval_id, who, code) DO UPDATE SET times = refusals.times + 1 RETURNING times
        """,
        (approval_id, who, code),
    )
    if row is None:
        raise LookupError("a statement that writes one row gives it back")
    return int(row["times"])


async def is_refused(conn: Conn, run_id: str, actor: str, code: str, step: str | None) -> bool:
    """Return whether a `notification.refused` of this person, step and code is on record; the caller holds the run."""
    found = await conn.execute(
        """
        SELECT FROM leaf_sets CROSS JOIN json_array_elements(leaves) AS leaf
         WHERE run_id = %s AND leaf ->> 'event' = 'notification.refused' AND leaf -> 'actor' ->> 'id' = %s
           AND leaf -> 'data' ->> 'code' = %s AND leaf ->> 'step' IS NOT DISTINCT FROM %s
         LIMIT 1
        """,
        (run_id, actor, code, step),
    )
    return await found.fetchone() is not None


async def refusals_between(conn: Conn, tenant: str, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return number and leaf of each refusal that was recorded from one moment until before another, oldest first."""
    query = """
        SELECT seq, leaf FROM tenant_leaves
         WHERE tenant = %s AND leaf ->> 'event' = ANY(%s)
           AND (leaf ->> 'at')::timestamptz >= %s AND (leaf ->> 'at')::timestamptz < %s
         ORDER BY seq
    """
    return await conn.rows(query, (tenant, list(REFUSED_ACTS), since, until))
