"""Heartbeats: a worker holds on to what it is busy with, each lease under its own attempt."""

from collections.abc import Sequence
from datetime import datetime

from runtime.model.effect import Effect
from runtime.model.step import ReadLease
from runtime.store.database.pool import Conn


async def extend(conn: Conn, worker: str, held: Sequence[Effect | ReadLease], until: datetime) -> None:
    """Hold the worker's leases until `until`; one that was lost meanwhile stays lost."""
    effects = [lease for lease in held if isinstance(lease, Effect)]
    if effects:
        await conn.execute(
            """
            UPDATE effects SET lease_expires_at = %s FROM unnest(%s::text[], %s::int[]) AS held (id, attempt)
             WHERE effect_id = held.id AND effects.attempt = held.attempt AND lease_owner = %s AND status = 'leased'
            """,
            (until, [one.effect_id for one in effects], [one.attempt for one in effects], worker),
        )
    reads = [lease for lease in held if isinstance(lease, ReadLease)]
    if reads:
        await conn.execute(
            """
            UPDATE steps SET lease_expires_at = %s
              FROM unnest(%s::text[], %s::text[], %s::int[]) AS held (run_id, path, attempt)
             WHERE steps.run_id = held.run_id AND steps.path = held.path AND steps.attempt = held.attempt
               AND lease_owner = %s AND status = 'running'
            """,
            (
                until,
                [one.run_id for one in reads],
                [one.path for one in reads],
                [one.attempt for one in reads],
                worker,
            ),
        )
