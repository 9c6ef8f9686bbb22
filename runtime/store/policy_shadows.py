"""Policy shadows: the windows of candidate policies, their next decisions, and the differences.

Decisions are read in the order of the tenant's audit log, so that none is skipped or counted twice.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn

KEPT = 1_000
"""Differences kept for each class of a window; more are only counted."""

_WINDOW = "shadow_id, candidate, began_at, ended_at, first_place, next_place, counts"


@dataclass(frozen=True)
class Window:
    """A window of a candidate (digest): the log positions of its first decision and of the next one."""

    shadow_id: str
    candidate: str
    began_at: datetime
    ended_at: datetime | None
    first_place: int
    next_place: int
    counts: Mapping[str, int]


async def open_window(conn: Conn, tenant: str, candidate: str, new_id: str, now: datetime) -> Window:
    """Return the candidate's open window; if there is none, end another candidate's and begin one.

    This is one transaction. A new window begins at the end of the log.
    """
    async with conn.transaction():
        await conn.execute("SELECT FROM tenants WHERE tenant = %s FOR UPDATE", (tenant,))
        found = await find_open(conn, tenant)
        if found is not None and found.candidate == candidate:
            return found
        await conn.execute(
            "UPDATE policy_shadows SET ended_at = %s WHERE tenant = %s AND ended_at IS NULL", (now, tenant)
        )
        size = await log_size(conn, tenant)
        await conn.execute(
            "INSERT INTO policy_shadows (shadow_id, tenant, candidate, began_at, first_place, next_place)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            (new_id, tenant, candidate, now, size, size),
        )
    return Window(new_id, candidate, now, None, size, size, {})


async def find_open(conn: Conn, tenant: str) -> Window | None:
    """Return the tenant's open window, or None."""
    row = await conn.row(f"SELECT {_WINDOW} FROM policy_shadows WHERE tenant = %s AND ended_at IS NULL", (tenant,))  # noqa: S608
    return Window(**row) if row else None


async def list_windows(conn: Conn, tenant: str) -> list[Window]:
    """Return the tenant's windows, the newest first."""
    query = f"SELECT {_WINDOW} FROM policy_shadows WHERE tenant = %s ORDER BY began_at DESC, shadow_id DESC"  # noqa: S608
    return [Window(**row) for row in await conn.rows(query, (tenant,))]


async def log_size(conn: Conn, tenant: str) -> int:
    """Return the size of the tenant's log, in leaves."""
    row = await conn.row("SELECT size FROM log_heads WHERE tenant = %s", (tenant,))
    return row["size"] if row else 0


async def decisions_between(conn: Conn, tenant: str, start: int, end: int) -> list[dict[str, Any]]:
    """Return the decisions with log positions from `start` to before `end`, in order."""
    return await conn.rows(
        """
        SELECT d.run_id, d.seq, e.tenant, d.at, d.document
          FROM log_entries e JOIN policy_decisions d
            ON d.run_id = e.chain AND d.seq >= e.first_seq AND d.seq < e.first_seq + e.count
         WHERE e.tenant = %(tenant)s AND e.first_index < %(end)s
           AND e.first_index >= coalesce((SELECT max(first_index) FROM log_entries
                                           WHERE tenant = %(tenant)s AND first_index <= %(start)s), 0)
           AND e.first_index + d.seq - e.first_seq >= %(start)s AND e.first_index + d.seq - e.first_seq < %(end)s
         ORDER BY e.first_index, d.seq
        """,
        {"tenant": tenant, "start": start, "end": end},
    )


async def keep_asked(
    conn: Conn, window: Window, next_place: int, counts: Mapping[str, int], found: Iterable[tuple[str, str, str]]
) -> bool:
    """Advance a window and store differences (decision, class, JSON); return whether it did.

    It does nothing if the window has ended, or if another process has advanced it.
    """
    moved = await conn.row(
        """
        WITH moved AS (
            UPDATE policy_shadows SET next_place = %(next)s, counts = %(counts)s
             WHERE shadow_id = %(id)s AND next_place = %(place)s AND ended_at IS NULL RETURNING shadow_id
        ), kept AS (
            INSERT INTO shadow_differences (shadow_id, decision_id, kind, document)
            SELECT moved.shadow_id, decision_id, kind, document
              FROM moved, json_to_recordset(%(found)s::json) AS r (decision_id text, kind text, document json)
        )
        SELECT count(*) AS moved FROM moved
        """,
        {
            "id": window.shadow_id,
            "place": window.next_place,
            "next": next_place,
            "counts": json.dumps(counts),
            "found": f"[{','.join(_row(*one) for one in found)}]",
        },
    )
    return bool(moved and moved["moved"])


def _row(decision_id: str, kind: str, document: str) -> str:
    return f'{{"decision_id":{json.dumps(decision_id)},"kind":{json.dumps(kind)},"document":{document}}}'


async def differences_of(conn: Conn, shadow_id: str, kind: str, limit: int) -> list[dict[str, Any]]:
    """Return the first stored differences of a class."""
    query = "SELECT document FROM shadow_differences WHERE shadow_id = %s AND kind = %s ORDER BY decision_id LIMIT %s"
    return [row["document"] for row in await conn.rows(query, (shadow_id, kind, limit))]
