"""How often somebody has said what does not count, so that their clicks do not make a chain as long as they like."""

from runtime.store.database.pool import Conn


async def count_refusal(conn: Conn, approval_id: str, who: str, code: str) -> int:
    """Count one more refusal; return the how manieth it is of this person, about this request, for this reason."""
    row = await (
        await conn.execute(
            """
            INSERT INTO refusals (approval_id, who, code, times) VALUES (%s, %s, %s, 1)
            ON CONFLICT (approval_id, who, code) DO UPDATE SET times = refusals.times + 1 RETURNING times
            """,
            (approval_id, who, code),
        )
    ).fetchone()
    if row is None:
        raise LookupError("a statement that writes one row gives it back")
    return int(row["times"])
