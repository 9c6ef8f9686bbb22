"""What a tenant's chain says of attempts that were refused."""

from datetime import datetime
from typing import Any

from receipts.refused import CommandRefused, DelegationRefused, RequestRefused
from runtime.store.database.pool import Conn

_EVENTS = [CommandRefused.event, DelegationRefused.event, RequestRefused.event]


async def refusals_between(conn: Conn, tenant: str, since: datetime, until: datetime) -> list[dict[str, Any]]:
    """Return number and leaf of each refusal that was recorded from one moment until before another, oldest first."""
    query = """
        SELECT seq, leaf FROM tenant_leaves
         WHERE tenant = %s AND leaf ->> 'event' = ANY(%s)
           AND (leaf ->> 'at')::timestamptz >= %s AND (leaf ->> 'at')::timestamptz < %s
         ORDER BY seq
    """
    return await (await conn.execute(query, (tenant, _EVENTS, since, until))).fetchall()
