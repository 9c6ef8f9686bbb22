"""How often somebody has broken the glass. Whoever counts holds it, so that the count stays true."""

from datetime import datetime

from runtime.store.database.pool import Conn


async def hold_glass(conn: Conn, tenant: str, person: str) -> None:
    """Have no other transaction count what this person has broken before this one ends."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"glass:{tenant}:{person}",))


async def count_broken(conn: Conn, tenant: str, person: str, since: datetime) -> int:
    """Return how often the person has done without the others after a moment."""
    row = await (
        await conn.execute(
            "SELECT count(*) AS n FROM votes v JOIN approvals a USING (approval_id)"
            " WHERE v.person = %s AND v.break_glass IS NOT NULL AND v.at > %s AND a.tenant = %s",
            (person, since, tenant),
        )
    ).fetchone()
    return int(row["n"]) if row else 0
