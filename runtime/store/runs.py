"""Runs: claimed by triggers, found by reference or subject, selected for cancellation, and summed up.

Of a runbook's runs one at a time goes on about a subject. Whoever asks which one locks the subject first, so that the
answer stays true.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Json

from runtime.definitions.model import Definition
from runtime.model.run import NewRun
from runtime.model.search import RunFilter
from runtime.model.states import RunStatus
from runtime.model.steps import class_of
from runtime.store.database.pool import Conn
from runtime.store.operator_lists import REFERENCE, narrowed
from runtime.store.records import costs_of_run
from runtime.store.steps import _insert_steps
from runtime.store.waits import progress_by_step


async def claim_trigger(conn: Conn, new: NewRun, definition: Definition, now: datetime) -> str | None:
    """Create a queued run for a trigger; return None if the trigger was claimed before."""
    row = await conn.row(
        """
        INSERT INTO runs (run_id, tenant, trigger_type, trigger_ref, trigger, definition_name,
            definition_version, status, requested_by, requester_kind, submitted_by,
            requester_accounts, request_id, salt, trigger_digest, audit_hash,
            parent, reference, about, created_at, updated_at)
        VALUES (%(run_id)s, %(tenant)s, %(trigger_type)s, %(trigger_ref)s, %(trigger)s, %(name)s, %(version)s,
            'queued', %(requested_by)s, %(requester_kind)s, %(submitted_by)s,
            %(requester_accounts)s, %(request_id)s, %(salt)s, %(trigger_digest)s, %(genesis)s,
            %(parent)s, %(about)s, %(about)s, %(now)s, %(now)s)
        ON CONFLICT (tenant, trigger_type, trigger_ref) DO NOTHING RETURNING run_id
        """,
        {
            **vars(new),
            "trigger": Json(dict(new.trigger)),
            "name": definition.name,
            "version": definition.version,
            "requester_accounts": json.dumps([list(account) for account in new.requester_accounts]),
            "genesis": new.genesis_hash,
            "parent": None if new.parent is None else Json(dict(new.parent)),
            "now": now,
        },
    )
    if row is None:
        return None
    await _insert_steps(conn, new.run_id, definition)
    return str(row["run_id"])


async def run_of_trigger(conn: Conn, tenant: str, trigger_type: str, ref: str) -> dict[str, Any]:
    """Return (run_id, trigger_digest, salt, requested_by) of the run that claimed the trigger."""
    row = await conn.row(
        "SELECT run_id, trigger_digest, salt, requested_by FROM runs"
        " WHERE tenant = %s AND trigger_type = %s AND trigger_ref = %s",
        (tenant, trigger_type, ref),
    )
    if row is None:
        raise LookupError(f"no run for {trigger_type} {ref}")
    return row


@dataclass(frozen=True)
class RunOf:
    """A run that a reference names."""

    run_id: str
    is_over: bool


async def trigger_type_of(conn: Conn, tenant: str, run_id: str) -> str | None:
    """Return the type of the trigger that started a run of the tenant, or None where it has no such run."""
    row = await conn.row("SELECT trigger_type FROM runs WHERE tenant = %s AND run_id = %s", (tenant, run_id))
    return row["trigger_type"] if row else None


async def runs_of_reference(conn: Conn, tenant: str, trigger_types: Sequence[str], reference: str) -> list[RunOf]:
    """Return the tenant's runs under a business reference, of these types of trigger, the newest first.

    A run is known by what its trigger was sent under, and by what its runbook says besides.
    """
    rows = await conn.rows(
        """
        SELECT run_id, is_over FROM (
            SELECT run_id, finished_at IS NOT NULL AS is_over, created_at FROM runs
             WHERE tenant = %(tenant)s AND trigger_type = ANY(%(types)s) AND trigger_ref = %(reference)s
            UNION
            SELECT run_id, finished_at IS NOT NULL, created_at FROM runs
             WHERE tenant = %(tenant)s AND reference <> '' AND reference = %(reference)s
               AND trigger_type = ANY(%(types)s)) AS found
         ORDER BY created_at DESC, run_id
        """,
        {"tenant": tenant, "types": list(trigger_types), "reference": reference},
    )
    return [RunOf(**row) for row in rows]


async def starter(conn: Conn, tenant: str, run_id: str) -> dict[str, Any]:
    """Return who is behind a run that starts another, and what started it itself."""
    row = await conn.row(
        "SELECT requested_by, requester_kind, submitted_by, request_id, parent FROM runs"
        " WHERE tenant = %s AND run_id = %s",
        (tenant, run_id),
    )
    if row is None:
        raise LookupError(f"no run {run_id}")
    return row


async def keep_from_moving(conn: Conn, run_id: str) -> None:
    """Let nobody change a run before the caller's transaction has ended; several may do so at once."""
    await conn.execute("SELECT FROM runs WHERE run_id = %s FOR SHARE", (run_id,))


async def children_under_way(conn: Conn, run_id: str, step: str | None = None) -> list[str]:
    """Return the runs that have not ended and for whose end this one, or one step of it, waits."""
    rows = await conn.rows(
        "SELECT run_id FROM runs WHERE parent ->> 'run_id' = %(run_id)s AND parent -> 'token' IS NOT NULL"
        " AND (%(step)s::text IS NULL OR parent ->> 'step' = %(step)s) AND finished_at IS NULL ORDER BY run_id",
        {"run_id": run_id, "step": step},
    )
    return [row["run_id"] for row in rows]


async def next_queued(conn: Conn, tenant: str, but: Collection[str], limit: int) -> list[str]:
    """Return the oldest queued runs that no other worker is starting, locked in the caller's transaction."""
    rows = await conn.rows(
        "SELECT run_id FROM runs WHERE tenant = %s AND status = 'queued' AND run_id <> ALL(%s)"
        " ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED",
        (tenant, list(but), limit),
    )
    return [row["run_id"] for row in rows]


async def run_summary(conn: Conn, tenant: str, run_id: str) -> dict[str, Any] | None:
    """Return a run, its steps, what of it is blocked and what it cost as the HTTP edge shows them, or None."""
    run = await conn.row(
        """
        SELECT r.run_id, r.tenant, r.trigger_type, r.trigger_ref, r.definition_name, r.definition_version, r.status,
               r.error, r.reference, r.outcome, r.state, r.output, r.requested_by, r.submitted_by, r.created_at,
               r.finished_at, t.mocked, b.sha256, b.location
          FROM runs r JOIN tenants t USING (tenant) LEFT JOIN evidence_bundles b USING (run_id)
         WHERE r.tenant = %s AND r.run_id = %s
        """,
        (tenant, run_id),
    )
    if run is None:
        return None
    steps = await conn.rows(
        "SELECT path, verb, status, error, error_code, coalesce(kept ->> 'branch', '') AS branch, version"
        " FROM steps WHERE run_id = %s ORDER BY position, length(path), path",
        (run_id,),
    )
    blocked = await conn.rows(
        "SELECT connector || '::' || operation AS operation, target, error FROM effects"
        " WHERE run_id = %s AND status = 'blocked' ORDER BY created_at, effect_id",
        (run_id,),
    )
    words = await progress_by_step(conn, run_id)
    steps = [
        {**step, "error_class": class_of(step["error_code"]), "progress": words.get(step["path"])} for step in steps
    ]
    return {**run, "steps": steps, "blocked": blocked, "costs": await costs_of_run(conn, run_id)}


async def lock_subject(conn: Conn, tenant: str, runbook: str, about: str) -> None:
    """Have no other transaction start a run of the runbook about this, or signal one, before this one ends."""
    matter = f"about:{tenant}:{runbook}:{about}"
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (matter,))


async def run_by_subject(conn: Conn, tenant: str, runbook: str, about: str) -> str | None:
    """Return the run of the runbook that goes on about this, or None."""
    row = await conn.row(
        "SELECT run_id FROM runs WHERE tenant = %s AND definition_name = %s AND about = %s AND about <> ''"
        " AND finished_at IS NULL",
        (tenant, runbook, about),
    )
    return row["run_id"] if row else None


@dataclass(frozen=True, kw_only=True)
class Chosen(RunFilter):
    """Which runs are meant; None leaves it wide. `types` are the trigger types that a caller may ask about."""

    status: RunStatus | None = None
    types: list[str] | None = None


async def find_runs_to_cancel(conn: Conn, tenant: str, chosen: Chosen, limit: int) -> list[dict[str, Any]]:
    """Return the tenant's runs that are meant and have not ended, the oldest first."""
    query = f"""
        SELECT r.run_id, r.status, r.version, r.definition_name, r.definition_version, {REFERENCE} AS reference,
               r.requested_by, r.created_at
          FROM runs r
         WHERE r.tenant = %(tenant)s AND r.finished_at IS NULL AND {narrowed(chosen, "r.created_at")}
           AND (%(status)s::text IS NULL OR r.status = %(status)s)
           AND (%(types)s::text[] IS NULL OR r.trigger_type = ANY (%(types)s))
         ORDER BY r.created_at, r.run_id LIMIT %(limit)s
    """  # noqa: S608 - our own columns
    return await conn.rows(query, {"tenant": tenant, "limit": limit, **vars(chosen)})
