"""What a person did before their vote: when they opened the request, and that they reviewed or signed in its run."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from runtime.model.figures import Mark
from runtime.store.database.pool import Conn


class Before(NamedTuple):
    """Moments before a vote, None where there is none: the first opening, a review, a signature in the same run."""

    opened_at: datetime | None = None
    reviewed_at: datetime | None = None
    signed_at: datetime | None = None


UNKNOWN = Before()

_EARLIER = """
    (SELECT max(w.at) FROM votes w JOIN approvals b USING (approval_id)
      WHERE b.run_id = a.run_id AND a.kind = '{this}' AND b.kind = '{other}' AND w.withdrawn_at IS NULL
        AND w.at <= v.at AND (v.person IN (w.person, w.delegator) OR v.delegator IN (w.person, w.delegator)))
"""
_BEFORE = f"""
    SELECT v.approval_id, v.person, m.at AS opened_at,
           {_EARLIER.format(this="effect", other="task")} AS reviewed_at,
           {_EARLIER.format(this="task", other="effect")} AS signed_at
      FROM votes v JOIN approvals a USING (approval_id)
      LEFT JOIN marks m ON m.approval_id = v.approval_id AND m.mark = %(mark)s AND m.who = v.person AND m.at <= v.at
     WHERE v.approval_id = ANY(%(ids)s) AND v.withdrawn_at IS NULL
"""  # noqa: S608 - our own clauses


async def before_votes(conn: Conn, approval_ids: Sequence[str]) -> dict[tuple[str, str], Before]:
    """Return what came before each counted vote, by request and person."""
    given = {"ids": list(approval_ids), "mark": Mark.LOOKED}
    rows = await (await conn.read(_BEFORE, given)).fetchall()
    return {
        (row["approval_id"], row["person"]): Before(row["opened_at"], row["reviewed_at"], row["signed_at"])
        for row in rows
    }
