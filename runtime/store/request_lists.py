"""Lists of requests: waiting for a person, asked for or decided by them, open reviews, a group's open requests.

What waits is listed the first to expire first; what a person asked for and decided, the newest first. Before somebody
decides several at once, `find_concerns` says what speaks against it: open questions, edits, doubts, and reviews by the
same person. In clauses that narrow a list, the approval is `a`, the run `r` and the effect `e`.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.requirement import Requirement
from runtime.model.search import COUNTED, ListFilter, PageEdge, RunFilter, UnknownRowError
from runtime.model.votes import Vote
from runtime.store.approvals import JOINED, SHOWN, VIEW, counted_votes
from runtime.store.database.pool import Conn
from runtime.store.delegations import HOLDS
from runtime.store.electorate import MAY_ANSWER, MAY_DECIDE, groups_reached
from runtime.store.operator_lists import REFERENCE, narrowed

Row = dict[str, Any]

_OF_RUNS = {
    "runbook": "r.definition_name = %(runbook)s",
    "text": """
        strpos(lower(concat_ws(chr(10), r.reference, r.trigger_ref, r.definition_name, r.run_id)), lower(%(text)s)) > 0
    """,
}
_OF_REQUESTS = {
    **_OF_RUNS,
    "tier": "a.tier = %(tier)s",
    "group": "((a.requirement::jsonb -> 'groups') ? %(group)s OR a.joined::jsonb ? %(group)s)",
    "text": """
        strpos(lower(concat_ws(chr(10), r.reference, r.trigger_ref, r.definition_name, e.target, e.operation, a.purpose,
                               a.shown ->> 'title', a.run_id, a.approval_id)), lower(%(text)s)) > 0
    """,
    "is_due_soon": """
        coalesce(a.prolonged_until, a.expires_at) - %(now)s
            < (coalesce(a.prolonged_until, a.expires_at) - a.requested_at) / 4
    """,
    "ids": "a.approval_id = ANY(%(ids)s)",
}


def request_clauses(narrowed: ListFilter) -> str:
    """Return the clauses for requests, each after an AND."""
    return _joined(_OF_REQUESTS, narrowed)


def run_clauses(narrowed: ListFilter) -> str:
    """Return the clauses for runs: tier and group are no matter of theirs."""
    return _joined(_OF_RUNS, narrowed)


def _joined(clauses: dict[str, str], narrowed: ListFilter) -> str:
    wanted = vars(narrowed)
    return "".join(f" AND {clause}" for name, clause in clauses.items() if wanted[name] not in ("", False, None))


def page_clauses(at: str, key: str, edge: PageEdge | None, limit: str = "%(limit)s", *, newest_first: bool) -> str:
    """Return what narrows to a page by its keys, orders it and bounds it; one that goes back is turned."""
    falls = newest_first != (edge is not None and edge.back)
    begins = f" AND ({at}, {key}) {'<' if falls else '>'} (%(edge_at)s, %(edge_id)s)" if edge is not None else ""
    way = "DESC" if falls else "ASC"
    return f"{begins} ORDER BY {at} {way}, {key} {way} LIMIT {limit}"


def clause_values(narrowed: ListFilter, edge: PageEdge | None) -> Row:
    """Return the values of the clauses."""
    ids = None if narrowed.ids is None else list(narrowed.ids)
    keys = {"edge_at": edge.at, "edge_id": edge.id} if edge else {}
    return {**vars(narrowed), **keys, "ids": ids}


@asynccontextmanager
async def read_along_index(conn: Conn) -> AsyncIterator[None]:
    """Have a page read along the index of its order, to its end and no further.

    How many rows fit is no matter of statistics here, and PostgreSQL takes it for so few that it would rather read and
    sort everything that is open.
    """
    async with conn.transaction():
        await conn.execute(
            "SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)"
        )
        yield


_UNTIL = "coalesce(a.prolonged_until, a.expires_at)"
# Whoever is in none of these groups may not answer: read once, and looked at before what costs more.
_GROUPS = groups_reached("%(person)s")
_WAITS = f"""
    SELECT a.approval_id, {_UNTIL} AS key_at
      FROM approvals a JOIN runs r USING (run_id) JOIN effects e USING (effect_id)
      JOIN actors p ON p.tenant = a.tenant AND p.actor_id = %(person)s AND p.kind = 'person'
     WHERE a.tenant = %(tenant)s AND a.status = 'requested'
       AND ((a.requirement::jsonb -> 'groups') ?| {_GROUPS} OR a.joined::jsonb ?| {_GROUPS})
       AND {MAY_DECIDE}
"""  # noqa: S608 - our own clauses


@dataclass(frozen=True)
class Viewer:
    """Who looks, and when."""

    tenant: str
    person: str
    now: datetime


async def find_waiting(
    conn: Conn, looker: Viewer, narrowed: ListFilter, edge: PageEdge | None, limit: int, counted: int = COUNTED
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
    given = {**clause_values(narrowed, edge), **vars(looker), "limit": limit, "counted": max(counted + 1, limit)}
    async with read_along_index(conn):
        return await conn.rows(query, given)


def _some(narrowed: ListFilter, edge: PageEdge | None, limit: str) -> str:
    return (
        f"{_WAITS} {request_clauses(narrowed)} {page_clauses(_UNTIL, 'a.approval_id', edge, limit, newest_first=False)}"
    )


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


async def find_asked_for(
    conn: Conn, looker: Viewer, narrowed: ListFilter, edge: PageEdge | None, limit: int
) -> list[Row]:
    """Return runs that the person asked for, each with how many requests it waits for, and the id of the oldest.

    Runs that another run started are left out: their requests count for the one that the person asked for.
    """
    query = f"""
        SELECT r.run_id, {REFERENCE} AS reference, r.definition_name,
               r.definition_version, convert_from(d.canonical, 'UTF8')::json ->> 'title' AS title, r.status, r.outcome,
               r.error, r.created_at, r.finished_at, r.created_at AS key_at, r.run_id AS key_id,
               (SELECT a.approval_id {_OPEN} ORDER BY a.requested_at, a.approval_id LIMIT 1) AS approval_id,
               (SELECT count(*) {_OPEN}) AS open
          FROM runs r JOIN definitions d ON d.name = r.definition_name AND d.version = r.definition_version
         WHERE r.tenant = %(tenant)s AND r.requested_by = %(person)s AND r.requester_kind = 'person'
               AND r.parent IS NULL
               {run_clauses(narrowed)} {page_clauses("r.created_at", "r.run_id", edge, newest_first=True)}
    """  # noqa: S608 - our own clauses
    given = {**clause_values(narrowed, edge), **vars(looker), "limit": limit}
    async with read_along_index(conn):
        return await conn.rows(query, given)


async def find_decided(
    conn: Conn, looker: Viewer, narrowed: ListFilter, edge: PageEdge | None, limit: int
) -> list[Row]:
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
                      {request_clauses(narrowed)} {page_clauses("v.at", "v.approval_id", edge, newest_first=True)}))
         ORDER BY own.at {way}, a.approval_id {way}
    """  # noqa: S608 - our own clauses
    given = {**clause_values(narrowed, edge), **vars(looker), "limit": limit}
    async with read_along_index(conn):
        return await conn.rows(query, given)


async def find_requests(conn: Conn, tenant: str, approval_ids: list[str]) -> list[Row]:
    """Return what cards show of requests, by their ids, open or not."""
    query = f"SELECT {SHOWN} {JOINED} WHERE a.tenant = %s AND a.approval_id = ANY(%s)"
    return await conn.rows(query, (tenant, approval_ids))


async def find_runbooks(conn: Conn, limit: int) -> list[str]:
    """Return the names of runbooks, in their order."""
    query = "SELECT DISTINCT name FROM definitions ORDER BY name LIMIT %s"
    return [row["name"] for row in await conn.rows(query, (limit,))]


async def groups_of_viewer(conn: Conn, looker: Viewer) -> list[str]:
    """Return the groups for which the person may decide: their own, and those that somebody gave them for a time."""
    rows = await conn.rows(
        f"""
        SELECT jsonb_array_elements_text(p.groups::jsonb) AS name FROM actors p
         WHERE p.tenant = %(tenant)s AND p.actor_id = %(person)s
        UNION
        SELECT jsonb_array_elements_text(d.groups::jsonb) FROM delegations d
         WHERE d.tenant = %(tenant)s AND d.delegate = %(person)s AND {HOLDS}
         ORDER BY name
        """,  # noqa: S608 - our own condition
        vars(looker),
    )
    return [row["name"] for row in rows]


async def find_concerns(conn: Conn, tenant: str, person: str, approval_ids: Sequence[str]) -> list[Row]:
    """Return of each request, for the person who looks: questions without an answer, who edited it, doubts, a review.

    `doubts` counts other effects of its run in doubt; `reviewed_at` is when the person answered a review of its run.
    """
    query = """
        SELECT a.approval_id,
               (SELECT coalesce(json_agg(json_build_array(q.person, q.person_name) ORDER BY q.asked_at, q.question_id),
                                '[]')
                  FROM questions q WHERE q.approval_id = a.approval_id AND q.answer IS NULL) AS questions,
               (SELECT coalesce(json_agg(x.person_name ORDER BY x.seq), '[]')
                  FROM edits x WHERE x.effect_id = a.effect_id) AS edited_by,
               (SELECT count(*) FROM effects d WHERE d.run_id = a.run_id AND d.effect_id <> a.effect_id
                   AND d.status = 'in_doubt') AS doubts,
               (SELECT max(v.at) FROM votes v JOIN approvals t USING (approval_id)
                 WHERE t.run_id = a.run_id AND t.kind = 'task' AND v.withdrawn_at IS NULL
                   AND %(person)s IN (v.person, v.delegator)) AS reviewed_at
          FROM approvals a WHERE a.tenant = %(tenant)s AND a.approval_id = ANY(%(ids)s)
    """
    given = {"tenant": tenant, "person": person, "ids": list(approval_ids)}
    return await conn.rows(query, given)


NOBODY = "none"
"""In the place of an assignee: reviews that nobody has claimed."""


@dataclass(frozen=True, kw_only=True)
class SoughtTasks(RunFilter):
    """What open reviews are narrowed to, by the moment in which they were asked for; None leaves them wide."""

    person: str | None = None  # who may answer them, once whoever has claimed one gives it back
    run_id: str | None = None
    assignee: str | None = None  # who has claimed them; NOBODY
    after: str | None = None  # the review behind which the list goes on
    limit: int = 50


async def find_tasks(conn: Conn, tenant: str, sought: SoughtTasks, now: datetime) -> list[dict[str, Any]]:
    """Return what cards show of the tenant's open reviews; raise UnknownRowError where `after` is no review."""
    if sought.after is not None:
        review = "SELECT FROM approvals WHERE tenant = %s AND approval_id = %s AND kind = 'task'"
        if await (await conn.execute(review, (tenant, sought.after))).fetchone() is None:
            raise UnknownRowError(f"there is no task {sought.after}")
    asked = "JOIN actors p ON p.tenant = a.tenant AND p.actor_id = %(person)s AND p.kind = 'person'"
    query = f"""
        {VIEW} {asked if sought.person is not None else ""}
         WHERE a.tenant = %(tenant)s AND a.kind = 'task' AND a.status = 'requested' AND {_UNTIL} > %(now)s
           AND {MAY_ANSWER if sought.person is not None else "true"}
           AND a.run_id = coalesce(%(run_id)s, a.run_id) AND {narrowed(sought, "a.requested_at")}
           AND (%(assignee)s::text IS NULL OR coalesce(a.assignee, '{NOBODY}') = %(assignee)s)
           AND (%(after)s::text IS NULL OR ({_UNTIL}, a.approval_id) >
                (SELECT coalesce(prolonged_until, expires_at), approval_id FROM approvals
                  WHERE tenant = %(tenant)s AND approval_id = %(after)s))
         ORDER BY {_UNTIL}, a.approval_id LIMIT %(limit)s
    """  # noqa: S608 - our own clauses
    given = {"tenant": tenant, "now": now, **vars(sought)}
    return await conn.rows(query, given)


@dataclass(frozen=True)
class OpenRequest:
    """An open request with its counted votes, who asked for its run, and by what people know the run."""

    approval_id: str
    reference: str
    requirement: Requirement
    barred: frozenset[str]
    votes: Sequence[Vote]


async def open_in_groups(conn: Conn, tenant: str, groups: Sequence[str]) -> list[OpenRequest]:
    """Return the open requests that ask one of these groups, now or next in line, the oldest first."""
    rows = await conn.rows(
        f"""
        SELECT a.approval_id, a.requirement, r.requested_by, r.submitted_by,
               {REFERENCE} AS reference
          FROM approvals a JOIN runs r USING (run_id)
         WHERE a.tenant = %(tenant)s AND a.status = 'requested'
           AND ((a.requirement::jsonb -> 'groups') ?| %(groups)s
                OR jsonb_path_query_array(a.requirement::jsonb, '$.escalate_to[*].to[*]') ?| %(groups)s)
         ORDER BY a.requested_at, a.approval_id
        """,  # noqa: S608 - our own clause
        {"tenant": tenant, "groups": list(groups)},
    )
    votes = await counted_votes(conn, [row["approval_id"] for row in rows])
    return [
        OpenRequest(
            row["approval_id"],
            row["reference"],
            Requirement.of(row["requirement"]),
            frozenset({row["requested_by"], row["submitted_by"]}),
            given,
        )
        for row, given in zip(rows, votes, strict=True)
    ]


async def find_open(conn: Conn, tenant: str, limit: int) -> list[Row]:
    """Return open requests of a tenant, the first to expire first; `total` counts all, up to a bound."""
    query = f"""
        SELECT a.approval_id, a.run_id, a.step, a.kind, {REFERENCE} AS reference, r.definition_name, a.purpose, a.tier,
               e.connector || '::' || e.operation AS action, e.target, a.requirement::jsonb -> 'groups' AS groups,
               a.requested_at, {_UNTIL} AS until,
               (SELECT count(*) FROM (SELECT FROM approvals o WHERE o.tenant = %(tenant)s AND o.status = 'requested'
                                       LIMIT %(counted)s) bounded) AS total
          FROM approvals a JOIN runs r USING (run_id) JOIN effects e USING (effect_id)
         WHERE a.tenant = %(tenant)s AND a.status = 'requested'
         ORDER BY {_UNTIL}, a.approval_id LIMIT %(limit)s
    """  # noqa: S608 - our own clauses
    return await conn.rows(query, {"tenant": tenant, "limit": limit, "counted": COUNTED + 1})
