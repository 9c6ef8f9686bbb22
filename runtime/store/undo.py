"""Undo: what the steps of a run did, with the receipts of it, and what has undone it since."""

from dataclasses import dataclass
from typing import Any

from receipts.chain import REPAIR_DECIDED
from runtime.model.undo import BY_HAND, UNDO, name_of, refs_of
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class Undoing:
    """A run that undoes another: its number among those, and the ids of the receipts that it is for.

    `by_hand` says that people did by hand what it could not.
    """

    run_id: str
    number: int
    is_over: bool
    by_hand: bool
    receipts: tuple[str, ...]


async def effects_of(conn: Conn, run_id: str) -> list[dict[str, Any]]:
    """Return the effects of a run's steps, in the order of the receipts of their success; without one, last.

    Each row has step, step_status, connector, operation, target, status, has_begun, before; the receipt's receipt_id
    and document, null where there is none; undone_in, the run that undid it; and is_last: the step has wanted no other
    since.
    """
    return await conn.rows(
        """
        SELECT e.step, s.status AS step_status, e.connector, e.operation, e.target, e.status, e.before,
               e.started_at IS NOT NULL OR e.status = 'leased' AS has_begun,
               r.receipt_id, r.document, u.run_id AS undone_in,
               e.created_at = max(e.created_at) OVER (PARTITION BY e.step) AS is_last
          FROM effects e
          JOIN steps s ON s.run_id = e.run_id AND s.path = e.step
          LEFT JOIN receipts r ON r.run_id = e.run_id AND r.effect_id = e.effect_id AND r.outcome = 'success'
          LEFT JOIN receipts u ON u.tenant = e.tenant AND u.idempotency_key = 'undo:' || r.receipt_id
                              AND u.outcome = 'success'
         WHERE e.run_id = %s AND e.purpose = 'step'
         ORDER BY r.seq NULLS LAST, s.position, e.created_at, e.effect_id
        """,
        (run_id,),
    )


async def supplied_in(conn: Conn, run_id: str) -> dict[str, str]:
    """Return the steps of a run whose result a person gave, each with who that was, in the order in which they did."""
    rows = await conn.rows(
        """
        SELECT leaf ->> 'step' AS step, leaf -> 'actor' ->> 'id' AS person
          FROM leaf_sets CROSS JOIN json_array_elements(leaves) WITH ORDINALITY AS l (leaf, place)
         WHERE run_id = %s AND leaf ->> 'event' = %s AND leaf -> 'data' ->> 'act' = 'supply' ORDER BY first_seq, place
        """,
        (run_id, REPAIR_DECIDED),
    )
    return {row["step"]: row["person"] for row in rows}


async def undoings_of(conn: Conn, tenant: str, run_id: str) -> list[Undoing]:
    """Return the runs that undo a run, by their numbers."""
    rows = await conn.rows(
        """
        SELECT u.run_id, d.version, u.finished_at IS NOT NULL AS is_over, u.trigger,
               coalesce(s.result ->> 'decision' = 'approved', false) AS by_hand
          FROM definitions d
          JOIN runs u ON u.tenant = %(tenant)s AND u.trigger_type = %(trigger_type)s
                     AND u.trigger_ref = %(ref)s || d.version
          LEFT JOIN steps s ON s.run_id = u.run_id AND s.path = %(by_hand)s
         WHERE d.name = %(name)s ORDER BY d.version
        """,
        {
            "tenant": tenant,
            "trigger_type": UNDO,
            "name": name_of(run_id),
            "ref": refs_of(run_id),
            "by_hand": BY_HAND,
        },
    )
    return [
        Undoing(
            row["run_id"],
            row["version"],
            row["is_over"],
            row["by_hand"],
            tuple(one["receipt_id"] for one in row["trigger"]["receipts"]),
        )
        for row in rows
    ]
