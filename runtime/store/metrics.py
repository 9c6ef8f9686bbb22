"""Metrics of requests, by group and tier and by person, and the marks that they are counted from.

A mark says when something happened to a request, such as its first opening; one that is there stays as it is. Cards
show what a person did before their vote: when they opened the request, and that they reviewed or signed in its run.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from receipts.canonical import digest
from runtime.model.metrics import GroupMetrics, Mark, Metrics, PersonMetrics, Spread
from runtime.store.database.pool import Conn
from runtime.store.electorate import MAY_DECIDE, groups_reached

ASKED = """
    WITH asked AS (
        SELECT a.approval_id, a.requirement, a.tier, a.status, a.requested_at, a.decided_at,
               coalesce(a.prolonged_until, a.expires_at) AS until,
               least((SELECT min(at) FROM marks m WHERE m.approval_id = a.approval_id AND m.mark = 'looked'),
                     (SELECT min(at) FROM votes v WHERE v.approval_id = a.approval_id)) AS looked_at,
               (SELECT count(*) FROM marks m WHERE m.approval_id = a.approval_id AND m.mark = 'reminded') AS reminders,
               (SELECT count(*) FROM marks m WHERE m.approval_id = a.approval_id AND m.mark = 'escalated')
                   AS escalations,
               (SELECT count(*) FROM votes v WHERE v.approval_id = a.approval_id AND v.break_glass IS NOT NULL)
                   AS break_glass_used
          FROM approvals a
         WHERE a.tenant = %(tenant)s AND a.requested_at >= %(since)s AND a.requested_at < %(until)s),
    each AS (
        SELECT g.name AS "group", asked.*, extract(epoch FROM looked_at - requested_at)::float AS to_look,
               CASE WHEN status IN ('approved', 'rejected')
                    THEN extract(epoch FROM decided_at - requested_at)::float END AS to_decide
          FROM asked, json_array_elements_text(asked.requirement -> 'groups') AS g (name)
         WHERE %(groups)s::text[] IS NULL OR g.name = ANY(%(groups)s::text[]))
"""
"""The requests of a period (`asked`), and one row of each for each group that it asks (`each`)."""

_GROUPS = f"""{ASKED}
    SELECT "group", tier, count(*) AS asked, count(*) FILTER (WHERE status = 'approved') AS approved,
           count(*) FILTER (WHERE status = 'rejected') AS rejected,
           count(*) FILTER (WHERE status = 'expired') AS expired,
           count(*) FILTER (WHERE status = 'canceled') AS canceled,
           count(*) FILTER (WHERE status = 'requested') AS open,
           count(*) FILTER (WHERE status = 'expired' OR status = 'requested' AND until <= %(now)s) AS late,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY to_look) AS first_look,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY to_decide) AS decision,
           sum(reminders)::int AS reminders, sum(escalations)::int AS escalations,
           sum(break_glass_used)::int AS break_glass_used
      FROM each GROUP BY 1, 2 ORDER BY 1, array_position(ARRAY['low', 'medium', 'high'], tier)
"""  # noqa: S608 - our own clauses

_PEOPLE = f"""
    WITH open AS MATERIALIZED (
        SELECT a.approval_id, a.tenant, a.run_id, a.status, a.kind, a.prolonged_until, a.expires_at, a.assignee,
               a.requirement::jsonb, a.joined::jsonb
          FROM approvals a WHERE a.tenant = %(tenant)s AND a.status = 'requested'),
    people AS MATERIALIZED (
        SELECT p.tenant, p.actor_id, p.name, p.groups, {groups_reached("p.actor_id")} AS reached FROM actors p
         WHERE p.tenant = %(tenant)s AND p.kind = 'person'
           AND (%(groups)s::text[] IS NULL OR p.groups::jsonb ?| %(groups)s)),
    waiting AS (
        SELECT p.actor_id, count(*) FROM people p, open a JOIN runs r USING (run_id)
         WHERE ((a.requirement -> 'groups') ?| p.reached OR a.joined ?| p.reached) AND {MAY_DECIDE}
         GROUP BY p.actor_id)
    SELECT p.actor_id AS person, p.name, p.groups, coalesce(w.count, 0) AS waiting,
           given.approved, given.rejected, given.answer,
           (SELECT count(*) FROM marks m JOIN approvals a USING (approval_id)
             WHERE m.mark = 'looked' AND m.who = p.actor_id AND a.tenant = %(tenant)s
               AND a.requested_at >= %(since)s AND a.requested_at < %(until)s) AS looked
      FROM people p LEFT JOIN waiting w USING (actor_id),
           LATERAL (SELECT count(*) FILTER (WHERE v.verdict = 'approve') AS approved,
                           count(*) FILTER (WHERE v.verdict <> 'approve') AS rejected,
                           percentile_disc(ARRAY[0.5, 0.9])
                               WITHIN GROUP (ORDER BY extract(epoch FROM v.at - a.requested_at)::float) AS answer
                      FROM votes v JOIN approvals a USING (approval_id)
                     WHERE v.person = p.actor_id AND v.withdrawn_at IS NULL AND a.tenant = %(tenant)s
                       AND v.at >= %(since)s AND v.at < %(until)s) AS given
     ORDER BY waiting DESC, p.name, p.actor_id
"""  # noqa: S608 - our own clauses


async def count_metrics(
    conn: Conn, tenant: str, since: datetime, until: datetime, now: datetime, groups: Collection[str] | None
) -> Metrics:
    """Return the metrics of requests made, and votes given, from one moment until before another.

    Where `groups` are given, those of these groups alone.
    """
    given = {"tenant": tenant, "since": since, "until": until, "now": now}
    given["groups"] = None if groups is None else list(groups)
    asked = await conn.rows(_GROUPS, given)
    people = await conn.rows(_PEOPLE, given)
    return Metrics(since, until, [_group(row) for row in asked], [_person(row) for row in people])


async def groups_escalating_to(conn: Conn, tenant: str, since: datetime) -> dict[str, list[str]]:
    """Return, of each group that is next in line for requests made since, the groups that these asked first."""
    rows = await conn.rows(
        """
        SELECT lead, array_agg(DISTINCT g.name ORDER BY g.name) AS asked
          FROM approvals a, json_array_elements_text(a.requirement -> 'groups') AS g (name),
               jsonb_array_elements_text(
                   jsonb_path_query_array(a.requirement::jsonb, '$.escalate_to[*].to[*]')) AS lead
         WHERE a.tenant = %(tenant)s AND a.requested_at >= %(since)s
         GROUP BY lead
        """,
        {"tenant": tenant, "since": since},
    )
    return {row["lead"]: row["asked"] for row in rows}


def _group(row: dict[str, Any]) -> GroupMetrics:
    return GroupMetrics(**{**row, **{name: spread_of(row[name]) for name in ("first_look", "decision")}})


def _person(row: dict[str, Any]) -> PersonMetrics:
    return PersonMetrics(**{**row, "answer": spread_of(row["answer"])})


def spread_of(found: list[float | None] | None) -> Spread:
    """Return a spread as the database gives it; NULL where nothing was counted."""
    return Spread(*(found or (None, None)))


async def put_mark(conn: Conn, approval_id: str, mark: Mark, who: str, at: datetime) -> bool:
    """Note what happened to a request, nothing where there is none of this id; return whether that is new."""
    cursor = await conn.execute(
        "INSERT INTO marks (approval_id, mark, who, at) SELECT approval_id, %s, %s, %s FROM approvals"
        " WHERE approval_id = %s ON CONFLICT DO NOTHING",
        (mark, who, at, approval_id),
    )
    return cursor.rowcount > 0


class SeenByVoter(NamedTuple):
    """What there was to see: the digest of the card that was shown last, and when the voter first opened the request.

    None where there was no card, or where nobody opened anything.
    """

    card: str | None
    opened_at: datetime | None


async def seen_by_voters(conn: Conn, wanted: Sequence[tuple[str, str]]) -> list[SeenByVoter]:
    """Return what there was to see, of many (approval, person) in one read."""
    rows = await conn.look(
        """
        SELECT w.approval_id, w.who, a.cards -> -1 AS card, m.at
          FROM unnest(%(approvals)b::text[], %(people)b::text[]) AS w (approval_id, who)
          JOIN approvals a USING (approval_id)
          LEFT JOIN marks m ON m.approval_id = w.approval_id AND m.mark = %(mark)s AND m.who = w.who
        """,
        {
            "mark": Mark.LOOKED,
            "approvals": [approval for approval, _ in wanted],
            "people": [person for _, person in wanted],
        },
        table="approvals",
        keys={approval for approval, _ in wanted},
    )
    found = {
        (row["approval_id"], row["who"]): SeenByVoter(None if row["card"] is None else digest(row["card"]), row["at"])
        for row in rows
    }
    return [found.get(one, _UNSEEN) for one in wanted]


_UNSEEN = SeenByVoter(None, None)


class Before(NamedTuple):
    """Moments before a vote, None where there is none: the first opening, a review, a signature in the same run."""

    opened_at: datetime | None = None
    reviewed_at: datetime | None = None
    signed_at: datetime | None = None


NOTHING_KNOWN = Before()

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
    rows = await conn.read(_BEFORE, given)
    return {
        (row["approval_id"], row["person"]): Before(row["opened_at"], row["reviewed_at"], row["signed_at"])
        for row in rows
    }
