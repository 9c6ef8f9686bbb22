"""Runs that go on, chosen by what people know of them: to be canceled together."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.states import RunStatus
from runtime.store.database.pool import Conn

REFERENCE = "coalesce(nullif(r.reference, ''), r.trigger_ref)"
"""What people call a run by: its business reference, and as long as it has none, its trigger's."""


@dataclass(frozen=True)
class Chosen:
    """Which runs are meant; None leaves it wide. `types` are the trigger types that a caller may ask about."""

    reference: str | None = None
    definition: str | None = None
    status: RunStatus | None = None
    started_after: datetime | None = None
    started_before: datetime | None = None
    types: list[str] | None = None


async def choose_runs(conn: Conn, tenant: str, chosen: Chosen, limit: int) -> list[dict[str, Any]]:
    """Return the tenant's runs that are meant and have not ended, the oldest first."""
    query = f"""
        SELECT r.run_id, r.status, r.version, r.definition_name, r.definition_version, {REFERENCE} AS reference,
               r.requested_by, r.created_at
          FROM runs r
         WHERE r.tenant = %(tenant)s AND r.finished_at IS NULL
           AND (%(reference)s::text IS NULL OR {REFERENCE} = %(reference)s)
           AND (%(definition)s::text IS NULL OR r.definition_name = %(definition)s)
           AND (%(status)s::text IS NULL OR r.status = %(status)s)
           AND (%(started_after)s::timestamptz IS NULL OR r.created_at >= %(started_after)s)
           AND (%(started_before)s::timestamptz IS NULL OR r.created_at < %(started_before)s)
           AND (%(types)s::text[] IS NULL OR r.trigger_type = ANY (%(types)s))
         ORDER BY r.created_at, r.run_id LIMIT %(limit)s
    """  # noqa: S608 - our own columns
    return await (await conn.execute(query.encode(), {"tenant": tenant, "limit": limit, **vars(chosen)})).fetchall()
