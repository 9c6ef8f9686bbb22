"""The messages that ask people about held steps: which there are, and where they stand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.model.states import EffectStatus
from runtime.store.database.pool import Conn

NEVER = (EffectStatus.FAILED, EffectStatus.REJECTED)
"""How an effect ends that was not performed."""


@dataclass(frozen=True)
class Asking:
    """A message that asks about a held step: the effect that posts it, to whom it goes, and what it says."""

    effect_id: str
    target: str
    said: Mapping[str, Any]


@dataclass(frozen=True)
class Posted:
    """What became of a message: what Slack answered when it was posted, and how its effect stands."""

    status: EffectStatus
    answer: Mapping[str, Any] | None


async def asking(conn: Conn, run_id: str, step: str | None) -> list[Asking]:
    """Return the messages about a held step of a run, or about all of them; not those that were never posted."""
    rows = await (
        await conn.execute(
            """
            SELECT effect_id, target, fields -> 'said' AS said FROM effects
             WHERE run_id = %(run_id)s AND purpose = 'message' AND fields -> 'said' ->> 'kind' = 'step_held'
               AND operation IN ('post_message', 'direct_message') AND status <> ALL(%(never)s)
               AND (%(step)s::text IS NULL OR fields -> 'said' ->> 'step' = %(step)s)
             ORDER BY created_at, effect_id
            """,
            {"run_id": run_id, "step": step, "never": list(NEVER)},
        )
    ).fetchall()
    return [Asking(**row) for row in rows]


async def find_posted(conn: Conn, tenant: str, effect_id: str) -> Posted | None:
    """Return what became of a message, or None where the tenant has no such effect."""
    row = await (
        await conn.execute(
            """
            SELECT e.status, r.response AS answer FROM effects e LEFT JOIN receipts r
                ON (r.tenant, r.idempotency_key, r.outcome) = (e.tenant, e.idempotency_key, 'success')
             WHERE e.tenant = %s AND e.effect_id = %s
            """,
            (tenant, effect_id),
        )
    ).fetchone()
    return Posted(EffectStatus(row["status"]), row["answer"]) if row else None
