"""Reads everything on record about a finished run, and keeps where its bundle is.

Reading is SQLAlchemy Core on a connection of its own, in whichever thread builds the bundle.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from runtime.store.database.pool import Conn


async def open_bundles(conn: Conn, now: datetime) -> int:
    """Begin a bundle for finished runs whose every effect has settled: the chain as it ends now is what is sealed."""
    done = await conn.execute(
        """
        WITH over AS MATERIALIZED (
            SELECT run_id, audit_seq FROM runs r
             WHERE finished_at IS NOT NULL AND NOT sealed
               AND NOT EXISTS (SELECT 1 FROM effects e WHERE e.run_id = r.run_id
                                AND e.status IN ('pending', 'leased', 'deferred', 'in_doubt'))
             ORDER BY finished_at LIMIT 10 FOR UPDATE SKIP LOCKED
        ), begun AS (UPDATE runs SET sealed = true FROM over WHERE runs.run_id = over.run_id)
        INSERT INTO evidence_bundles (run_id, sealed_seq, created_at, next_try_at)
        SELECT run_id, audit_seq, %(now)s, %(now)s FROM over
        """,
        {"now": now},
    )
    return done.rowcount


async def lease_bundle(conn: Conn, now: datetime, until: datetime) -> str | None:
    """Take one bundle to build until `until`; building it twice gives the same bytes, so no fence is needed."""
    row = await (
        await conn.execute(
            """
            UPDATE evidence_bundles SET next_try_at = %(until)s
             WHERE run_id = (SELECT run_id FROM evidence_bundles WHERE stored_at IS NULL AND next_try_at <= %(now)s
                              ORDER BY next_try_at LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING run_id
            """,
            {"now": now, "until": until},
        )
    ).fetchone()
    return row["run_id"] if row else None


async def mark_stored(conn: Conn, run_id: str, facts: Mapping[str, Any], now: datetime) -> bool:
    """Keep where the bundle is, once: facts sha256, size, location, version_id, retention_until."""
    done = await conn.execute(
        "UPDATE evidence_bundles SET sha256 = %(sha256)s, size = %(size)s, location = %(location)s,"
        " version_id = %(version_id)s, retention_until = %(retention_until)s, stored_at = %(now)s"
        " WHERE run_id = %(run_id)s AND stored_at IS NULL",
        {**facts, "now": now, "run_id": run_id},
    )
    return done.rowcount == 1


async def list_bundles(conn: Conn, tenant: str) -> list[dict[str, Any]]:
    """Return the tenant's stored bundles, newest first."""
    return await (
        await conn.execute(
            """
            SELECT b.run_id, r.definition_name, r.status, b.sha256, b.size, b.location, b.version_id, b.stored_at
              FROM evidence_bundles b JOIN runs r USING (run_id)
             WHERE r.tenant = %s AND b.stored_at IS NOT NULL ORDER BY b.stored_at DESC LIMIT 500
            """,
            (tenant,),
        )
    ).fetchall()
