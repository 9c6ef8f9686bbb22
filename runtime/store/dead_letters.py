"""Dead letters under a key: whether one stands there, and how many came lately."""

from datetime import datetime

from runtime.store.database.pool import Conn


async def has_dead_letter(conn: Conn, tenant: str, correlation_key: str) -> bool:
    """Return whether a dead letter stands under the key that nobody has had looked at again."""
    query = (
        "SELECT 1 FROM notifications WHERE tenant = %s AND correlation_key = %s"
        " AND status IN ('dead_letter', 'dropped') LIMIT 1"
    )
    return await conn.row(query, (tenant, correlation_key)) is not None


async def count_dead_letters(conn: Conn, tenant: str, correlation_key: str, since: datetime, most: int) -> int:
    """Return how many dead letters since then stand under the key, as far as `most`."""
    query = """
        SELECT count(*) FROM (
            SELECT FROM notifications
             WHERE tenant = %s AND correlation_key = %s AND status = 'dead_letter' AND received_at > %s
             LIMIT %s) dead_letters
    """
    row = await conn.row(query, (tenant, correlation_key, since, most))
    return row["count"] if row else 0
