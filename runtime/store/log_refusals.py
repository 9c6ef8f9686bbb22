"""What a run's chain says already of wishes that were refused."""

from runtime.store.database.pool import Conn


async def is_refused(conn: Conn, run_id: str, actor: str, code: str, step: str | None) -> bool:
    """Return whether a `notification.refused` of this person, step and code is on record; the caller holds the run."""
    found = await conn.execute(
        """
        SELECT FROM audit_leaves
         WHERE run_id = %s AND leaf ->> 'event' = 'notification.refused' AND leaf -> 'actor' ->> 'id' = %s
           AND leaf -> 'data' ->> 'code' = %s AND leaf -> 'correlation' ->> 'step' IS NOT DISTINCT FROM %s
         LIMIT 1
        """,
        (run_id, actor, code, step),
    )
    return await found.fetchone() is not None
