"""Which run of a runbook goes on about something. Whoever asks holds the matter, so that the answer stays true."""

from runtime.store.database.pool import Conn


async def hold_matter(conn: Conn, tenant: str, runbook: str, about: str) -> None:
    """Have no other transaction start a run of the runbook about this, or signal one, before this one ends."""
    matter = f"about:{tenant}:{runbook}:{about}"
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (matter,))


async def run_about(conn: Conn, tenant: str, runbook: str, about: str) -> str | None:
    """Return the run of the runbook that goes on about this, or None."""
    row = await (
        await conn.execute(
            "SELECT run_id FROM runs WHERE tenant = %s AND definition_name = %s AND about = %s AND about <> ''"
            " AND finished_at IS NULL",
            (tenant, runbook, about),
        )
    ).fetchone()
    return row["run_id"] if row else None
