"""Run details: what a run did outside with the decisions and receipts of it, signals to it, and pages of its chain."""

from collections.abc import Iterable, Sequence
from typing import Any

from runtime.model.wait import signal_key
from runtime.store.database.pool import Conn
from runtime.store.run_history import leaves_in

_EFFECTS = """
    SELECT e.effect_id, e.step, e.status, e.connector, e.operation, e.target, e.fields, e.tier, e.tier AS effect_tier,
           e.reversible_by, e.redact, e.forgotten, e.idempotency_key, e.digest, e.tries, e.error, e.created_at, r.salt,
           coalesce(e.before, (SELECT a.before FROM approvals a WHERE a.effect_id = e.effect_id AND a.kind = 'effect'
                                ORDER BY a.requested_at DESC LIMIT 1), '{}') AS before, count(*) OVER () AS total
      FROM effects e JOIN runs r USING (run_id)
     WHERE e.run_id = %s AND e.purpose = 'step' ORDER BY e.created_at, e.effect_id LIMIT %s
"""
_DECISIONS = """
    SELECT DISTINCT ON (effect_id) effect_id, decision_id, outcome, policy_digest, at, document -> 'answer' AS answer,
           count(*) OVER (PARTITION BY effect_id) AS asked
      FROM policy_decisions WHERE run_id = %s AND effect_id = ANY(%s) ORDER BY effect_id, seq DESC
"""
_RECEIPTS = """
    SELECT effect_id, receipt_id, outcome, at, seq, document ->> 'step' AS step, document -> 'attempt' AS attempt,
           document ->> 'error' AS error
      FROM receipts WHERE run_id = %s AND effect_id = ANY(%s) ORDER BY seq LIMIT %s
"""
_SIGNALS = """
    SELECT notification_id, status, payload ->> 'name' AS name, payload -> 'data' AS data, actor ->> 'id' AS sender,
           received_at, coalesce(nullif(error, ''), outcome ->> 'reason', '') AS reason, count(*) OVER () AS total
      FROM notifications
     WHERE tenant = %s AND kind = 'signal' AND correlation_key = ANY(%s)
     ORDER BY received_at, notification_id LIMIT %s
"""


async def step_counts(conn: Conn, run_id: str) -> list[dict[str, Any]]:
    """Return how many steps of a run each node has in each status; iterations of a repeat apart (`is_round`)."""
    return await conn.rows(
        r"""
        SELECT regexp_replace(path, '\[[0-9]+\]', '', 'g') AS address, right(path, 1) = ']' AS is_round, status,
               count(*) FROM steps WHERE run_id = %s GROUP BY 1, 2, 3
        """,
        (run_id,),
    )


async def effects_of(conn: Conn, run_id: str, limit: int) -> list[dict[str, Any]]:
    """Return the first effects of a run's steps with what they would write; `total` says how many there are."""
    return await conn.rows(_EFFECTS, (run_id, limit))


async def last_decisions(conn: Conn, run_id: str, effect_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return policy's last decision on each of these effects; `asked` says how many there were."""
    rows = await conn.rows(_DECISIONS, (run_id, list(effect_ids)))
    return {row["effect_id"]: row for row in rows}


async def receipts_of(conn: Conn, run_id: str, effect_ids: Sequence[str], limit: int) -> list[dict[str, Any]]:
    """Return the first receipts of these effects, in their order."""
    return await conn.rows(_RECEIPTS, (run_id, list(effect_ids), limit))


async def signals_to(conn: Conn, tenant: str, run_id: str, names: Iterable[str], limit: int) -> list[dict[str, Any]]:
    """Return the first signals of these names to a run; `total` says how many there were."""
    return await conn.rows(_SIGNALS, (tenant, [signal_key(run_id, name) for name in names], limit))


async def leaves_after(conn: Conn, run_id: str, seq: int, limit: int) -> list[dict[str, Any]]:
    """Return the leaves of a run's chain behind one of them, at most so many: `seq`, `hash` and what each says."""
    rows = await conn.rows(
        """
        SELECT * FROM leaf_sets
         WHERE run_id = %(run)s AND first_seq <= %(seq)s + %(limit)s AND first_seq >= coalesce(
               (SELECT max(first_seq) FROM leaf_sets WHERE run_id = %(run)s AND first_seq <= %(seq)s + 1), 1)
         ORDER BY first_seq
        """,
        {"run": run_id, "seq": seq, "limit": limit},
    )
    said = (leaf for row in rows for leaf in leaves_in(row))
    return [{**leaf, "seq": own, "hash": digest} for own, digest, leaf in said if seq < own <= seq + limit]


async def cards_of(conn: Conn, tenant: str, run_id: str, approval_id: str, most: int) -> list[dict[str, Any]] | None:
    """Return the newest cards of a request as they were shown, oldest first, with their numbers, and `total`; or None.

    None where the run of the tenant has no such request.
    """
    there = await conn.row(
        "SELECT FROM approvals WHERE tenant = %s AND run_id = %s AND approval_id = %s",
        (tenant, run_id, approval_id),
    )
    if there is None:
        return None
    return await conn.rows(
        """
        SELECT c.card, c.number::int, json_array_length(a.cards) AS total
          FROM approvals a, json_array_elements(a.cards) WITH ORDINALITY AS c (card, number)
         WHERE a.approval_id = %s AND c.number > json_array_length(a.cards) - %s ORDER BY c.number
        """,
        (approval_id, most),
    )


_TOLD = """
    SELECT coalesce(l.leaf ->> 'at', to_char(s.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) AS at,
           l.leaf ->> 'event' AS event, l.leaf -> 'data' AS data,
           (SELECT v.person_name FROM votes v WHERE v.approval_id = %(approval)s
               AND v.person = l.leaf -> 'data' ->> 'person' LIMIT 1) AS name
      FROM leaf_sets s, json_array_elements(s.leaves) AS l (leaf)
     WHERE s.run_id = %(run)s AND l.leaf ->> 'approval_id' = %(approval)s
       AND l.leaf ->> 'event' IN ('card.shown', 'vote.counted') ORDER BY s.first_seq
"""


async def cards_told(conn: Conn, run_id: str, approval_id: str) -> list[dict[str, Any]]:
    """Return what a run's chain says of the cards of a request: when each was shown, and who voted on which."""
    return await conn.rows(_TOLD, {"run": run_id, "approval": approval_id})
