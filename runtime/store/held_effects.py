"""Effects that are held."""

from dataclasses import dataclass

from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class Held:
    """Effects that wait for somebody to mend the same thing outside."""

    operation: str  # with its connector: ``slack::post_card``
    target: str
    error: str  # what the other side said last
    count: int


async def list_held_effects(conn: Conn, tenant: str) -> list[Held]:
    """Return what the tenant's effects are held for, the most frequent first."""
    rows = await (
        await conn.execute(
            """
            SELECT connector || '::' || operation AS operation, target, error, count(*) AS count FROM effects
             WHERE tenant = %s AND status = 'held' GROUP BY connector, operation, target, error
             ORDER BY count(*) DESC, connector, operation, target, error
            """,
            (tenant,),
        )
    ).fetchall()
    return [Held(**row) for row in rows]
