"""Definitions, runs and steps."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.types.json import Json

from runtime.definitions.model import Definition
from runtime.planner import StepState
from runtime.states import StepStatus
from runtime.store.pool import Conn


class DefinitionChangedError(Exception):
    """A definition with this name and version is stored with other content: it needs a new version."""


@dataclass(frozen=True)
class NewRun:
    """What a trigger claims."""

    run_id: str
    tenant: str
    trigger_type: str
    trigger_ref: str
    trigger: Mapping[str, Any]
    requested_by: str
    requester_kind: str
    submitted_by: str
    requester_accounts: Sequence[tuple[str, str]]
    request_id: str
    salt: str
    genesis_hash: str


@dataclass(frozen=True)
class ReadLease:
    """A read that this worker may do; `attempt` is its fencing token."""

    run_id: str
    tenant: str
    path: str
    params: Mapping[str, Any]
    attempt: int
    definition_name: str
    definition_version: int


async def keep_definition(conn: Conn, definition: Definition, now: datetime) -> None:
    """Store a definition once; raise DefinitionChangedError if its name and version mean something else here."""
    key = (definition.name, definition.version)
    await conn.execute(
        "INSERT INTO definitions (name, version, digest, canonical, created_at) VALUES (%s, %s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        (*key, definition.digest, definition.canonical, now),
    )
    row = await (await conn.execute("SELECT digest FROM definitions WHERE name = %s AND version = %s", key)).fetchone()
    if row is None or row["digest"] != definition.digest:
        raise DefinitionChangedError(
            f"{definition.name} version {definition.version} is stored with another content; give it a new version"
        )


async def canonical_definition(conn: Conn, name: str, version: int) -> bytes:
    """Return the stored canonical text of a definition that a run names."""
    row = await (
        await conn.execute("SELECT canonical FROM definitions WHERE name = %s AND version = %s", (name, version))
    ).fetchone()
    if row is None:
        raise LookupError(f"no definition {name} version {version}")
    return bytes(row["canonical"])


async def salt_of(conn: Conn, tenant: str, fresh: str) -> str:
    """Return the tenant's salt; `fresh` becomes it on first use."""
    await conn.execute("INSERT INTO tenants (tenant, salt) VALUES (%s, %s) ON CONFLICT DO NOTHING", (tenant, fresh))
    row = await (await conn.execute("SELECT salt FROM tenants WHERE tenant = %s", (tenant,))).fetchone()
    if row is None:
        raise LookupError(f"no tenant {tenant}")
    return str(row["salt"])


async def claim_trigger(conn: Conn, new: NewRun, definition: Definition, now: datetime) -> str | None:
    """Create a queued run for a trigger; return None if the trigger was claimed before."""
    row = await (
        await conn.execute(
            """
            INSERT INTO runs (run_id, tenant, trigger_type, trigger_ref, trigger, definition_name,
                definition_version, definition_digest, status, requested_by, requester_kind, submitted_by,
                requester_accounts, request_id, salt, audit_hash, created_at, updated_at)
            VALUES (%(run_id)s, %(tenant)s, %(trigger_type)s, %(trigger_ref)s, %(trigger)s, %(name)s, %(version)s,
                %(digest)s, 'queued', %(requested_by)s, %(requester_kind)s, %(submitted_by)s,
                %(requester_accounts)s, %(request_id)s, %(salt)s, %(genesis)s, %(now)s, %(now)s)
            ON CONFLICT (tenant, trigger_type, trigger_ref) DO NOTHING RETURNING run_id
            """,
            {
                "run_id": new.run_id,
                "tenant": new.tenant,
                "trigger_type": new.trigger_type,
                "trigger_ref": new.trigger_ref,
                "trigger": Json(dict(new.trigger)),
                "name": definition.name,
                "version": definition.version,
                "digest": definition.digest,
                "requested_by": new.requested_by,
                "requester_kind": new.requester_kind,
                "submitted_by": new.submitted_by,
                "requester_accounts": json.dumps([list(account) for account in new.requester_accounts]),
                "request_id": new.request_id,
                "salt": new.salt,
                "genesis": new.genesis_hash,
                "now": now,
            },
        )
    ).fetchone()
    if row is None:
        return None
    await _insert_steps(conn, new.run_id, definition)
    return str(row["run_id"])


async def _insert_steps(conn: Conn, run_id: str, definition: Definition) -> None:
    paths = list(definition.steps)
    await conn.execute(
        """
        INSERT INTO steps (run_id, path, position, verb, status, is_read)
        SELECT %s, path, position, verb, 'pending', is_read
          FROM unnest(%s::text[], %s::int[], %s::text[], %s::bool[]) AS s (path, position, verb, is_read)
        """,
        (
            run_id,
            paths,
            list(range(len(paths))),
            [definition.steps[path].verb for path in paths],
            [definition.verb_of(path).effect_class == "read" for path in paths],
        ),
    )


async def run_of_trigger(conn: Conn, tenant: str, trigger_type: str, ref: str) -> dict[str, Any]:
    """Return (run_id, trigger, requested_by) of the run that claimed the trigger."""
    row = await (
        await conn.execute(
            "SELECT run_id, trigger, requested_by FROM runs WHERE tenant = %s AND trigger_type = %s"
            " AND trigger_ref = %s",
            (tenant, trigger_type, ref),
        )
    ).fetchone()
    if row is None:
        raise LookupError(f"no run for {trigger_type} {ref}")
    return row


async def queued(conn: Conn, limit: int, but: Sequence[str]) -> list[str]:
    """Return queued runs, oldest first, without those in `but`."""
    rows = await (
        await conn.execute(
            "SELECT run_id FROM runs WHERE status = 'queued' AND run_id <> ALL(%s) ORDER BY created_at LIMIT %s",
            (list(but), limit),
        )
    ).fetchall()
    return [row["run_id"] for row in rows]


async def load_steps(conn: Conn, run_id: str) -> dict[str, StepState]:
    """Return every step's state in the definition's order."""
    rows = await (
        await conn.execute(
            "SELECT path, status, result, error FROM steps WHERE run_id = %s ORDER BY position", (run_id,)
        )
    ).fetchall()
    return {row["path"]: StepState(StepStatus(row["status"]), row["result"], row["error"]) for row in rows}


async def step_status(conn: Conn, run_id: str, path: str) -> StepStatus:
    """Return the status of a step; the caller holds the run's row."""
    row = await (
        await conn.execute("SELECT status FROM steps WHERE run_id = %s AND path = %s", (run_id, path))
    ).fetchone()
    if row is None:
        raise LookupError(f"run {run_id} has no step {path}")
    return StepStatus(row["status"])


async def write_steps(
    conn: Conn, run_id: str, changes: Mapping[str, StepState], params: Mapping[str, Any], now: datetime
) -> None:
    """Write the steps that changed; `params` holds the resolved params of those that start."""
    if not changes:
        return
    over = (StepStatus.SUCCEEDED, StepStatus.FAILED_TERMINAL, StepStatus.SKIPPED, StepStatus.CANCELED)
    await conn.execute(
        """
        UPDATE steps SET status = c.status, result = c.result, error = c.error,
               params = coalesce(c.params, steps.params),
               started_at = CASE WHEN c.status IN ('ready', 'running') THEN coalesce(started_at, %(now)s)
                                 ELSE started_at END,
               finished_at = CASE WHEN c.over THEN %(now)s END,
               lease_owner = NULL, lease_expires_at = NULL, next_try_at = NULL
          FROM unnest(%(paths)s::text[], %(statuses)s::text[], %(results)s::json[], %(errors)s::text[],
                      %(params)s::json[], %(over)s::bool[]) AS c (path, status, result, error, params, over)
         WHERE steps.run_id = %(run_id)s AND steps.path = c.path
        """,
        {
            "run_id": run_id,
            "now": now,
            "paths": list(changes),
            "statuses": [state.status for state in changes.values()],
            "results": [None if s.result is None else json.dumps(s.result) for s in changes.values()],
            "errors": [state.error for state in changes.values()],
            "params": [json.dumps(params[path]) if path in params else None for path in changes],
            "over": [state.status in over for state in changes.values()],
        },
    )


async def lease_reads(conn: Conn, worker: str, now: datetime, until: datetime, limit: int) -> list[ReadLease]:
    """Lease reads that are free, whose back-off has passed, or whose lease ran out (a read may be done twice)."""
    rows = await (
        await conn.execute(
            """
            WITH due AS MATERIALIZED (
                SELECT run_id, path FROM steps
                 WHERE is_read AND (status = 'ready' OR status = 'failed_retryable' AND next_try_at <= %(now)s
                                    OR status = 'running' AND lease_expires_at < %(now)s)
                 LIMIT %(limit)s FOR UPDATE SKIP LOCKED
            )
            UPDATE steps SET status = 'running', attempt = attempt + 1, lease_owner = %(worker)s,
                   lease_expires_at = %(until)s
              FROM due, runs
             WHERE steps.run_id = due.run_id AND steps.path = due.path AND runs.run_id = due.run_id
            RETURNING steps.run_id, runs.tenant, steps.path, steps.params, steps.attempt, runs.definition_name,
                      runs.definition_version
            """,
            {"worker": worker, "now": now, "until": until, "limit": limit},
        )
    ).fetchall()
    return [ReadLease(**row) for row in rows]


async def holds_read(conn: Conn, lease: ReadLease, worker: str) -> bool:
    """Return whether the lease is still this worker's; the caller holds the run's row."""
    row = await (
        await conn.execute(
            "SELECT 1 FROM steps WHERE run_id = %s AND path = %s AND attempt = %s AND lease_owner = %s"
            " AND status = 'running'",
            (lease.run_id, lease.path, lease.attempt, worker),
        )
    ).fetchone()
    return row is not None


async def postpone_read(conn: Conn, lease: ReadLease, next_try_at: datetime) -> None:
    """Say when a failed read is to be tried again."""
    await conn.execute(
        "UPDATE steps SET next_try_at = %s WHERE run_id = %s AND path = %s",
        (next_try_at, lease.run_id, lease.path),
    )


async def run_summary(conn: Conn, tenant: str, run_id: str) -> dict[str, Any] | None:
    """Return a run and its steps as the HTTP edge shows them, or None."""
    run = await (
        await conn.execute(
            """
            SELECT r.run_id, r.tenant, r.trigger_type, r.trigger_ref, r.definition_name, r.definition_version, r.status,
                   r.error, r.requested_by, r.submitted_by, r.created_at, r.finished_at, b.sha256, b.location
              FROM runs r LEFT JOIN evidence_bundles b USING (run_id) WHERE r.tenant = %s AND r.run_id = %s
            """,
            (tenant, run_id),
        )
    ).fetchone()
    if run is None:
        return None
    steps = await (
        await conn.execute("SELECT path, verb, status, error FROM steps WHERE run_id = %s ORDER BY position", (run_id,))
    ).fetchall()
    return {**run, "steps": steps}
