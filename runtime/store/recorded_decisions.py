"""Recorded policy decisions of all tenants of a database, in the order of their keys."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class Selected:
    """A selection of decisions: a period, and a sample of it, the ids with a hash up to `cutoff`."""

    since: datetime | None
    until: datetime
    cutoff: str | None = None


_HASH = "md5(d.decision_id)"
_OF = f"""
    (%(since)s::timestamptz IS NULL OR d.at >= %(since)s) AND d.at < %(until)s
    AND (%(cutoff)s::text IS NULL OR {_HASH} <= %(cutoff)s)
"""


async def find_cutoff(conn: Conn, selected: Selected, sample: int) -> str | None:
    """Return the highest hash of a sample; None if the period has no more decisions than that."""
    row = await conn.row(
        f"SELECT {_HASH} AS cutoff FROM policy_decisions d WHERE {_OF} ORDER BY 1 OFFSET %(last)s LIMIT 1",  # noqa: S608
        {**vars(selected), "last": sample - 1},
    )
    return row["cutoff"] if row else None


async def count_decisions(conn: Conn, selected: Selected) -> int:
    """Return the number of selected decisions."""
    row = await conn.row(f"SELECT count(*) AS n FROM policy_decisions d WHERE {_OF}", vars(selected))  # noqa: S608
    return row["n"] if row else 0


async def read_decisions(
    conn: Conn, selected: Selected, after: tuple[str, int] | None, limit: int
) -> list[dict[str, Any]]:
    """Return the selected decisions behind a key (run, leaf), with tenant and recorded document."""
    query = f"""
        SELECT d.run_id, d.seq, r.tenant, d.at, d.document
          FROM policy_decisions d JOIN runs r USING (run_id)
         WHERE (d.run_id, d.seq) > (%(run_id)s, %(seq)s) AND {_OF}
         ORDER BY d.run_id, d.seq LIMIT %(limit)s
    """  # noqa: S608 - our own words
    run_id, seq = after or ("", 0)
    return await conn.rows(query, {**vars(selected), "run_id": run_id, "seq": seq, "limit": limit})


async def read_fired(conn: Conn, last: int) -> dict[str, Any]:
    """Return the number of the last decisions, the rules that they name, and the codes of those that name none."""
    row = await conn.row(
        """
        WITH newest AS (SELECT document -> 'answer' AS said FROM policy_decisions ORDER BY at DESC LIMIT %s),
             named AS (SELECT said -> 'rules' AS rules FROM newest WHERE json_typeof(said -> 'rules') = 'array'),
             coded AS (SELECT said -> 'reasons' AS reasons FROM newest WHERE said -> 'rules' IS NULL)
        SELECT (SELECT count(*) FROM newest) AS decisions,
               (SELECT coalesce(json_agg(DISTINCT name), '[]')
                  FROM named, json_array_elements_text(rules) AS r (name)) AS names,
               (SELECT coalesce(json_agg(DISTINCT reason ->> 'code'), '[]')
                  FROM coded, json_array_elements(reasons) AS r (reason)) AS codes
        """,
        (last,),
    )
    if row is None:
        raise LookupError("a statement of aggregates gives one row")
    return row
