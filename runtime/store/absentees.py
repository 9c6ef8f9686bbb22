"""Accounts of the directory that Slack says are deactivated."""

from datetime import datetime

from runtime.store.database.pool import Conn


async def note(conn: Conn, tenant: str, team: str, account: str, now: datetime, *, is_active: bool) -> bool:
    """Note what Slack says of an account of the directory; return whether that is new."""
    if is_active:
        query = "DELETE FROM slack_absentees WHERE tenant = %s AND team = %s AND account = %s"
        return (await conn.execute(query, (tenant, team, account))).rowcount == 1
    query = """
        INSERT INTO slack_absentees (tenant, team, account, since)
        SELECT %(tenant)s, %(team)s, %(account)s, %(now)s
         WHERE EXISTS (SELECT FROM slack_accounts
                        WHERE tenant = %(tenant)s AND team = %(team)s AND account = %(account)s)
        ON CONFLICT DO NOTHING
    """
    said = {"tenant": tenant, "team": team, "account": account, "now": now}
    return (await conn.execute(query, said)).rowcount == 1


async def has_left(conn: Conn, team: str, account: str) -> bool:
    """Return whether an account is deactivated."""
    query = "SELECT 1 FROM slack_absentees WHERE (team, account) = (%s, %s)"
    return await (await conn.execute(query, (team, account))).fetchone() is not None


async def person_left(conn: Conn, tenant: str, person: str) -> bool:
    """Return whether all accounts of a person are deactivated; of somebody who has none, False."""
    query = """
        SELECT bool_and(EXISTS (SELECT FROM slack_absentees x
                                 WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))) AS has_left
          FROM slack_accounts s WHERE s.tenant = %s AND s.actor_id = %s
    """
    row = await (await conn.execute(query, (tenant, person))).fetchone()
    return bool(row and row["has_left"])


async def people_left(conn: Conn, tenant: str) -> list[str]:
    """Return the people all of whose accounts are deactivated."""
    query = """
        SELECT s.actor_id FROM slack_accounts s
          LEFT JOIN slack_absentees a ON (a.tenant, a.team, a.account) = (s.tenant, s.team, s.account)
         WHERE s.tenant = %s GROUP BY s.actor_id HAVING bool_and(a.account IS NOT NULL) ORDER BY s.actor_id
    """
    return [row["actor_id"] for row in await (await conn.execute(query, (tenant,))).fetchall()]
