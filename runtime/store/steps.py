"""Steps of runs, and the leases of reads."""

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from runtime.definitions.model import Definition
from runtime.model.run import ReadLease, StepState
from runtime.model.states import STEP, StepStatus, is_final
from runtime.store.database.pool import Conn

_OPEN = [status for status in StepStatus if not is_final(STEP, status)]


async def _insert_steps(conn: Conn, run_id: str, definition: Definition) -> None:
    paths = list(definition.steps)
    await conn.execute(
        """
        INSERT INTO steps (run_id, path, position, verb, handler, status, is_read)
        SELECT %s, path, position, verb, handler, 'pending', is_read
          FROM unnest(%s::text[], %s::int[], %s::text[], %s::text[], %s::bool[])
               AS s (path, position, verb, handler, is_read)
        """,
        (
            run_id,
            paths,
            list(range(len(paths))),
            [definition.steps[path].verb for path in paths],
            [definition.verb_of(path).handler for path in paths],
            [definition.verb_of(path).effect_class == "read" for path in paths],
        ),
    )


async def load_steps(
    conn: Conn, run_id: str, paths: Collection[str] | None
) -> tuple[dict[str, StepState], frozenset[StepStatus]]:
    """Return the states of these steps, or of all, in the definition's order; and the statuses among the others.

    Of the others' statuses those count that have not ended.
    """
    if paths is None:
        every = "SELECT path, status, result, error FROM steps WHERE run_id = %s ORDER BY position"
        return _states(await (await conn.execute(every, (run_id,))).fetchall()), frozenset()
    rows = await (
        await conn.execute(
            """
            SELECT path, status, result, error, position FROM steps WHERE run_id = %(run_id)s AND path = ANY(%(paths)s)
            UNION ALL
            SELECT NULL, open.status, NULL, '', -1 FROM unnest(%(open)s::text[]) AS open (status)
             WHERE EXISTS (SELECT 1 FROM steps o WHERE o.run_id = %(run_id)s AND o.status = open.status
                              AND o.path <> ALL(%(paths)s) AND o.status IN
                                  ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable'))
             ORDER BY position
            """,
            {"run_id": run_id, "paths": list(paths), "open": _OPEN},
        )
    ).fetchall()
    others = frozenset(StepStatus(row["status"]) for row in rows if row["path"] is None)
    return _states(row for row in rows if row["path"] is not None), others


def _states(rows: Iterable[Mapping[str, Any]]) -> dict[str, StepState]:
    return {row["path"]: StepState(StepStatus(row["status"]), row["result"], row["error"]) for row in rows}


async def step_status(conn: Conn, run_id: str, path: str) -> StepStatus:
    """Return the status of a step; the caller holds the run's row."""
    row = await (
        await conn.execute("SELECT status FROM steps WHERE run_id = %s AND path = %s", (run_id, path))
    ).fetchone()
    if row is None:
        raise LookupError(f"run {run_id} has no step {path}")
    return StepStatus(row["status"])


async def step_result(conn: Conn, run_id: str, path: str) -> Any:
    """Return a step's result; None where there is none."""
    row = await (
        await conn.execute("SELECT result FROM steps WHERE run_id = %s AND path = %s", (run_id, path))
    ).fetchone()
    return row["result"] if row else None


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


async def postpone_read(conn: Conn, lease: ReadLease, next_try_at: datetime, *, taken: bool, held: bool) -> None:
    """Say when a failed read is to be tried again, and whether it was `taken` at all this time."""
    await conn.execute(
        "UPDATE steps SET next_try_at = %s, waited = waited + %s, held = %s WHERE run_id = %s AND path = %s",
        (next_try_at, 0 if taken else 1, held, lease.run_id, lease.path),
    )


async def wake_reads(conn: Conn, run_id: str, now: datetime) -> list[str]:
    """Let a run's reads that wait for a pause to pass be tried now; return their paths."""
    rows = await (
        await conn.execute(
            "UPDATE steps SET next_try_at = %s WHERE run_id = %s AND is_read AND status = 'failed_retryable'"
            " AND next_try_at > %s RETURNING path",
            (now, run_id, now),
        )
    ).fetchall()
    return [row["path"] for row in rows]
