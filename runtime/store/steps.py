"""Steps of runs, and the leases of reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from runtime.definitions.model import Definition
from runtime.model.run import ReadLease, StepState
from runtime.model.states import STEP, StepStatus, is_final
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind, json_text, read_json

_OPEN = [status for status in StepStatus if not is_final(STEP, status)]
_OVER = frozenset(status for status in StepStatus if is_final(STEP, status))
_STATE = (
    ("status", "text"),
    ("result", "json"),
    ("error", "text"),
    ("error_code", "text"),
    ("params", "json"),
    ("kept", "json"),
    ("over", "bool"),
    ("now", "timestamptz"),
)
_MOVED = WriteKind(
    "moved",
    "steps",
    """
    UPDATE steps SET status = r.status, result = r.result, error = r.error, error_code = r.error_code,
           params = coalesce(r.params, steps.params), kept = coalesce(r.kept, steps.kept),
           started_at = CASE WHEN r.status IN ('ready', 'running') THEN coalesce(steps.started_at, r.now)
                             ELSE steps.started_at END,
           finished_at = CASE WHEN r.over THEN r.now END,
           lease_owner = NULL, lease_expires_at = NULL, next_try_at = NULL
      FROM {r} WHERE steps.run_id = r.run_id AND steps.path = r.path
    """,
    (
        ("run_id", "text"),
        ("path", "text"),
        *_STATE,
    ),
    key=2,
)
_ENTERED = WriteKind(
    "entered",
    "steps",
    """
    INSERT INTO steps (run_id, path, position, verb, handler, is_read, status, result, error, error_code, params, kept,
                       started_at, finished_at)
    SELECT run_id, path, position, verb, handler, is_read, status, result, error, error_code, params, kept,
           CASE WHEN status IN ('ready', 'running') THEN now END, CASE WHEN over THEN now END FROM {r}
    """,
    (
        ("run_id", "text"),
        ("path", "text"),
        ("position", "int"),
        ("verb", "text"),
        ("handler", "text"),
        ("is_read", "bool"),
        *_STATE,
    ),
    key=2,
)
_KEPT = WriteKind(
    "kept",
    "steps",
    "UPDATE steps SET kept = r.kept FROM {r} WHERE steps.run_id = r.run_id AND steps.path = r.path",
    (("run_id", "text"), ("path", "text"), ("kept", "json")),
    key=2,
)


def first_steps(definition: Definition) -> list[tuple[str, int, str, str, bool]]:
    """Return path, position, verb, handler and whether it passes no gate, of the steps with which each run begins."""
    return [_place(definition, path) for path in definition.block("")]


def steps_before(definition: Definition) -> dict[str, StepState]:
    """Return the steps of a run that has not started, in the definition's order: nobody but its start moves them."""
    paths = sorted(definition.block(""), key=definition.position)
    return {path: StepState(StepStatus.PENDING) for path in paths}


def _place(definition: Definition, path: str) -> tuple[str, int, str, str, bool]:
    """Return path, position, verb, handler and whether it is a read that passes no gate.

    A node that calls no verb has its kind's name.
    """
    node, verb = definition.node(path), definition.calls(path)
    position = definition.position(path)
    if verb is None:
        return path, position, node.kind.value, "", False
    return path, position, node.verb, verb.handler, not verb.passes_gate


@dataclass(frozen=True)
class WantedSteps:
    """Steps of a run that are to be loaded: these, or all of them."""

    run_id: str
    paths: frozenset[str] | None


Loaded = tuple[dict[str, StepState], frozenset[StepStatus]]


async def load_steps(conn: Conn, wanted: Sequence[WantedSteps]) -> list[Loaded]:
    """Return, of each run, the states of its steps in the definition's order; and the statuses among the others.

    Of the others' statuses those count that have not ended.
    """
    rows = await conn.look(
        """
        SELECT w.number, s.path, s.status, s.result, s.error, s.error_code, s.kept, s.position
          FROM unnest(%(runs)b::text[], %(all)b::bool[]) WITH ORDINALITY AS w (run_id, every, number)
          JOIN steps s USING (run_id) WHERE w.every
        UNION ALL
        SELECT w.number, s.path, s.status, s.result, s.error, s.error_code, s.kept, s.position
          FROM unnest(%(run_of)b::text[], %(paths)b::text[], %(numbers)b::int[]) AS w (run_id, path, number)
          JOIN steps s USING (run_id, path)
        UNION ALL
        SELECT w.number, NULL, open.status, NULL, '', '', NULL, -1
          FROM unnest(%(runs)b::text[], %(all)b::bool[]) WITH ORDINALITY AS w (run_id, every, number),
               unnest(%(open)b::text[]) AS open (status),
               LATERAL (SELECT FROM steps o WHERE o.run_id = w.run_id AND o.status = open.status
                           AND o.run_id || '/' || o.path <> ALL(%(named)b::text[])
                           AND o.status IN
                               ('pending', 'ready', 'running', 'waiting_approval', 'parked', 'failed_retryable',
                                'needs_attention')
                         LIMIT 1) AS others
         WHERE NOT w.every
         ORDER BY number, position
        """,
        _wanted(wanted),
        table="steps",
        keys={one.run_id for one in wanted},
    )
    of_run: dict[int, list[Mapping[str, Any]]] = {number: [] for number in range(1, len(wanted) + 1)}
    for row in rows:
        of_run[row["number"]].append(row)
    return [_loaded(found) for found in of_run.values()]


def _wanted(wanted: Sequence[WantedSteps]) -> dict[str, Any]:
    named = [(one.run_id, path, number) for number, one in enumerate(wanted, 1) for path in one.paths or ()]
    return {
        "runs": [one.run_id for one in wanted],
        "all": [one.paths is None for one in wanted],
        "run_of": [run_id for run_id, _, _ in named],
        "paths": [path for _, path, _ in named],
        "named": [f"{run_id}/{path}" for run_id, path, _ in named],
        "numbers": [number for _, _, number in named],
        "open": _OPEN,
    }


def _loaded(rows: Sequence[Mapping[str, Any]]) -> Loaded:
    steps = {
        row["path"]: StepState(StepStatus(row["status"]), row["result"], row["error"], row["error_code"], row["kept"])
        for row in rows
        if row["path"] is not None
    }
    return steps, frozenset(StepStatus(row["status"]) for row in rows if row["path"] is None)


def loaded_of(steps: Mapping[str, StepState], paths: frozenset[str] | None) -> Loaded:
    """Return what `load_steps` does of a run, of which all steps are known."""
    if paths is None:
        return dict(steps), frozenset()
    others = frozenset(state.status for path, state in steps.items() if path not in paths and state.status not in _OVER)
    return {path: state for path, state in steps.items() if path in paths}, others


def as_stored(state: StepState) -> StepState:
    """Return a step's state as it will be read: what it holds goes through the same JSON."""
    if state.result is None and state.kept is None:
        return state
    result, kept = (None if value is None else read_json(json_text(value)) for value in (state.result, state.kept))
    return replace(state, result=result, kept=kept)


async def step_status(conn: Conn, run_id: str, path: str) -> StepStatus:
    """Return the status of a step; the caller holds the run's row."""
    row = await conn.row("SELECT status FROM steps WHERE run_id = %s AND path = %s", (run_id, path))
    if row is None:
        raise LookupError(f"run {run_id} has no step {path}")
    return StepStatus(row["status"])


async def step_result(conn: Conn, run_id: str, path: str) -> Any:
    """Return a step's result; None where there is none."""
    row = await conn.row("SELECT result FROM steps WHERE run_id = %s AND path = %s", (run_id, path))
    return row["result"] if row else None


async def write_steps(
    conn: Conn,
    run_id: str,
    changes: Mapping[str, StepState],
    params: Mapping[str, Any],
    now: datetime,
) -> None:
    """Write the steps that changed; `params` holds the resolved params of those that start."""
    for path, state in changes.items():
        await conn.gather(_MOVED, (run_id, path, *_step_values(state, params.get(path), now)))


async def start_step(conn: Conn, run_id: str, path: str, now: datetime) -> None:
    """Say that a step that is ready runs now; what became ready in this transaction is written as running."""
    key, status = (run_id, path), StepStatus.RUNNING
    if not conn.amend(_MOVED, key, status=status) and not conn.amend(_ENTERED, key, status=status):
        await write_steps(conn, run_id, {path: StepState(status)}, {}, now)


async def enter_steps(
    conn: Conn,
    run_id: str,
    definition: Definition,
    new: Mapping[str, StepState],
    params: Mapping[str, Any],
    now: datetime,
) -> None:
    """Give steps their rows: the block in which they stand was entered."""
    for path, state in new.items():
        await conn.gather(_ENTERED, (run_id, *_place(definition, path), *_step_values(state, params.get(path), now)))


async def keep_steps(conn: Conn, run_id: str, kept: Mapping[str, Any]) -> None:
    """Write what steps that go on keep from now on."""
    for path, value in kept.items():
        await conn.gather(_KEPT, (run_id, path, json_text(value)))


def _step_values(state: StepState, params: Any, now: datetime) -> tuple[Any, ...]:
    """Return what the columns of `_STATE` hold; `params` is None for a step that does not start."""
    said = (state.status, _text(state.result), state.error, state.error_code, _text(params), _text(state.kept))
    return (*said, state.status in _OVER, now)


def _text(value: Any) -> str | None:
    return None if value is None else json_text(value)


async def holds_read(conn: Conn, lease: ReadLease, worker: str) -> bool:
    """Return whether the lease is still this worker's; the caller holds the run's row."""
    row = await conn.row(
        "SELECT 1 FROM steps WHERE run_id = %s AND path = %s AND attempt = %s AND lease_owner = %s"
        " AND status = 'running'",
        (lease.run_id, lease.path, lease.attempt, worker),
    )
    return row is not None


async def postpone_read(conn: Conn, lease: ReadLease, next_try_at: datetime, *, taken: bool, is_blocked: bool) -> None:
    """Say when a failed read is to be tried again, and whether it was `taken` at all this time."""
    await conn.execute(
        "UPDATE steps SET next_try_at = %s, waited = waited + %s, was_blocked = %s WHERE run_id = %s AND path = %s",
        (next_try_at, 0 if taken else 1, is_blocked, lease.run_id, lease.path),
    )


async def wake_reads(conn: Conn, run_id: str, now: datetime) -> list[str]:
    """Let a run's reads that wait for a pause to pass be tried now; return their paths."""
    rows = await conn.rows(
        "UPDATE steps SET next_try_at = %s WHERE run_id = %s AND is_read AND status = 'failed_retryable'"
        " AND next_try_at > %s RETURNING path",
        (now, run_id, now),
    )
    return [row["path"] for row in rows]
