"""Health of the database: what `countersign doctor` asks it, and the clock set right by its time."""

from typing import Any, NamedTuple

from runtime.clock import SharedClock, since_boot
from runtime.store.database.pool import Conn
from runtime.store.schema.role_names import DIRECTORY, REFRESH_USERGROUPS


async def server_state(conn: Conn) -> dict[str, Any]:
    """Return {version, now, is_replica} of the server, and {login, is_superuser, is_owner} of who we are there."""
    row = await conn.row(
        "SELECT current_setting('server_version') AS version, clock_timestamp() AS now,"
        " pg_is_in_recovery() AS is_replica, current_user AS login, rolsuper AS is_superuser,"
        " EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('runs')"
        " AND pg_has_role(current_user, relowner, 'MEMBER')) AS is_owner"
        " FROM pg_roles WHERE rolname = current_user"
    )
    return dict(row or {})


class DirectoryRights(NamedTuple):
    """What a login may do with the directory: the tables that it may write, and what it may not do and has to."""

    writes: list[str]
    lacks: list[str]


async def directory_rights(conn: Conn) -> DirectoryRights:
    """Return what this login may do with the tables that only a load of the directory writes."""
    row = await conn.row(
        """
        WITH t AS (
            SELECT oid, relname AS name FROM pg_class
             WHERE relname IN ('actors', 'directories', 'slack_accounts')
               AND relnamespace = current_schema()::regnamespace)
        SELECT ARRAY(SELECT name::text FROM t WHERE has_any_column_privilege(oid, 'INSERT, UPDATE')
                        OR has_table_privilege(oid, 'DELETE, TRUNCATE')
                        OR EXISTS (SELECT FROM pg_roles WHERE rolname = %s AND pg_has_role(pg_roles.oid, 'MEMBER'))
                     ORDER BY name) AS writes,
               ARRAY(SELECT 'SELECT on ' || name FROM t WHERE NOT has_table_privilege(oid, 'SELECT')
                      UNION ALL
                     SELECT 'EXECUTE on ' || proname FROM pg_proc
                      WHERE proname = %s AND pronamespace = current_schema()::regnamespace
                        AND NOT has_function_privilege(oid, 'EXECUTE') ORDER BY 1) AS lacks
        """,
        (DIRECTORY, REFRESH_USERGROUPS),
    )
    return DirectoryRights(**row) if row else DirectoryRights([], [])


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


async def measure_round_trip(conn: Conn) -> float:
    """Return the seconds that a trivial statement takes: the least of several, as a busy process lengthens some."""
    took = []
    for _ in range(3):
        asked = since_boot()
        await conn.execute("SELECT")
        took.append(since_boot() - asked)
    return min(took)


async def correct_clock(conn: Conn, clock: SharedClock) -> None:
    """Set the clock right by the database's."""
    asked = clock.since_boot()
    row = await conn.row("SELECT clock_timestamp() AS now")
    if row is not None:
        clock.correct(asked, row["now"], clock.since_boot())


async def is_group_reachable(conn: Conn, tenant: str, group: str) -> bool:
    """Return whether a person with a Slack account that is not deactivated is in the group."""
    row = await conn.row(
        "SELECT 1 FROM slack_accounts s JOIN actors a USING (tenant, actor_id)"
        " WHERE a.tenant = %s AND a.kind = 'person' AND a.groups::jsonb ? %s AND NOT EXISTS ("
        " SELECT FROM slack_absentees x WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))"
        " LIMIT 1",
        (tenant, group),
    )
    return row is not None
