"""Steps that are held: who looks for them, what policy is told of one, and what a new try of one starts from."""

from collections.abc import Mapping
from typing import Any

from runtime.model.run import FoundStep, Tried
from runtime.model.states import StepStatus
from runtime.store.database.pool import Conn

_FOUND = """
    SELECT s.run_id, s.path, s.verb, s.status, s.error, s.error_code, r.status AS run_status, s.version,
           convert_from(d.canonical, 'UTF8')::json ->> 'title' AS title,
           r.definition_name, r.definition_version, r.trigger_type, r.trigger_ref,
           r.requested_by, r.submitted_by, r.updated_at,
           EXISTS (SELECT FROM approvals a
                    WHERE a.run_id = s.run_id AND a.step = s.path AND a.kind = 'effect') AS signed
      FROM steps s JOIN runs r USING (run_id)
      JOIN definitions d ON (d.name, d.version) = (r.definition_name, r.definition_version)
"""


async def find_step(conn: Conn, tenant: str, run_id: str, path: str) -> FoundStep | None:
    """Return a step of one of the tenant's runs, or None."""
    query = f"{_FOUND} WHERE r.tenant = %s AND s.run_id = %s AND s.path = %s"
    row = await (await conn.execute(query.encode(), (tenant, run_id, path))).fetchone()
    return _found(row) if row else None


async def list_held(conn: Conn, tenant: str, limit: int) -> list[FoundStep]:
    """Return the tenant's held steps, those of the run that moved last first."""
    query = f"{_FOUND} WHERE r.tenant = %s AND s.status = 'held' ORDER BY r.updated_at DESC, s.run_id, s.path LIMIT %s"
    rows = await (await conn.execute(query.encode(), (tenant, limit))).fetchall()
    return [_found(row) for row in rows]


async def count_held(conn: Conn, tenant: str) -> int:
    """Return how many of the tenant's steps are held."""
    query = "SELECT count(*) AS held FROM steps s JOIN runs r USING (run_id) WHERE r.tenant = %s AND s.status = 'held'"
    row = await (await conn.execute(query, (tenant,))).fetchone()
    return int(row["held"]) if row else 0


def _found(row: Mapping[str, Any]) -> FoundStep:
    return FoundStep(**{**row, "status": StepStatus(row["status"])})


async def tried(conn: Conn, run_id: str, path: str) -> Tried:
    """Return what a step has wanted so far; the caller holds the run's row."""
    row = await (
        await conn.execute(
            """
            SELECT count(*) AS effects, coalesce(bool_or(status = 'dispatched'), false) AS done,
                   coalesce(bool_or(status IN ('pending', 'leased', 'deferred', 'in_doubt', 'held')), false)
                   AS unsettled
              FROM effects WHERE run_id = %s AND step = %s AND purpose = 'step'
            """,
            (run_id, path),
        )
    ).fetchone()
    if row is None:
        raise LookupError("a count that counts, did not")
    return Tried(**row)


async def count_act(conn: Conn, run_id: str, path: str) -> None:
    """Note that a person lets a step go on: what others saw before is not how it is any more."""
    await conn.execute("UPDATE steps SET version = version + 1 WHERE run_id = %s AND path = %s", (run_id, path))


async def forget_tries(conn: Conn, run_id: str, path: str) -> None:
    """Let a read have all its attempts and all its time again; the number of its attempts goes on."""
    await conn.execute(
        "UPDATE steps SET waited = attempt, held = false, started_at = NULL WHERE run_id = %s AND path = %s",
        (run_id, path),
    )
