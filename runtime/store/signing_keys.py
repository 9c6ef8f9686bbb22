"""Signing keys: the tenant's register, one entry for each key.

An entry is replaced only by what a later key says of it.
"""

import json
from collections.abc import Sequence

from receipts.register import Entry
from runtime.store.database.pool import Conn


async def lock_register(conn: Conn, tenant: str) -> list[Entry]:
    """Return the tenant's register, locked in the caller's transaction; what it is put on record with comes after."""
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('signing_keys:' || %s, 0))", (tenant,))
    return await register_of(conn, tenant)


async def register_of(conn: Conn, tenant: str) -> list[Entry]:
    """Return the tenant's register, the oldest key first."""
    rows = await conn.rows("SELECT entry FROM signing_keys WHERE tenant = %s ORDER BY number", (tenant,))
    return [Entry.model_validate(row["entry"]) for row in rows]


async def newest_key(conn: Conn, tenant: str) -> str | None:
    """Return the id of the key that signs, or None where none has been registered."""
    row = await conn.row("SELECT key_id FROM signing_keys WHERE tenant = %s ORDER BY number DESC LIMIT 1", (tenant,))
    return str(row["key_id"]) if row else None


async def keep_register(conn: Conn, tenant: str, entries: Sequence[Entry]) -> None:
    """Write the register as it is now: what it has, and nothing is left out of it."""
    await conn.execute_many(
        "INSERT INTO signing_keys (tenant, number, key_id, entry) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (tenant, number) DO UPDATE SET entry = EXCLUDED.entry",
        [(tenant, number, one.id, json.dumps(one.model_dump())) for number, one in enumerate(entries, 1)],
    )


async def needed_by(conn: Conn, tenant: str) -> dict[str, int]:
    """Return how many bundles that were begun and are not stored each key is still needed for."""
    rows = await conn.rows(
        "SELECT b.key_id, count(*) AS n FROM evidence_bundles b JOIN runs r USING (run_id)"
        " WHERE r.tenant = %s AND b.stored_at IS NULL GROUP BY b.key_id",
        (tenant,),
    )
    return {row["key_id"]: row["n"] for row in rows}
