"""What a doctor asks the database."""

from typing import Any

from runtime.clock import SharedClock
from runtime.store.database.pool import Conn


async def server(conn: Conn) -> dict[str, Any]:
    """Return {version, now, is_replica} of the server."""
    row = await (
        await conn.execute(
            "SELECT current_setting('server_version') AS version, clock_timestamp() AS now,"
            " pg_is_in_recovery() AS is_replica"
        )
    ).fetchone()
    return dict(row or {})


async def set_right(conn: Conn, clock: SharedClock) -> None:
    """Set the clock right by the database's."""
    asked = clock.machine()
    row = await (await conn.execute("SELECT clock_timestamp() AS now")).fetchone()
    if row is not None:
        clock.correct(asked, row["now"], clock.machine())


async def reachable(conn: Conn, tenant: str, group: str) -> bool:
    """Return whether a person with a Slack account is in the group."""
    row = await (
        await conn.execute(
            "SELECT 1 FROM slack_accounts s JOIN actors a USING (tenant, actor_id)"
            " WHERE a.tenant = %s AND a.kind = 'person' AND a.groups::jsonb ? %s LIMIT 1",
            (tenant, group),
        )
    ).fetchone()
    return row is not None
