"""What a doctor asks the database."""

from typing import Any

from runtime.clock import SharedClock, since_boot
from runtime.store.database.pool import Conn


async def server(conn: Conn) -> dict[str, Any]:
    """Return {version, now, is_replica} of the server, and {login, is_superuser, is_owner} of who we are there."""
    row = await (
        await conn.execute(
            "SELECT current_setting('server_version') AS version, clock_timestamp() AS now,"
            " pg_is_in_recovery() AS is_replica, current_user AS login, rolsuper AS is_superuser,"
            " EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('runs')"
            " AND pg_has_role(current_user, relowner, 'MEMBER')) AS is_owner"
            " FROM pg_roles WHERE rolname = current_user"
        )
    ).fetchone()
    return dict(row or {})


async def try_write(conn: Conn) -> None:
    """Write a row that needs a page or two of its own, and roll it back; raise psycopg.Error where that is refused.

    A replica, a read-only default, a role without rights and a full disk all say no here.
    """
    async with conn.transaction(force_rollback=True):
        await conn.execute(
            "INSERT INTO policy_texts (digest, files, first_seen)"
            " SELECT 'probe ' || gen_random_uuid(), to_json(string_agg(md5(random()::text), '')), now()"
            " FROM generate_series(1, 512)"
        )


async def round_trip(conn: Conn) -> float:
    """Return the seconds that a trivial statement takes: the least of several, as a busy process lengthens some."""
    took = []
    for _ in range(3):
        asked = since_boot()
        await conn.execute("SELECT")
        took.append(since_boot() - asked)
    return min(took)


async def set_right(conn: Conn, clock: SharedClock) -> None:
    """Set the clock right by the database's."""
    asked = clock.since_boot()
    row = await (await conn.execute("SELECT clock_timestamp() AS now")).fetchone()
    if row is not None:
        clock.correct(asked, row["now"], clock.since_boot())


async def reachable(conn: Conn, tenant: str, group: str) -> bool:
    """Return whether a person with a Slack account that is not deactivated is in the group."""
    row = await (
        await conn.execute(
            "SELECT 1 FROM slack_accounts s JOIN actors a USING (tenant, actor_id)"
            " WHERE a.tenant = %s AND a.kind = 'person' AND a.groups::jsonb ? %s AND NOT EXISTS ("
            " SELECT FROM slack_absentees x WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))"
            " LIMIT 1",
            (tenant, group),
        )
    ).fetchone()
    return row is not None
