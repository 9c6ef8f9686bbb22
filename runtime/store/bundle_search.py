"""Bundle search: runs as auditors look for them, newest first, with the state of the evidence of each.

And every vote of a period with its request, effect, run and bundle.
"""

import re
from collections.abc import Iterator
from typing import Any

from receipts.redaction import SECRETISH
from runtime.model.search import EvidenceState, FoundRun, RunFilter, Sought, UnknownRowError
from runtime.store.bundles import SETTLED, WAITS_FOR
from runtime.store.database.pool import Conn
from runtime.store.edits import EDITS_OF
from runtime.store.operator_lists import REFERENCE, narrowed

_STATE = f"""
    CASE WHEN r.finished_at IS NULL THEN '{EvidenceState.OPEN}' WHEN b.run_id IS NULL THEN '{EvidenceState.UNSEALED}'
         WHEN b.stored_at IS NOT NULL THEN '{EvidenceState.SEALED}'
         WHEN b.status = 'stuck' THEN '{EvidenceState.STUCK}' ELSE '{EvidenceState.SEALING}' END
"""
_FOUND = f"""
    SELECT r.run_id, r.trigger_ref, {REFERENCE} AS reference, r.trigger_type,
           r.definition_name AS definition, r.definition_version,
           d.digest AS definition_digest, r.status, r.outcome, r.requested_by, r.created_at, r.finished_at,
           coalesce((SELECT nullif(w.name, '') FROM actors w WHERE w.tenant = r.tenant AND w.actor_id = r.requested_by),
                    r.requested_by) AS requester_name,
           {_STATE} AS state, b.sha256, b.size, b.location, b.stored_at, r.audit_seq AS leaves,
           (SELECT e.first_index FROM log_entries e WHERE e.chain = r.run_id AND e.first_seq = 1) AS log_index,
           clock_timestamp() - coalesce(b.created_at, r.finished_at) AS open_for,
           coalesce(b.tries, 0) AS tries, b.next_try_at, coalesce(b.error, '') AS error,
           {WAITS_FOR} AS waits_for
      FROM runs r LEFT JOIN evidence_bundles b USING (run_id)
      JOIN definitions d ON d.name = r.definition_name AND d.version = r.definition_version
"""  # noqa: S608 - our own words
# What is named like a secret is found by nobody, who could else guess it letter by letter.
_MENTIONED = "r.trigger::text ILIKE %(plain)s"
_VALUE = f"""
    {_MENTIONED} AND EXISTS (
        WITH RECURSIVE v (value) AS (
            SELECT r.trigger::jsonb
             UNION ALL
            SELECT inner_.value FROM v, LATERAL (
                SELECT value FROM jsonb_each(CASE jsonb_typeof(v.value) WHEN 'object' THEN v.value ELSE '{{}}' END)
                 WHERE lower(regexp_replace(normalize(key, NFKC), '[^A-Za-z0-9]', '', 'g')) !~ %(secretish)s
                 UNION ALL
                SELECT value FROM jsonb_array_elements(
                    CASE jsonb_typeof(v.value) WHEN 'array' THEN v.value ELSE '[]' END)) AS inner_
        ) SELECT FROM v WHERE jsonb_typeof(value) IN ('string', 'number') AND value #>> '{{}}' ILIKE %(customer)s)
"""  # noqa: S608 - our own words
_PERSON = """
    (r.requested_by = ANY(ARRAY(SELECT actor_id FROM actors w WHERE w.tenant = %(tenant)s AND (
                                  w.actor_id = %(person)s OR lower(w.name) = lower(%(person)s))) || %(person)s::text)
     OR r.run_id IN (SELECT a.run_id FROM votes v JOIN approvals a USING (approval_id)
                      WHERE a.tenant = %(tenant)s
                        AND (%(person)s IN (v.person, v.delegator) OR lower(%(person)s) IN (
                             lower(v.person_name), lower(v.delegation ->> 'delegator_name')))))
"""
# A request can be decided by its groups and by those that have joined them; the directory says who is in them now.
_SEEN = """
    (r.requested_by = %(seen_by)s OR EXISTS (
        SELECT FROM approvals a
          JOIN actors p ON p.tenant = a.tenant AND p.actor_id = %(seen_by)s AND p.kind = 'person'
         WHERE a.run_id = r.run_id AND a.tenant = %(tenant)s AND EXISTS (
               SELECT FROM jsonb_array_elements_text(p.groups::jsonb) AS g (name)
                WHERE (a.requirement::jsonb -> 'groups') ? g.name OR a.joined::jsonb ? g.name) OFFSET 0))
"""
_WHERE = {
    "after": "(r.created_at, r.run_id) < (SELECT l.created_at, l.run_id FROM runs l WHERE l.run_id = %(after)s)",
    "person": _PERSON,
    "outcome": "coalesce(nullif(r.outcome, ''), r.status) = %(outcome)s",
    "run_id": "r.run_id = %(run_id)s",
    "run_ids": "r.run_id = ANY(%(run_ids)s)",
    "requested_by": "r.requested_by = %(requested_by)s AND r.requester_kind = 'person'",
    "seen_by": _SEEN,
}
"""What narrows by a member that is not None."""
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_SPECIAL, _ESCAPED = re.compile(r"[\\%_]"), r"\\\g<0>"


async def find_runs(conn: Conn, tenant: str, sought: Sought) -> list[FoundRun]:
    """Return the tenant's runs that are sought, the newest first; raise UnknownRowError where `after` is no run."""
    return [FoundRun.of(row) for row in await _find(conn, tenant, _FOUND, sought)]


async def find_run_ids(conn: Conn, tenant: str, sought: Sought) -> list[str]:
    """Return the ids of the tenant's runs that are sought, as `find_runs` does."""
    query = "SELECT r.run_id FROM runs r LEFT JOIN evidence_bundles b USING (run_id)"
    return [str(row["run_id"]) for row in await _find(conn, tenant, query, sought)]


async def _find(conn: Conn, tenant: str, query: str, sought: Sought) -> list[dict[str, Any]]:
    if sought.after is not None:
        await _expect(conn, tenant, sought.after)
    conditions = " AND ".join(f"({one.strip()})" for one in _conditions(sought))
    lists = {"states": list(sought.states), "trigger_types": list(sought.trigger_types or ()), "settled": SETTLED}
    given = {**vars(sought), **lists, "tenant": tenant, **_texts(sought.customer or "")}
    order = "ORDER BY r.created_at DESC, r.run_id DESC LIMIT %(limit)s"
    return await conn.rows(f"{query} WHERE {conditions} {order}", given)


def _conditions(sought: Sought) -> Iterator[str]:
    yield "r.tenant = %(tenant)s"
    yield narrowed(sought, "r.created_at")
    narrowing = {name: condition for name, condition in _WHERE.items() if getattr(sought, name) is not None}
    if sought.customer is not None:  # what costs little is looked at first, and the values last
        seen = narrowing.pop("seen_by", "true")
        yield f"CASE WHEN {_customer(sought, _MENTIONED)} THEN {seen} AND ({_customer(sought, _VALUE)}) END"
    if sought.trigger_types is not None:
        yield "r.trigger_type = ANY(%(trigger_types)s)"
    if not sought.started_by_runs:
        yield "r.parent IS NULL"
    if sought.states:
        yield f"{_STATE.strip()} = ANY(%(states)s)"
    yield from narrowing.values()


def _customer(sought: Sought, value: str) -> str:
    parts = ["r.trigger_ref ILIKE %(customer)s OR r.reference ILIKE %(customer)s"]
    parts += ["r.definition_name ILIKE %(customer)s"] if sought.by_definition else []
    parts += [] if sought.reference_only else [value]
    return " OR ".join(parts)


def _texts(customer: str) -> dict[str, Any]:
    """Return the patterns of a customer: the whole, and the parts that JSON never writes in another way."""
    plain = "%".join(_PLAIN.findall(customer))
    return {"customer": f"%{_SPECIAL.sub(_ESCAPED, customer)}%", "plain": f"%{plain}%", "secretish": SECRETISH}


async def _expect(conn: Conn, tenant: str, run_id: str) -> None:
    found = await conn.execute("SELECT FROM runs WHERE tenant = %s AND run_id = %s", (tenant, run_id))
    if await found.fetchone() is None:
        raise UnknownRowError(f"there is no run {run_id}")


_VOTED = f"""
    SELECT v.at, v.person, v.person_name, v.groups, v.delegation, v.verdict, v.reason, v.team, v.account, v.via,
           v.brought_by, v.withdrawn_at, v.break_glass, v.console, a.approval_id, a.kind, a.status,
           a.step, a.digest, a.reasons, a.before, a.requirement, a.purpose, s.verb,
           e.connector, e.operation, e.target, e.fields, e.redact, e.forgotten, e.idempotency_key,
           e.tier AS effect_tier, e.reversible_by, r.run_id, r.trigger_ref AS reference, r.salt, r.requested_by,
           r.definition_name AS definition, r.definition_version, b.sha256,
           {EDITS_OF.format(effect="e.effect_id")} AS edits
      FROM votes v JOIN approvals a USING (approval_id) JOIN effects e USING (effect_id)
      JOIN runs r ON r.run_id = a.run_id
      LEFT JOIN steps s ON s.run_id = a.run_id AND s.path = a.step
      LEFT JOIN evidence_bundles b ON b.run_id = a.run_id
     WHERE a.tenant = %(tenant)s
"""  # noqa: S608 - our own clauses
_BY = """
       AND (%(person)s IN (v.person, v.delegator)
            OR lower(%(person)s) IN (lower(v.person_name), lower(v.delegation ->> 'delegator_name')))
"""


async def find_votes(conn: Conn, tenant: str, by: RunFilter, person: str | None) -> list[dict[str, Any]]:
    """Return the tenant's votes of the filter's moments and runs, the oldest first.

    Where a person is named, those that they gave, or that were given for them.
    """
    query = f"{_VOTED} AND {narrowed(by, 'v.at')}{_BY if person else ''} ORDER BY v.at, a.approval_id, v.person"
    given = {"tenant": tenant, **vars(by), "person": person}
    return await conn.rows(query, given)
