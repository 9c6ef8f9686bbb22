"""Circuit breakers of connectors and targets, shared by all workers.

A row exists only where something failed.
"""

from datetime import datetime
from typing import Any

from runtime.model.circuit_breaker import Breaker, after_failure
from runtime.store.database.pool import Conn

Scope = tuple[str, str]
"""A connector, and one of its targets, or "" for the connector as a whole."""


async def record_failure(conn: Conn, tenant: str, scope: Scope, now: datetime) -> Breaker:
    """Count one more failure and return the breaker after it."""
    async with conn.transaction():
        await conn.execute(
            "INSERT INTO circuit_breakers (tenant, connector, target, failures, failed_at) VALUES (%s, %s, %s, 0, %s)"
            " ON CONFLICT DO NOTHING",
            (tenant, *scope, now),
        )
        row = await conn.row(
            "SELECT failures, failed_at, open_until FROM circuit_breakers"
            " WHERE tenant = %s AND connector = %s AND target = %s FOR UPDATE",
            (tenant, *scope),
        )
        breaker = after_failure(Breaker(**row) if row else None, now)
        await conn.execute(
            "UPDATE circuit_breakers SET failures = %s, failed_at = %s, open_until = %s"
            " WHERE tenant = %s AND connector = %s AND target = %s",
            (breaker.failures, breaker.failed_at, breaker.open_until, tenant, *scope),
        )
    return breaker


async def close_breakers(conn: Conn, tenant: str, scope: Scope) -> None:
    """Close the breakers of a connector and of the target that has just answered."""
    connector, target = scope
    await conn.execute(
        "DELETE FROM circuit_breakers WHERE tenant = %s AND connector = %s AND target IN ('', %s)",
        (tenant, connector, target),
    )


async def failing_breakers(conn: Conn, tenant: str) -> dict[Scope, Breaker]:
    """Return every breaker that has counted a failure."""
    rows = await conn.rows(
        "SELECT connector, target, failures, failed_at, open_until FROM circuit_breakers WHERE tenant = %s"
        " ORDER BY connector, target",
        (tenant,),
    )
    return {(row["connector"], row["target"]): _breaker(row) for row in rows}


def _breaker(row: dict[str, Any]) -> Breaker:
    return Breaker(row["failures"], row["failed_at"], row["open_until"])
