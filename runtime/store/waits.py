"""The waits that notifications resolve."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from runtime.model.states import WaitStatus, WaitType
from runtime.model.wait import Correlate, DueWait, Moment, NamedWait, Progress, Wait, wait_of_token
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind

_COLUMNS = ", ".join(Wait.__dataclass_fields__)
_ENDED = WriteKind(
    "waited",
    "waits",
    """
    UPDATE waits SET status = r.status, resolved_at = r.now
      FROM {r} WHERE waits.wait_id = r.wait_id AND waits.status = 'active'
    """,
    (("run_id", "text"), ("step", "text"), ("wait_id", "text"), ("status", "text"), ("now", "timestamptz")),
    key=2,
)


def _wait(row: Mapping[str, Any]) -> Wait:
    typed = {
        "type": WaitType(row["type"]),
        "correlate": Correlate(row["correlate"]),
        "status": WaitStatus(row["status"]),
        "moments": tuple(Moment.of(moment) for moment in row["moments"]),
    }
    return Wait(**{**row, **typed})


async def open_wait(conn: Conn, wait: Wait, now: datetime) -> None:
    """Open a wait; the database refuses a second one of the step."""
    await conn.execute(
        """
        INSERT INTO waits (wait_id, run_id, step, type, correlation_key, correlate, token, deadline,
                           escalate_at, moments, status, approval_id, created_at)
        VALUES (%(wait_id)s, %(run_id)s, %(step)s, %(type)s, %(correlation_key)s, %(correlate)s, %(token)s,
                %(deadline)s, %(next_at)s, %(moments)s, %(status)s, %(approval_id)s, %(now)s)
        """,
        {**vars(wait), **_of_moments(wait), "now": now},
    )


def _of_moments(wait: Wait) -> dict[str, Any]:
    return {"moments": json.dumps([moment.document() for moment in wait.moments]), "next_at": wait.next_at}


async def open_waits(conn: Conn, named: Sequence[NamedWait]) -> list[Wait | None]:
    """Return each wait if it is still active, or None; the caller holds their runs' rows."""
    rows = await conn.look(
        f"SELECT {_COLUMNS} FROM waits WHERE status = 'active' AND wait_id = ANY(%(ids)s)",  # noqa: S608
        {"ids": [one.wait_id for one in named]},
        table="waits",
        keys={one.run_id for one in named},
    )
    found = {row["wait_id"]: _wait(row) for row in rows}
    return [found.get(one.wait_id) for one in named]


async def waiting_under(conn: Conn, run_id: str, correlation_key: str) -> list[NamedWait]:
    """Return what of a run waits under a key; the caller holds the run's row."""
    rows = await conn.rows(
        "SELECT wait_id, run_id, step, token FROM waits"
        " WHERE status = 'active' AND run_id = %s AND correlation_key = %s ORDER BY wait_id",
        (run_id, correlation_key),
    )
    return [NamedWait(**row) for row in rows]


async def step_wait(conn: Conn, run_id: str, step: str) -> Wait | None:
    """Return what a step waits for, approvals apart, or None."""
    row = await conn.row(
        f"SELECT {_COLUMNS} FROM waits"  # noqa: S608 - our own columns
        " WHERE status = 'active' AND run_id = %s AND step = %s AND type <> 'approval'",
        (run_id, step),
    )
    return _wait(row) if row else None


async def approval_wait(conn: Conn, run_id: str, approval_id: str) -> Wait | None:
    """Return the open wait for an approval's, or a review's, decision, or None; the caller holds its run."""
    row = await conn.row(
        f"SELECT {_COLUMNS} FROM waits"  # noqa: S608 - our own columns
        " WHERE status = 'active' AND run_id = %s AND approval_id = %s",
        (run_id, approval_id),
    )
    return _wait(row) if row else None


async def is_awaited(conn: Conn, token: str) -> bool:
    """Return whether the wait of a token is still active."""
    row = await conn.row(
        "SELECT 1 FROM waits WHERE wait_id = %s AND token = %s AND status = 'active'",
        (wait_of_token(token), token),
    )
    return row is not None


async def last_wait(conn: Conn, run_id: str, step: str) -> Wait | None:
    """Return what a step waits for, or last waited for, approvals apart; None where it never did."""
    row = await conn.row(
        f"SELECT {_COLUMNS} FROM waits WHERE run_id = %s AND step = %s AND type <> 'approval'"  # noqa: S608
        " ORDER BY created_at DESC, wait_id LIMIT 1",
        (run_id, step),
    )
    return _wait(row) if row else None


async def is_answered(conn: Conn, run_id: str, step: str) -> bool:
    """Return whether what a step last waited for has come, whatever it said."""
    wait = await last_wait(conn, run_id, step)
    return wait is not None and wait.status is WaitStatus.COMPLETED


async def had_wait(conn: Conn, tenant: str, correlation_key: str) -> bool:
    """Return whether the tenant ever waited under this key: what is late is stale, what is unmatched a dead letter."""
    row = await conn.row(
        "SELECT 1 FROM waits w JOIN runs r USING (run_id)"
        " WHERE (r.tenant = %s) IS TRUE AND w.correlation_key = %s LIMIT 1",
        (tenant, correlation_key),
    )
    return row is not None


async def close_wait(conn: Conn, wait: Wait, status: WaitStatus, now: datetime) -> None:
    """Compare and set: end a wait that is active; one that had ended before stays as it is."""
    await conn.gather(_ENDED, (wait.run_id, wait.step, wait.wait_id, status, now))


async def close_step_wait(conn: Conn, run_id: str, step: str, status: str, now: datetime) -> None:
    """End whatever a step still waits for: with the step, that is over."""
    await conn.execute(
        "UPDATE waits SET status = %s, resolved_at = %s WHERE run_id = %s AND step = %s AND status = 'active'",
        (status, now, run_id, step),
    )


async def close_approval_wait(conn: Conn, run_id: str, approval_id: str, status: str, now: datetime) -> None:
    """End the wait for an approval's, or a review's, decision."""
    conn.put(
        "UPDATE waits SET status = %(status)s, resolved_at = %(now)s"
        " WHERE run_id = %(run_id)s AND approval_id = %(approval_id)s AND status = 'active'",
        {"status": status, "now": now, "run_id": run_id, "approval_id": approval_id},
    )


async def cancel_waits(conn: Conn, run_id: str, now: datetime) -> None:
    """Cancel every active wait of a run."""
    await conn.execute(
        "UPDATE waits SET status = 'canceled', resolved_at = %s WHERE run_id = %s AND status = 'active'",
        (now, run_id),
    )


async def due_deadlines(conn: Conn, tenant: str, now: datetime, limit: int) -> list[DueWait]:
    """Return active waits whose deadline has come; see `_due`."""
    return await _due(conn, "deadline", "deadline", tenant, now, limit)


async def due_escalations(conn: Conn, tenant: str, now: datetime, limit: int) -> list[DueWait]:
    """Return active waits that are to be escalated; see `_due`."""
    return await _due(conn, "escalate_at", "escalation", tenant, now, limit)


async def _due(conn: Conn, moment: str, kind: str, tenant: str, now: datetime, limit: int) -> list[DueWait]:
    """Return waits whose moment has come, the longest due first; their runs are locked in the caller's transaction.

    Left out are those whose run somebody holds just now, and those that have their signal: the inbox has it.
    """
    rows = await conn.rows(
        f"""
        SELECT w.wait_id, w.token, w.turn FROM waits w JOIN runs r USING (run_id)
         WHERE (r.tenant = %(tenant)s) IS TRUE
           AND w.status = 'active' AND w.{moment} < 'infinity' AND w.{moment} <= %(now)s
           AND NOT EXISTS (SELECT 1 FROM notifications n
                            WHERE n.dedupe_key = %(kind)s || ':' || w.wait_id || ':' || w.token
                                                 || CASE WHEN w.turn > 0 THEN ':' || w.turn ELSE '' END)
         ORDER BY w.{moment} LIMIT %(limit)s FOR UPDATE OF r SKIP LOCKED
        """,  # noqa: S608 - our own columns
        {"tenant": tenant, "now": now, "kind": kind, "limit": limit},
    )
    return [DueWait(**row) for row in rows]


async def progress_of(conn: Conn, wait_id: str) -> tuple[datetime, Progress | None]:
    """Return when a wait was opened, and the newest word of progress for it, or None."""
    row = await conn.row("SELECT created_at, progress FROM waits WHERE wait_id = %s", (wait_id,))
    if row is None:
        raise LookupError(f"no wait {wait_id}")
    return row["created_at"], None if row["progress"] is None else Progress.of(row["progress"])


async def keep_progress(conn: Conn, wait_id: str, progress: Progress) -> None:
    """Keep the newest word of progress for a wait, in the place of the one before; the caller holds its run."""
    await conn.execute("UPDATE waits SET progress = %s WHERE wait_id = %s", (json.dumps(progress.document()), wait_id))


async def progress_by_step(conn: Conn, run_id: str) -> dict[str, dict[str, Any]]:
    """Return the newest word of progress for each step of a run for which there was any."""
    rows = await conn.rows(
        "SELECT DISTINCT ON (step) step, progress::jsonb - 'noted_at' AS progress FROM waits"
        " WHERE run_id = %s AND progress IS NOT NULL ORDER BY step, created_at DESC, wait_id",
        (run_id,),
    )
    return {row["step"]: row["progress"] for row in rows}


async def turn(conn: Conn, wait: Wait) -> None:
    """Keep what is still to come of an active wait, and its deadline; the caller holds its run."""
    await conn.execute(
        "UPDATE waits SET deadline = %(deadline)s, moments = %(moments)s, escalate_at = %(next_at)s, turn = %(turn)s"
        " WHERE wait_id = %(wait_id)s AND status = 'active'",
        {**vars(wait), **_of_moments(wait)},
    )
