"""Puts marks on requests, and reads them. A mark that is there already stays as it is."""

from datetime import datetime

from runtime.model.approvals.figures import Mark
from runtime.store.database.pool import Conn


async def put_mark(conn: Conn, approval_id: str, mark: Mark, who: str, at: datetime) -> bool:
    """Note what happened to a request, nothing where there is none of this id; return whether that is new."""
    cursor = await conn.execute(
        "INSERT INTO marks (approval_id, mark, who, at) SELECT approval_id, %s, %s, %s FROM approvals"
        " WHERE approval_id = %s ON CONFLICT DO NOTHING",
        (mark, who, at, approval_id),
    )
    return cursor.rowcount > 0


async def time_of_mark(conn: Conn, approval_id: str, mark: Mark, who: str) -> datetime | None:
    """Return when a mark was put, None where there is none."""
    found = await conn.execute(
        "SELECT at FROM marks WHERE approval_id = %s AND mark = %s AND who = %s", (approval_id, mark, who)
    )
    row = await found.fetchone()
    return row["at"] if row else None
