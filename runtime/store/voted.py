"""Every vote of a period, with what it was about: the request, the effect, the run and its bundle."""

from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn
from runtime.store.edits import EDITS_OF

_VOTED = f"""
    SELECT v.at, v.person, v.person_name, v.delegation, v.verdict, v.reason, v.team, v.account, v.via, v.brought_by,
           v.withdrawn_at, v.break_glass, a.approval_id, a.kind, a.status,
           a.step, a.digest, a.reasons, a.before, a.requirement, a.purpose, s.verb,
           e.connector, e.operation, e.target, e.fields, e.redact, e.forgotten, e.idempotency_key,
           e.tier AS effect_tier, e.reversible_by, r.run_id, r.trigger_ref AS reference, r.salt, r.requested_by,
           r.definition_name AS definition, r.definition_version, b.sha256,
           {EDITS_OF.format(effect="e.effect_id")} AS edits
      FROM votes v JOIN approvals a USING (approval_id) JOIN effects e USING (effect_id)
      JOIN runs r ON r.run_id = a.run_id
      LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.step
      LEFT JOIN evidence_bundles b ON b.run_id = a.run_id
     WHERE a.tenant = %(tenant)s AND v.at >= %(since)s AND v.at < %(until)s
"""  # noqa: S608 - our own clauses
_BY = """
       AND (%(person)s IN (v.person, v.delegator)
            OR lower(%(person)s) IN (lower(v.person_name), lower(v.delegation ->> 'delegator_name')))
"""


async def find_votes(
    conn: Conn, tenant: str, since: datetime, until: datetime, person: str | None
) -> list[dict[str, Any]]:
    """Return the tenant's votes from one moment until before another, the oldest first.

    Where a person is named, those that they gave, or that were given for them.
    """
    query = f"{_VOTED}{_BY if person else ''} ORDER BY v.at, a.approval_id, v.person"
    given = {"tenant": tenant, "since": since, "until": until, "person": person}
    return await (await conn.execute(query.encode(), given)).fetchall()
