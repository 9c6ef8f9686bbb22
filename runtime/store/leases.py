"""Leases: what a worker may take, and how it keeps it, each lease under its own attempt.

Rows are locked `FOR NO KEY UPDATE`: whoever writes a row that refers to one shares its key for as long as that takes,
and what is skipped for that reason would wait for the next poll.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from runtime.model.effect import Effect, Purpose
from runtime.model.run import ReadLease
from runtime.store.database.pool import Conn
from runtime.store.effects import COLUMNS, effect_of


@dataclass(frozen=True)
class Room:
    """What a worker has room for. `by_connector` and `by_target` hold what is under way, and the caps say how much may.

    `handlers` are those that it has: nothing else is leased. `again` of the slots are for what is tried again before
    they are for what is fresh.
    """

    slots: int
    again: int
    handlers: Sequence[str]
    connector_cap: int
    target_cap: int
    by_connector: Mapping[str, int]
    by_target: Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Lessee:
    """Who leases: a worker of one tenant, now, until then."""

    tenant: str
    worker: str
    now: datetime
    until: datetime


# An open breaker lets nothing through, and one that was open lets through one call at a time.
_LET_THROUGH = """
    NOT EXISTS (SELECT 1 FROM circuit_breakers b
                 WHERE b.tenant = e.tenant AND b.connector = e.connector AND b.target IN ('', e.target)
                   AND (b.open_until > %(now)s
                        OR b.open_until IS NOT NULL
                           AND EXISTS (SELECT 1 FROM effects busy
                                        WHERE busy.status = 'leased' AND busy.tenant = b.tenant
                                          AND busy.connector = b.connector AND b.target IN ('', busy.target))))
"""
_DUE_OF = """
    EXISTS (SELECT FROM effects WHERE tenant = %(tenant)s AND purpose = '{purpose}' AND next_try_at <= %(now)s
               AND (status IN ('pending', 'blocked') OR status = 'in_doubt' AND NOT asked))
"""
# Of what one call is let through: '' the connector, else the target; NULL where both are closed.
_HALF_OPEN = """
    (SELECT min(b.target) FROM circuit_breakers b
      WHERE b.tenant = e.tenant AND b.connector = e.connector AND b.target IN ('', e.target)
        AND b.open_until IS NOT NULL)
"""


_WAITING = f"""
    effect_id, connector, target, next_try_at, {_HALF_OPEN} AS half_open
      FROM effects e
     WHERE tenant = %(tenant)s AND purpose = %(purpose)s AND next_try_at <= %(now)s
       AND (status IN ('pending', 'blocked') OR status = 'in_doubt' AND NOT asked)
       AND connector || '::' || operation = ANY(%(handlers)s)
       AND connector <> ALL(%(full)s)
       AND NOT EXISTS (SELECT 1 FROM unnest(%(full_of)s::text[], %(full_target)s::text[]) AS f (c, t)
                        WHERE f.c = connector AND f.t = target)
       AND {_LET_THROUGH}
"""  # noqa: S608 - our own conditions


@dataclass(frozen=True)
class DueWork:
    """Whether there is anything of each kind that a worker may take: looked at before anything is leased."""

    notifications: bool
    messages: bool
    effects: bool
    reads: bool
    runs: bool


async def due_work(conn: Conn, tenant: str, now: datetime) -> DueWork:
    """Return what is due, in one statement: most looks find nothing, or one kind alone."""
    row = await conn.row(
        f"""
        SELECT EXISTS (SELECT FROM notifications
                        WHERE tenant = %(tenant)s AND status = 'received' AND next_try_at <= %(now)s)
                   AS notifications,
               {_DUE_OF.format(purpose="message")} AS messages, {_DUE_OF.format(purpose="step")} AS effects,
               EXISTS (SELECT FROM steps s WHERE is_read AND status IN ('ready', 'running', 'failed_retryable')
                          AND (SELECT r.tenant FROM runs r WHERE r.run_id = s.run_id) = %(tenant)s) AS reads,
               EXISTS (SELECT FROM runs WHERE tenant = %(tenant)s AND status = 'queued') AS runs
        """,  # noqa: S608 - our own conditions
        {"tenant": tenant, "now": now},
    )
    return DueWork(**row) if row else DueWork(*[True] * 5)


async def lease_effects(conn: Conn, lessee: Lessee, purpose: Purpose, room: Room) -> list[Effect]:
    """Lease effects that are due: pending and blocked ones, and those in doubt that need no person.

    What is fresh goes before what is tried again, but for the latter's share of the slots: neither waits for the end of
    the other. All within the caps of connectors and targets, and past no open breaker.
    """
    rows = await conn.rows(
        f"""
        WITH fresh AS (
            SELECT {_WAITING} AND NOT (tries + postponed > 0) ORDER BY next_try_at LIMIT %(look)s
        ), again AS (
            SELECT {_WAITING} AND tries + postponed > 0 ORDER BY next_try_at LIMIT %(look)s
        ), waiting AS (
            SELECT *, 1 AS turn FROM fresh
             UNION ALL
            SELECT *, CASE WHEN row_number() OVER (ORDER BY next_try_at) <= %(again)s THEN 0 ELSE 2 END FROM again
        ), ranked AS (
            SELECT *, row_number() OVER (PARTITION BY connector ORDER BY turn, next_try_at) AS of_connector,
                   row_number() OVER (PARTITION BY connector, target ORDER BY turn, next_try_at) AS of_target
              FROM waiting
        ), due AS MATERIALIZED (
            SELECT e.effect_id
              FROM ranked r JOIN effects e USING (effect_id)
             WHERE of_connector <= CASE half_open WHEN '' THEN 1 ELSE %(connector_cap)s END
                                   - coalesce((%(busy)s::json ->> r.connector)::int, 0)
               AND of_target <= CASE WHEN half_open IS NULL THEN %(target_cap)s ELSE 1 END
                                - coalesce((%(busy_of)s::json -> r.connector ->> r.target)::int, 0)
               AND (e.status IN ('pending', 'blocked') OR e.status = 'in_doubt' AND NOT e.asked)
             ORDER BY turn, r.next_try_at LIMIT %(slots)s FOR NO KEY UPDATE OF e SKIP LOCKED
        )
        UPDATE effects SET status = 'leased', attempt = attempt + 1, lease_owner = %(worker)s,
               lease_expires_at = %(until)s
         WHERE effect_id IN (SELECT effect_id FROM due)
        RETURNING {COLUMNS}
        """,  # noqa: S608 - our own columns and conditions
        {**vars(lessee), "purpose": purpose, **_bounds(room)},
    )
    return [effect_of(row) for row in rows]


def _bounds(room: Room) -> dict[str, object]:
    full = [scope for scope, busy in room.by_target.items() if busy >= room.target_cap]
    return {
        "handlers": list(room.handlers),
        "full": [connector for connector, busy in room.by_connector.items() if busy >= room.connector_cap],
        "full_of": [connector for connector, _ in full],
        "full_target": [target for _, target in full],
        "busy": json.dumps(dict(room.by_connector)),
        "busy_of": json.dumps(_nested(room.by_target)),
        "connector_cap": room.connector_cap,
        "target_cap": room.target_cap,
        "slots": room.slots,
        "again": room.again,
        "look": room.slots * 16,
    }


def _nested(by_target: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (connector, target), busy in by_target.items():
        found.setdefault(connector, {})[target] = busy
    return found


_READS = """
    run_id, path FROM steps s
     WHERE is_read AND status IN ('ready', 'running', 'failed_retryable') AND handler = ANY(%(handlers)s)
       AND CASE status WHEN 'failed_retryable' THEN next_try_at <= %(now)s
                       WHEN 'running' THEN lease_expires_at < %(now)s ELSE true END
       AND (SELECT tenant FROM runs WHERE runs.run_id = s.run_id) = %(tenant)s
       AND NOT EXISTS (SELECT 1 FROM circuit_breakers b
                        WHERE b.tenant = %(tenant)s AND b.connector = split_part(s.handler, '::', 1)
                          AND b.target = '' AND b.open_until > %(now)s)
"""


async def lease_reads(conn: Conn, lessee: Lessee, handlers: Sequence[str], slots: int, again: int) -> list[ReadLease]:
    """Lease reads that are free, whose back-off has passed, or whose lease ran out (a read may be done twice).

    What was leased before goes after what was not, but for `again` of the slots, which it has first.
    """
    rows = await conn.rows(
        f"""
        WITH again AS MATERIALIZED (
            SELECT {_READS} AND attempt > 0 ORDER BY attempt LIMIT %(again)s FOR NO KEY UPDATE OF s SKIP LOCKED
        ), others AS MATERIALIZED (
            SELECT {_READS} AND NOT EXISTS (SELECT FROM again a WHERE a.run_id = s.run_id AND a.path = s.path)
             ORDER BY attempt LIMIT %(slots)s - (SELECT count(*) FROM again) FOR NO KEY UPDATE OF s SKIP LOCKED
        ), due AS MATERIALIZED (
            SELECT * FROM again UNION ALL SELECT * FROM others
        )
        UPDATE steps SET status = 'running', attempt = attempt + 1, lease_owner = %(worker)s,
               lease_expires_at = %(until)s
          FROM due, runs
         WHERE steps.run_id = due.run_id AND steps.path = due.path AND runs.run_id = due.run_id
        RETURNING steps.run_id, runs.tenant, steps.path, steps.params, steps.attempt, steps.waited,
                  steps.was_blocked, steps.started_at, runs.definition_name, runs.definition_version
        """,  # noqa: S608 - our own conditions
        {**vars(lessee), "handlers": list(handlers), "slots": slots, "again": min(again, slots)},
    )
    return [ReadLease(**row) for row in rows]


async def extend_leases(conn: Conn, worker: str, held: Sequence[Effect | ReadLease], until: datetime) -> None:
    """Hold the worker's leases until `until`; one that was lost meanwhile stays lost.

    What is locked just now is about to be settled, and may be left out: whoever settles many locks them in an order of
    its own, and would wait for this one while this one waits for it.
    """
    effects = [lease for lease in held if isinstance(lease, Effect)]
    if effects:
        await conn.execute(
            """
            WITH free AS MATERIALIZED (
                SELECT e.effect_id FROM unnest(%s::text[], %s::int[]) AS held (id, attempt)
                  JOIN effects e ON e.effect_id = held.id AND e.attempt = held.attempt
                 WHERE e.lease_owner = %s AND e.status = 'leased' FOR NO KEY UPDATE OF e SKIP LOCKED
            )
            UPDATE effects SET lease_expires_at = %s WHERE effect_id IN (SELECT effect_id FROM free)
            """,
            ([one.effect_id for one in effects], [one.attempt for one in effects], worker, until),
        )
    reads = [lease for lease in held if isinstance(lease, ReadLease)]
    if reads:
        await conn.execute(
            """
            WITH free AS MATERIALIZED (
                SELECT s.run_id, s.path FROM unnest(%s::text[], %s::text[], %s::int[]) AS held (run_id, path, attempt)
                  JOIN steps s ON s.run_id = held.run_id AND s.path = held.path AND s.attempt = held.attempt
                 WHERE s.lease_owner = %s AND s.status = 'running' FOR NO KEY UPDATE OF s SKIP LOCKED
            )
            UPDATE steps SET lease_expires_at = %s FROM free WHERE steps.run_id = free.run_id AND steps.path = free.path
            """,
            (
                [one.run_id for one in reads],
                [one.path for one in reads],
                [one.attempt for one in reads],
                worker,
                until,
            ),
        )


async def expired_leases(conn: Conn, tenant: str, now: datetime, limit: int) -> list[str]:
    """Return ids of the tenant's effects whose lease has run out, but for those of runs that are locked just now."""
    rows = await conn.rows(
        "SELECT e.effect_id FROM effects e JOIN runs r USING (run_id)"
        " WHERE e.tenant = %s AND e.status = 'leased' AND e.lease_expires_at < %s"
        " ORDER BY e.lease_expires_at LIMIT %s FOR UPDATE OF r SKIP LOCKED",
        (tenant, now, limit),
    )
    return [row["effect_id"] for row in rows]


async def unoffered(conn: Conn, tenant: str, now: datetime, handlers: Sequence[str]) -> list[str]:
    """Return handlers that due work needs and that are not among these."""
    rows = await conn.rows(
        """
        SELECT DISTINCT handler FROM (
            SELECT connector || '::' || operation AS handler FROM effects
             WHERE tenant = %(tenant)s AND status IN ('pending', 'blocked') AND next_try_at <= %(now)s
             UNION ALL
            SELECT s.handler FROM steps s JOIN runs r USING (run_id)
             WHERE r.tenant = %(tenant)s AND s.is_read AND s.status IN ('ready', 'failed_retryable')
        ) AS needed WHERE handler <> ALL(%(handlers)s) ORDER BY handler
        """,
        {"tenant": tenant, "now": now, "handlers": list(handlers)},
    )
    return [row["handler"] for row in rows]
