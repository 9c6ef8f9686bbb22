"""What waits for a person: the open requests that they may decide, the first to expire first."""

from dataclasses import dataclass
from datetime import datetime

from runtime.model.pages import COUNTED, Edge, Narrowed
from runtime.store.approvals import JOINED, SHOWN
from runtime.store.database.pool import Conn
from runtime.store.may_answer import IS_FREE, MAY_ANSWER
from runtime.store.narrowing import Row, along_the_index, of_requests, page_of, values_of

_UNTIL = "coalesce(a.prolonged_until, a.expires_at)"
# Whoever is in none of these groups may not answer: read once, and looked at before what costs more.
_GROUPS = """
    ARRAY(SELECT jsonb_array_elements_text(q.groups::jsonb) FROM actors q
           WHERE q.tenant = %(tenant)s AND (q.actor_id = %(person)s OR q.actor_id IN (
                 SELECT d.delegator FROM delegations d
                  WHERE d.tenant = %(tenant)s AND d.delegate = %(person)s AND d.ended_at IS NULL)))
"""
_WAITS = f"""
    SELECT a.approval_id, {_UNTIL} AS key_at
      FROM approvals a JOIN runs r USING (run_id) JOIN effects e USING (effect_id)
      JOIN actors p ON p.tenant = a.tenant AND p.actor_id = %(person)s AND p.kind = 'person'
     WHERE a.tenant = %(tenant)s AND a.status = 'requested'
       AND ((a.requirement::jsonb -> 'groups') ?| {_GROUPS} OR a.joined::jsonb ?| {_GROUPS})
       AND {MAY_ANSWER} AND {IS_FREE}
"""  # noqa: S608 - our own clauses


@dataclass(frozen=True)
class Looker:
    """Who looks, and when."""

    tenant: str
    person: str
    now: datetime


async def find_waiting(
    conn: Conn, looker: Looker, narrowed: Narrowed, edge: Edge | None, limit: int, counted: int = COUNTED
) -> list[Row]:
    """Return what cards show of a page of them, with its keys, in the order in which they are read from the edge.

    `total` in each row counts all that are narrowed to, one beyond `counted` at most.
    """
    way = "DESC" if edge is not None and edge.back else "ASC"
    query = f"""
        WITH found AS MATERIALIZED ({_some(narrowed, None, "%(counted)s")}),
             page AS MATERIALIZED ({_some(narrowed, edge, "%(limit)s") if edge else "SELECT * FROM found"})
        SELECT {SHOWN}, {_UNTIL} AS key_at, a.approval_id AS key_id, (SELECT count(*) FROM found) AS total
        {JOINED}
         WHERE a.approval_id = ANY(ARRAY(
               SELECT approval_id FROM page ORDER BY key_at {way}, approval_id {way} LIMIT %(limit)s))
         ORDER BY {_UNTIL} {way}, a.approval_id {way}
    """  # noqa: S608 - our own clauses
    given = {**values_of(narrowed, edge), **vars(looker), "limit": limit, "counted": max(counted + 1, limit)}
    async with along_the_index(conn):
        return await (await conn.execute(query.encode(), given)).fetchall()


def _some(narrowed: Narrowed, edge: Edge | None, limit: str) -> str:
    return f"{_WAITS} {of_requests(narrowed)} {page_of(_UNTIL, 'a.approval_id', edge, limit, newest_first=False)}"
