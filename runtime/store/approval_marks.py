"""Puts marks on requests, and reads them. A mark that is there already stays as it is."""

from collections.abc import Sequence
from datetime import datetime

from runtime.model.figures import Mark
from runtime.store.database.pool import Conn


async def put_mark(conn: Conn, approval_id: str, mark: Mark, who: str, at: datetime) -> bool:
    """Note what happened to a request, nothing where there is none of this id; return whether that is new."""
    cursor = await conn.execute(
        "INSERT INTO marks (approval_id, mark, who, at) SELECT approval_id, %s, %s, %s FROM approvals"
        " WHERE approval_id = %s ON CONFLICT DO NOTHING",
        (mark, who, at, approval_id),
    )
    return cursor.rowcount > 0


async def opened_at(conn: Conn, wanted: Sequence[tuple[str, str]]) -> list[datetime | None]:
    """Return when somebody first opened a request, of many (approval, person) in one read; None where never."""
    rows = await (
        await conn.look(
            """
            SELECT approval_id, who, at FROM marks
             WHERE mark = %(mark)s
               AND (approval_id, who) IN (SELECT * FROM unnest(%(approvals)b::text[], %(people)b::text[]))
            """,
            {
                "mark": Mark.LOOKED,
                "approvals": [approval for approval, _ in wanted],
                "people": [person for _, person in wanted],
            },
            table="marks",
            keys=(),
        )
    ).fetchall()
    found = {(row["approval_id"], row["who"]): row["at"] for row in rows}
    return [found.get(one) for one in wanted]
