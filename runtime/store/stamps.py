"""Time stamps over checkpoints of the Merkle log: an authority's words, kept as they came."""

from dataclasses import dataclass
from datetime import datetime

from runtime.store.database.pool import Conn

_COLUMNS = "SELECT s.size, c.note, s.stamp, s.asked_at FROM log_stamps s JOIN log_checkpoints c USING (tenant, size)"


@dataclass(frozen=True)
class Stamped:
    """A checkpoint (its size, its note), its stamp (DER), and when that was asked for, by our clock."""

    size: int
    note: str
    stamp: bytes
    asked_at: datetime


async def keep_stamp(conn: Conn, tenant: str, size: int, stamp: bytes, asked_at: datetime) -> None:
    """Put the stamp of a checkpoint on record, unless it has one."""
    await conn.execute(
        "INSERT INTO log_stamps (tenant, size, stamp, asked_at) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (tenant, size, stamp, asked_at),
    )


async def newest_stamped(conn: Conn, tenant: str) -> Stamped | None:
    """Return the largest checkpoint that has a stamp."""
    query = f"{_COLUMNS} WHERE tenant = %s ORDER BY size DESC LIMIT 1"
    row = await (await conn.execute(query, (tenant,))).fetchone()
    return Stamped(**row) if row else None


async def first_stamped(conn: Conn, tenant: str, size: int) -> Stamped | None:
    """Return the smallest checkpoint of a log of this size, or larger, that has a stamp."""
    query = f"{_COLUMNS} WHERE tenant = %s AND size >= %s ORDER BY size LIMIT 1"
    row = await (await conn.execute(query, (tenant, size))).fetchone()
    return Stamped(**row) if row else None


async def unpublished_stamps(conn: Conn, tenant: str) -> list[Stamped]:
    """Return what was stamped and does not stand in the archive, in order. They are published in their order."""
    rows = await (
        await conn.execute(
            """
            SELECT s.size, c.note, s.stamp, s.asked_at FROM log_stamps s JOIN log_checkpoints c USING (tenant, size)
             WHERE tenant = %(tenant)s AND size > coalesce((SELECT max(size) FROM log_stamps
                    WHERE tenant = %(tenant)s AND published_at IS NOT NULL), 0)
             ORDER BY size
            """,
            {"tenant": tenant},
        )
    ).fetchall()
    return [Stamped(**row) for row in rows]


async def mark_stamp_published(conn: Conn, tenant: str, size: int, now: datetime) -> None:
    """Note that a stamp stands in the archive."""
    await conn.execute("UPDATE log_stamps SET published_at = %s WHERE tenant = %s AND size = %s", (now, tenant, size))


async def unstamped_since(conn: Conn, tenant: str) -> datetime | None:
    """Return when the oldest checkpoint was signed that no stamp is over, or None where there is none."""
    query = """SELECT min(signed_at) AS since FROM log_checkpoints WHERE tenant = %(tenant)s
        AND size > coalesce((SELECT max(size) FROM log_stamps WHERE tenant = %(tenant)s), 0)"""
    row = await (await conn.execute(query, {"tenant": tenant})).fetchone()
    return row["since"] if row else None
