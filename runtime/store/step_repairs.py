"""Step repairs and blocked effects: what waits for a person to repair it, and the messages that ask people to.

A step that needs attention failed, and a person says how it goes on. A blocked effect waits until somebody fixes
its cause outside.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.model.run import FoundStep, Tried
from runtime.model.search import RunFilter, UnknownRowError
from runtime.model.states import EffectStatus, StepStatus
from runtime.store.database.pool import Conn
from runtime.store.operator_lists import narrowed

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
    row = await conn.row(query, (tenant, run_id, path))
    return _found(row) if row else None


_ALL = RunFilter()


async def list_steps_needing_attention(
    conn: Conn, tenant: str, limit: int, by: RunFilter = _ALL, after: str | None = None
) -> list[FoundStep]:
    """Return the tenant's steps that need attention, those of the newest run first.

    `after` names the step behind which the list goes on, as ``RUN:PATH``; raise UnknownRowError where it is none.
    """
    given = {"tenant": tenant, "limit": limit, **vars(by)}
    behind = ""
    if after is not None:
        run_id, _, path = after.partition(":")
        if await find_step(conn, tenant, run_id, path) is None:
            raise UnknownRowError(f"there is no step {path} of a run {run_id} to continue behind")
        given |= {"run_id": run_id, "path": path}
        behind = """
            AND (r.created_at, s.run_id, s.path)
              < ((SELECT created_at FROM runs WHERE run_id = %(run_id)s), %(run_id)s, %(path)s)
        """  # none of them moves while somebody pages
    query = f"""
        {_FOUND}
         WHERE r.tenant = %(tenant)s AND s.status = 'needs_attention' AND {narrowed(by, "r.updated_at")} {behind}
         ORDER BY r.created_at DESC, s.run_id DESC, s.path DESC LIMIT %(limit)s
    """
    return [_found(row) for row in await conn.rows(query, given)]


async def count_steps_needing_attention(conn: Conn, tenant: str) -> int:
    """Return how many of the tenant's steps need attention."""
    query = (
        "SELECT count(*) AS total FROM steps s JOIN runs r USING (run_id)"
        " WHERE r.tenant = %s AND s.status = 'needs_attention'"
    )
    row = await conn.row(query, (tenant,))
    return int(row["total"]) if row else 0


def _found(row: Mapping[str, Any]) -> FoundStep:
    return FoundStep(**{**row, "status": StepStatus(row["status"])})


async def step_tries(conn: Conn, run_id: str, path: str) -> Tried:
    """Return what a step has wanted so far; the caller holds the run's row."""
    row = await conn.row(
        """
        SELECT count(*) AS effects, coalesce(bool_or(status = 'dispatched'), false) AS done,
               coalesce(bool_or(status IN ('pending', 'leased', 'deferred', 'in_doubt', 'blocked')), false)
               AS unsettled
          FROM effects WHERE run_id = %s AND step = %s AND purpose = 'step'
        """,
        (run_id, path),
    )
    if row is None:
        raise LookupError("a count that counts, did not")
    return Tried(**row)


async def count_repair(conn: Conn, run_id: str, path: str) -> None:
    """Note that a person lets a step go on: what others saw before is not how it is any more."""
    await conn.execute("UPDATE steps SET version = version + 1 WHERE run_id = %s AND path = %s", (run_id, path))


async def forget_tries(conn: Conn, run_id: str, path: str) -> None:
    """Let a read have all its attempts and all its time again; the number of its attempts goes on."""
    await conn.execute(
        "UPDATE steps SET waited = attempt, was_blocked = false, started_at = NULL WHERE run_id = %s AND path = %s",
        (run_id, path),
    )


@dataclass(frozen=True)
class BlockedEffects:
    """Effects that are blocked by the same cause outside."""

    operation: str  # with its connector: ``slack::post_card``
    target: str
    error: str  # what the other side said last
    count: int


async def list_blocked_effects(conn: Conn, tenant: str) -> list[BlockedEffects]:
    """Return what blocks the tenant's effects, the most frequent first."""
    rows = await conn.rows(
        """
        SELECT connector || '::' || operation AS operation, target, error, count(*) AS count FROM effects
         WHERE tenant = %s AND status = 'blocked' GROUP BY connector, operation, target, error
         ORDER BY count(*) DESC, connector, operation, target, error
        """,
        (tenant,),
    )
    return [BlockedEffects(**row) for row in rows]


NEVER_POSTED = (EffectStatus.FAILED, EffectStatus.REJECTED)
"""How an effect ends that was not performed."""


@dataclass(frozen=True)
class StepRepairMessage:
    """A message that asks for a step's repair: the effect that posts it, to whom it goes, and what it says."""

    effect_id: str
    target: str
    said: Mapping[str, Any]


@dataclass(frozen=True)
class PostedMessage:
    """What became of a message: what Slack answered when it was posted, and how its effect stands."""

    status: EffectStatus
    answer: Mapping[str, Any] | None


async def messages_about(conn: Conn, run_id: str, step: str | None) -> list[StepRepairMessage]:
    """Return the messages that ask for the repair of a run's step, or of all of them; none that was never posted."""
    rows = await conn.rows(
        """
        SELECT effect_id, target, fields -> 'said' AS said FROM effects
         WHERE run_id = %(run_id)s AND purpose = 'message' AND fields -> 'said' ->> 'kind' = 'step_needs_attention'
           AND operation IN ('post_message', 'direct_message') AND status <> ALL(%(never)s)
           AND (%(step)s::text IS NULL OR fields -> 'said' ->> 'step' = %(step)s)
         ORDER BY created_at, effect_id
        """,
        {"run_id": run_id, "step": step, "never": list(NEVER_POSTED)},
    )
    return [StepRepairMessage(**row) for row in rows]


async def find_posted(conn: Conn, tenant: str, effect_id: str) -> PostedMessage | None:
    """Return what became of a message, or None where the tenant has no such effect."""
    row = await conn.row(
        """
        SELECT e.status, r.response AS answer FROM effects e LEFT JOIN receipts r
            ON (r.tenant, r.idempotency_key, r.outcome) = (e.tenant, e.idempotency_key, 'success')
         WHERE e.tenant = %s AND e.effect_id = %s
        """,
        (tenant, effect_id),
    )
    return PostedMessage(EffectStatus(row["status"]), row["answer"]) if row else None
