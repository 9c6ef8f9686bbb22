"""What a person has asked for, and what they have decided, the newest first."""

from runtime.model.pages import Edge, Narrowed
from runtime.store.approvals import JOINED, SHOWN
from runtime.store.database.pool import Conn
from runtime.store.narrowing import Row, along_the_index, of_requests, of_runs, page_of, values_of
from runtime.store.waiting import Looker

# A run waits for the requests of the runs that it started, too.
_OPEN = """
    FROM approvals a WHERE a.status = 'requested' AND a.run_id IN (
        WITH RECURSIVE started (run_id) AS (
            SELECT r.run_id
             UNION ALL
            SELECT c.run_id FROM started s JOIN runs c ON c.parent ->> 'run_id' = s.run_id
             WHERE c.parent IS NOT NULL AND c.finished_at IS NULL)
        SELECT run_id FROM started)
"""


async def find_asked_for(conn: Conn, looker: Looker, narrowed: Narrowed, edge: Edge | None, limit: int) -> list[Row]:
    """Return runs that the person asked for, each with how many requests it waits for, and the id of the oldest.

    Runs that another run started are left out: their requests count for the one that the person asked for.
    """
    query = f"""
        SELECT r.run_id, coalesce(nullif(r.reference, ''), r.trigger_ref) AS reference, r.definition_name,
               r.definition_version, convert_from(d.canonical, 'UTF8')::json ->> 'title' AS title, r.status, r.outcome,
               r.error, r.created_at, r.finished_at, r.created_at AS key_at, r.run_id AS key_id,
               (SELECT a.approval_id {_OPEN} ORDER BY a.requested_at, a.approval_id LIMIT 1) AS approval_id,
               (SELECT count(*) {_OPEN}) AS open
          FROM runs r JOIN definitions d ON d.name = r.definition_name AND d.version = r.definition_version
         WHERE r.tenant = %(tenant)s AND r.requested_by = %(person)s AND r.requester_kind = 'person'
               AND r.parent IS NULL
               {of_runs(narrowed)} {page_of("r.created_at", "r.run_id", edge, newest_first=True)}
    """  # noqa: S608 - our own clauses
    given = {**values_of(narrowed, edge), **vars(looker), "limit": limit}
    async with along_the_index(conn):
        return await (await conn.execute(query.encode(), given)).fetchall()


async def find_decided(conn: Conn, looker: Looker, narrowed: Narrowed, edge: Edge | None, limit: int) -> list[Row]:
    """Return what cards show of requests that the person voted on, with what they said (`own_verdict`)."""
    way = "ASC" if edge is not None and edge.back else "DESC"
    query = f"""
        SELECT {SHOWN}, own.verdict AS own_verdict, own.at AS key_at, a.approval_id AS key_id
        {JOINED} JOIN votes own ON own.approval_id = a.approval_id AND own.person = %(person)s
               AND own.withdrawn_at IS NULL
         WHERE a.approval_id = ANY(ARRAY(
               SELECT a.approval_id FROM votes v JOIN approvals a USING (approval_id)
                 JOIN runs r USING (run_id) JOIN effects e USING (effect_id)
                WHERE v.person = %(person)s AND v.withdrawn_at IS NULL AND a.tenant = %(tenant)s
                      {of_requests(narrowed)} {page_of("v.at", "v.approval_id", edge, newest_first=True)}))
         ORDER BY own.at {way}, a.approval_id {way}
    """  # noqa: S608 - our own clauses
    given = {**values_of(narrowed, edge), **vars(looker), "limit": limit}
    async with along_the_index(conn):
        return await (await conn.execute(query.encode(), given)).fetchall()


async def find_requests(conn: Conn, tenant: str, approval_ids: list[str]) -> list[Row]:
    """Return what cards show of requests, by their ids, open or not."""
    query = f"SELECT {SHOWN} {JOINED} WHERE a.tenant = %s AND a.approval_id = ANY(%s)"
    return await (await conn.execute(query.encode(), (tenant, approval_ids))).fetchall()


async def find_runbooks(conn: Conn, limit: int) -> list[str]:
    """Return the names of runbooks, in their order."""
    query = "SELECT DISTINCT name FROM definitions ORDER BY name LIMIT %s"
    return [row["name"] for row in await (await conn.execute(query, (limit,))).fetchall()]


async def groups_of_looker(conn: Conn, looker: Looker) -> list[str]:
    """Return the groups for which the person may decide: their own, and those that somebody gave them for a time."""
    rows = await (
        await conn.execute(
            """
            SELECT jsonb_array_elements_text(p.groups::jsonb) AS name FROM actors p
             WHERE p.tenant = %(tenant)s AND p.actor_id = %(person)s
            UNION
            SELECT jsonb_array_elements_text(d.groups::jsonb) FROM delegations d
             WHERE d.tenant = %(tenant)s AND d.delegate = %(person)s AND d.ended_at IS NULL
               AND d.starts_at <= %(now)s AND d.ends_at > %(now)s
             ORDER BY name
            """,
            vars(looker),
        )
    ).fetchall()
    return [row["name"] for row in rows]
