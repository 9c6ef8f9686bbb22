"""Runs: claimed by triggers, found by reference or subject, selected for cancellation, and summed up.

Of a runbook's runs one at a time goes on about a subject. Whoever asks which one locks the subject first, so that the
answer stays true.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.definitions.model import Definition
from runtime.model.run import NewRun
from runtime.model.search import RunFilter
from runtime.model.states import RunStatus
from runtime.model.steps import class_of
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import columns_of, document_of, json_text
from runtime.store.operator_lists import REFERENCE, narrowed
from runtime.store.records import costs_of_run
from runtime.store.steps import first_steps
from runtime.store.waits import progress_by_step


@dataclass(frozen=True)
class Queued:
    """A run that a trigger is to start, now, with the definition that it executes."""

    run: NewRun
    definition: Definition
    now: datetime


_RUN = (
    ("run_id", "text"),
    ("tenant", "text"),
    ("trigger_type", "text"),
    ("trigger_ref", "text"),
    ("trigger", "json"),
    ("name", "text"),
    ("version", "int"),
    ("requested_by", "text"),
    ("requester_kind", "text"),
    ("submitted_by", "text"),
    ("requester_accounts", "json"),
    ("request_id", "text"),
    ("salt", "text"),
    ("trigger_digest", "text"),
    ("genesis_hash", "text"),
    ("parent", "json"),
    ("about", "text"),
    ("now", "timestamptz"),
)
_STEP = (
    ("name", "text"),
    ("version", "int"),
    ("path", "text"),
    ("position", "int"),
    ("verb", "text"),
    ("handler", "text"),
    ("is_read", "bool"),
)
_CLAIM = f"""
    WITH wanted AS MATERIALIZED (SELECT * FROM json_to_recordset(%(runs)s::json) AS r ({columns_of(_RUN)})),
    new AS (
        INSERT INTO runs (run_id, tenant, trigger_type, trigger_ref, trigger, definition_name, definition_version,
            status, requested_by, requester_kind, submitted_by, requester_accounts, request_id, salt,
            trigger_digest, audit_hash, parent, reference, about, created_at, updated_at)
        SELECT run_id, tenant, trigger_type, trigger_ref, trigger, name, version, 'queued', requested_by,
               requester_kind, submitted_by, requester_accounts, request_id, salt, trigger_digest, genesis_hash,
               parent, about, about, now, now
          FROM wanted ORDER BY tenant, trigger_type, trigger_ref
        ON CONFLICT (tenant, trigger_type, trigger_ref) DO NOTHING RETURNING *
    ), entered AS (
        INSERT INTO steps (run_id, path, position, verb, handler, status, is_read)
        SELECT new.run_id, s.path, s.position, s.verb, s.handler, 'pending', s.is_read
          FROM new JOIN json_to_recordset(%(steps)s::json) AS s ({columns_of(_STEP)})
            ON s.name = new.definition_name AND s.version = new.definition_version
    ) SELECT * FROM new
"""  # noqa: S608 - our own columns


async def claim_triggers(conn: Conn, queued: Sequence[Queued]) -> list[dict[str, Any] | None]:
    """Create queued runs for triggers; return the row of each, None where the trigger was claimed before.

    Triggers are claimed in their order: two transactions that claim the same cannot wait for each other for ever.
    """
    definitions = {(one.definition.name, one.definition.version): one.definition for one in queued}
    steps = [(*key, *place) for key, one in definitions.items() for place in first_steps(one)]
    documents = {"runs": document_of(_RUN, [_values(one) for one in queued]), "steps": document_of(_STEP, steps)}
    found = {row["run_id"]: row for row in await conn.read(_CLAIM, documents)}
    return [found.get(one.run.run_id) for one in queued]


def _values(queued: Queued) -> list[Any]:
    run, definition = queued.run, queued.definition
    said = {
        **vars(run),
        "trigger": json_text(dict(run.trigger)),
        "name": definition.name,
        "version": definition.version,
        "requester_accounts": json_text(run.requester_accounts),
        "parent": None if run.parent is None else json_text(dict(run.parent)),
        "now": queued.now,
    }
    return [said[name] for name, _ in _RUN]


@dataclass(frozen=True)
class TriggerName:
    """What a trigger is claimed once by."""

    tenant: str
    type: str
    ref: str


async def runs_of_triggers(conn: Conn, names: Sequence[TriggerName]) -> list[dict[str, Any] | None]:
    """Return (run_id, trigger_digest, salt, requested_by) of the runs that claimed triggers, None where none has."""
    query = """
        SELECT w.number, r.run_id, r.trigger_digest, r.salt, r.requested_by
          FROM unnest(%(tenants)b::text[], %(types)b::text[], %(refs)b::text[]) WITH ORDINALITY
               AS w (tenant, type, ref, number)
          JOIN runs r ON (r.tenant, r.trigger_type, r.trigger_ref) = (w.tenant, w.type, w.ref)
    """
    columns = {"tenants": [one.tenant for one in names], "types": [one.type for one in names]}
    rows = await conn.read(query, {**columns, "refs": [one.ref for one in names]})
    found = {row.pop("number"): row for row in rows}
    return [found.get(number) for number in range(1, len(names) + 1)]


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


async def next_queued(conn: Conn, tenant: str, but: Collection[str], limit: int) -> list[dict[str, Any]]:
    """Return the rows of the oldest queued runs that no other worker is starting, locked in the transaction.

    `requester_groups` are those that the requester of each is in now.
    """
    return await conn.rows(
        "SELECT *, (SELECT groups FROM actors WHERE actors.tenant = runs.tenant AND actor_id = requested_by)"
        " AS requester_groups FROM runs WHERE tenant = %s AND status = 'queued' AND run_id <> ALL(%s)"
        " ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED",
        (tenant, list(but), limit),
    )


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


@dataclass(frozen=True, order=True)
class Subject:
    """What runs of a runbook are about, as the payload of their trigger says."""

    tenant: str
    runbook: str
    about: str


def lock_subjects(conn: Conn, subjects: Collection[Subject]) -> None:
    """Have no other transaction start a run about one of these, or signal one, before this one ends.

    They are locked in their order: two transactions that lock several cannot wait for each other for ever.
    """
    matters = [f"about:{one.tenant}:{one.runbook}:{one.about}" for one in sorted(subjects)]
    query = "SELECT pg_advisory_xact_lock(hashtextextended(m, 0)) FROM unnest(%(matters)b::text[]) AS m"
    conn.put(query, {"matters": matters})


async def runs_about(conn: Conn, subjects: Sequence[Subject]) -> list[str | None]:
    """Return the run that goes on about each subject, None where none does."""
    query = """
        SELECT w.number, r.run_id
          FROM unnest(%(tenants)b::text[], %(runbooks)b::text[], %(abouts)b::text[]) WITH ORDINALITY
               AS w (tenant, runbook, about, number)
          JOIN runs r ON (r.tenant, r.definition_name, r.about) = (w.tenant, w.runbook, w.about)
         WHERE r.about <> '' AND r.finished_at IS NULL
    """
    columns = {"tenants": [one.tenant for one in subjects], "runbooks": [one.runbook for one in subjects]}
    rows = await conn.read(query, {**columns, "abouts": [one.about for one in subjects]})
    found = {row["number"]: row["run_id"] for row in rows}
    return [found.get(number) for number in range(1, len(subjects) + 1)]


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
