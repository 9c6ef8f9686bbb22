"""How the deliveries to a tenant's subscribers stand."""

from collections.abc import Sequence
from typing import Any

from runtime.model.subscription import CONNECTOR, Subscription
from runtime.store.database.pool import Conn
from runtime.store.notifications import is_answered_by_letter


async def list_subscriptions(conn: Conn, tenant: str, declared: Sequence[Subscription]) -> list[dict[str, Any]]:
    """Return each subscription: whether it is sent to, and how many deliveries wait, or are dead letters."""
    return [await _one(conn, tenant, one) for one in declared]


async def _one(conn: Conn, tenant: str, one: Subscription) -> dict[str, Any]:
    query = """
        SELECT (SELECT count(*) FROM effects
                 WHERE tenant = %(tenant)s AND purpose = 'message' AND connector = %(connector)s
                   AND status IN ('pending', 'leased', 'held', 'in_doubt') AND fields ->> 'subscription' = %(name)s)
                   AS waiting,
               (SELECT count(*) FROM notifications
                 WHERE tenant = %(tenant)s AND status = 'dead_letter' AND kind = 'delivery'
                   AND payload ->> 'subscription' = %(name)s) AS letters
    """
    values = {"tenant": tenant, "connector": CONNECTOR, "name": one.name}
    counts = await (await conn.execute(query, values)).fetchone()
    return {
        "name": one.name,
        "on": sorted(one.on),
        "target": one.target,
        "sends": not await is_answered_by_letter(conn, tenant, one.gone_key),
        **(counts or {}),
    }
