"""Open requests that a group may decide."""

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.model.requirement import Requirement
from runtime.model.votes import Vote
from runtime.store.approvals import counted_votes
from runtime.store.database.pool import Conn


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
    rows = await (
        await conn.execute(
            """
            SELECT a.approval_id, a.requirement, r.requested_by, r.submitted_by,
                   coalesce(r.reference, r.trigger_ref) AS reference
              FROM approvals a JOIN runs r USING (run_id)
             WHERE a.tenant = %(tenant)s AND a.status = 'requested'
               AND ((a.requirement::jsonb -> 'groups') ?| %(groups)s
                    OR jsonb_path_query_array(a.requirement::jsonb, '$.escalate_to[*].to[*]') ?| %(groups)s)
             ORDER BY a.requested_at, a.approval_id
            """,
            {"tenant": tenant, "groups": list(groups)},
        )
    ).fetchall()
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
