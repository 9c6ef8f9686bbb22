"""Decisions of policy as they are on record, of all tenants of a database, read in sets in the order of their keys."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class Selected:
    """Which decisions are meant: of a period, and of these a sample, whose ids have no hash above `cutoff`."""

    since: datetime | None
    until: datetime
    cutoff: str | None = None


_HASH = "md5(d.decision_id)"
_OF = f"""
    (%(since)s::timestamptz IS NULL OR d.at >= %(since)s) AND d.at < %(until)s
    AND (%(cutoff)s::text IS NULL OR {_HASH} <= %(cutoff)s)
"""


async def find_cutoff(conn: Conn, selected: Selected, sample: int) -> str | None:
    """Return the hash up to which so many decisions are taken, always the same ones; None where there are no more."""
    row = await conn.row(
        f"SELECT {_HASH} AS cutoff FROM policy_decisions d WHERE {_OF} ORDER BY 1 OFFSET %(last)s LIMIT 1",  # noqa: S608
        {**vars(selected), "last": sample - 1},
    )
    return row["cutoff"] if row else None


async def count_decisions(conn: Conn, selected: Selected) -> int:
    """Return how many decisions are meant."""
    row = await conn.row(f"SELECT count(*) AS n FROM policy_decisions d WHERE {_OF}", vars(selected))  # noqa: S608
    return row["n"] if row else 0


async def read_decisions(
    conn: Conn, selected: Selected, after: tuple[str, int] | None, limit: int
) -> list[dict[str, Any]]:
    """Return the decisions behind a key (run, leaf), each with its tenant and what is on record of it."""
    query = f"""
        SELECT d.run_id, d.seq, r.tenant, d.at, d.document
          FROM policy_decisions d JOIN runs r USING (run_id)
         WHERE (d.run_id, d.seq) > (%(run_id)s, %(seq)s) AND {_OF}
         ORDER BY d.run_id, d.seq LIMIT %(limit)s
    """  # noqa: S608 - our own words
    run_id, seq = after or ("", 0)
    return await conn.rows(query, {**vars(selected), "run_id": run_id, "seq": seq, "limit": limit})
