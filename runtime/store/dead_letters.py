"""Dead letters under a key: whether one stands there, how many came lately, and what a letter left unsent."""

from datetime import datetime
from typing import Any

from runtime.model.subscription import CONNECTOR
from runtime.store.database.pool import Conn


async def has_dead_letter(conn: Conn, tenant: str, correlation_key: str) -> bool:
    """Return whether a dead letter stands under the key that nobody has had looked at again."""
    query = (
        "SELECT 1 FROM notifications WHERE tenant = %s AND correlation_key = %s"
        " AND status IN ('dead_letter', 'dropped') LIMIT 1"
    )
    return await conn.row(query, (tenant, correlation_key)) is not None


async def count_all(conn: Conn, tenant: str, correlation_key: str) -> int:
    """Return how many notifications there have been under the key."""
    query = "SELECT count(*) AS n FROM notifications WHERE tenant = %s AND correlation_key = %s"
    row = await conn.row(query, (tenant, correlation_key))
    return row["n"] if row else 0


async def unsent_with(conn: Conn, letter_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Return what else was to be sent for a subscription that this letter ended, with the letter's correlation key.

    Each has run_id, effect_id and subscription, as a delivery's payload has. Some have a letter already: recorded
    under `letter_key` once more, they are repeats.
    """
    query = """
        SELECT l.correlation_key, e.run_id, e.effect_id, e.fields ->> 'subscription' AS subscription
          FROM notifications l
          JOIN effects e ON e.tenant = l.tenant AND e.purpose = 'message' AND e.connector = %s
                        AND e.status IN ('failed', 'rejected')
         WHERE l.notification_id = %s AND l.kind = 'delivery'
           AND l.correlation_key = 'gone:' || (e.fields ->> 'subscription') || ':' || (e.fields ->> 'configuration')
           AND NOT EXISTS (SELECT FROM notifications o WHERE o.correlation_key = l.correlation_key
                              AND o.payload ->> 'effect_id' = e.effect_id)
         ORDER BY e.created_at, e.effect_id
    """
    return [(row.pop("correlation_key"), row) for row in await conn.rows(query, (CONNECTOR, letter_id))]


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
