"""Open work: what a run, or a step, leaves open when it ends.

It is read once for all that end at the same moment. `OFFSET 0` keeps the planner from reading everybody's open rows at
once where each run's own are a handful.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from runtime.model.approval import Result
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class OpenWork:
    """Whether an ended run still waits, still has effects to do or people to ask; and its last card."""

    waits: bool
    wants: bool
    last_card: str | None


class EndedRun(NamedTuple):
    """A run that ends; with `beside`, all of it but one request, the effect that this is about and the wait for it."""

    run_id: str
    beside: str | None = None
    effect_id: str | None = None


async def open_work_of(conn: Conn, runs: Sequence[EndedRun]) -> list[OpenWork]:
    """Return what each run leaves open."""
    rows = await conn.look(
        """
        SELECT EXISTS (SELECT FROM waits w WHERE w.run_id = r.run_id AND w.status = 'active'
                          AND (w.approval_id = r.beside) IS NOT TRUE OFFSET 0) AS waits,
               EXISTS (SELECT FROM effects e WHERE e.run_id = r.run_id AND e.purpose = 'step'
                          AND e.status IN ('pending', 'blocked', 'deferred')
                          AND (e.effect_id = r.effect_id) IS NOT TRUE OFFSET 0)
               OR EXISTS (SELECT FROM approvals a WHERE a.run_id = r.run_id AND (a.status = 'requested') IS TRUE
                             AND (a.approval_id = r.beside) IS NOT TRUE OFFSET 0) AS wants,
               (SELECT approval_id FROM approvals c WHERE c.run_id = r.run_id AND c.card_ts IS NOT NULL
                 ORDER BY c.requested_at DESC, c.approval_id LIMIT 1) AS last_card
          FROM unnest(%(runs)b::text[], %(beside)b::text[], %(effects)b::text[])
               WITH ORDINALITY AS r (run_id, beside, effect_id, number)
         ORDER BY number
        """,
        {
            "runs": [one.run_id for one in runs],
            "beside": [one.beside for one in runs],
            "effects": [one.effect_id for one in runs],
        },
        table="waits",
        keys={one.run_id for one in runs},
    )
    return [OpenWork(row["waits"], row["wants"], row["last_card"]) for row in rows]


@dataclass(frozen=True)
class RunStep:
    """A step of a run; with `beside`, all that is its own but one wait, or an approval and the wait for that."""

    run_id: str
    path: str
    beside: str | None = None


async def is_step_open(conn: Conn, steps: Sequence[RunStep]) -> list[bool]:
    """Return of each step whether it still waits, has an effect to do or people to ask."""
    rows = await conn.read(
        """
        SELECT EXISTS (SELECT FROM waits w
                        WHERE w.run_id = s.run_id AND w.step = s.path AND w.status = 'active'
                          AND (s.beside IN (w.wait_id, w.approval_id)) IS NOT TRUE OFFSET 0)
               OR EXISTS (SELECT FROM effects e WHERE e.run_id = s.run_id AND e.step = s.path
                             AND e.purpose = 'step' AND e.status IN ('pending', 'blocked', 'deferred') OFFSET 0)
               OR EXISTS (SELECT FROM approvals a WHERE a.run_id = s.run_id AND a.step = s.path
                             AND (a.status = 'requested') IS TRUE
                             AND (a.approval_id = s.beside) IS NOT TRUE OFFSET 0) AS open
          FROM unnest(%(runs)b::text[], %(paths)b::text[], %(beside)b::text[])
               WITH ORDINALITY AS s (run_id, path, beside, number)
         ORDER BY number
        """,
        {
            "runs": [one.run_id for one in steps],
            "paths": [one.path for one in steps],
            "beside": [one.beside for one in steps],
        },
    )
    return [row["open"] for row in rows]


async def withdraw_questions(
    conn: Conn, run_id: str, now: datetime, result: Result, step: str | None = None
) -> list[str]:
    """Ask nobody any more what became of the start of a step, or of any of the run, whose answer has come.

    The answer proves its request, and the gate looks at that at once. Return in order the approvals that are canceled
    with that.
    """
    rows = await conn.rows(
        """
        WITH proven AS (
            UPDATE effects e SET asked = false, next_try_at = %(now)s
             WHERE run_id = %(run_id)s AND (%(step)s::text IS NULL OR step = %(step)s)
               AND status = 'in_doubt' AND asked
               AND (SELECT w.status FROM waits w
                     WHERE w.run_id = e.run_id AND w.step = e.step AND w.type <> 'approval'
                     ORDER BY w.created_at DESC, w.wait_id LIMIT 1) = 'completed'
            RETURNING effect_id
        )
        UPDATE approvals SET status = 'canceled', decided_at = %(now)s, result = %(result)s, revision = revision + 1
         WHERE run_id = %(run_id)s AND kind = 'in_doubt' AND status = 'requested'
           AND effect_id IN (SELECT effect_id FROM proven) RETURNING approval_id
        """,
        {"run_id": run_id, "now": now, "step": step, "result": json.dumps(result.document())},
    )
    return sorted(row["approval_id"] for row in rows)
