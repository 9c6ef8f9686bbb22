"""Reviews as those who work on them look through them: open ones, the first to expire first."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.store.approvals import VIEW
from runtime.store.database.pool import Conn
from runtime.store.may_answer import MAY_ANSWER

NOBODY = "none"
"""In the place of an assignee: reviews that nobody has claimed."""


@dataclass(frozen=True, kw_only=True)
class SoughtTasks:
    """What open reviews are narrowed to; None leaves them wide."""

    person: str | None = None  # who may answer them, once whoever has claimed one gives it back
    run_id: str | None = None
    definition: str | None = None  # name of the runbook
    assignee: str | None = None  # who has claimed them; NOBODY
    after: str | None = None  # the review behind which the list goes on
    limit: int = 50


async def find_tasks(conn: Conn, tenant: str, sought: SoughtTasks, now: datetime) -> list[dict[str, Any]]:
    """Return what cards show of the tenant's open reviews."""
    asked = "JOIN actors p ON p.tenant = a.tenant AND p.actor_id = %(person)s AND p.kind = 'person'"
    query = f"""
        {VIEW} {asked if sought.person is not None else ""}
         WHERE a.tenant = %(tenant)s AND a.kind = 'task' AND a.status = 'requested' AND a.expires_at > %(now)s
           AND {MAY_ANSWER if sought.person is not None else "true"}
           AND a.run_id = coalesce(%(run_id)s, a.run_id)
           AND r.definition_name = coalesce(%(definition)s, r.definition_name)
           AND (%(assignee)s::text IS NULL OR coalesce(a.assignee, '{NOBODY}') = %(assignee)s)
           AND (%(after)s::text IS NULL OR (a.expires_at, a.approval_id) >
                (SELECT expires_at, approval_id FROM approvals WHERE approval_id = %(after)s))
         ORDER BY a.expires_at, a.approval_id LIMIT %(limit)s
    """  # noqa: S608 - our own clauses
    given = {"tenant": tenant, "now": now, **vars(sought)}
    return await (await conn.execute(query.encode(), given)).fetchall()
