"""Tenants: each has a salt, and the end of its own chain."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from receipts.chain import Head
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class ChainEnd:
    """The last leaf of a tenant's chain and when that was said; None where the chain is empty.

    `has` says whether what was looked for stands in the chain.
    """

    head: Head
    at: datetime | None
    has: bool


async def salt_of(conn: Conn, tenant: str) -> str:
    """Return the tenant's salt, which is made on first use."""
    query = "SELECT salt FROM tenants WHERE tenant = %s"
    row = await (await conn.execute(query, (tenant,))).fetchone()
    if row is None:
        await _make(conn, tenant)
        row = await (await conn.execute(query, (tenant,))).fetchone()
    if row is None:
        raise LookupError(f"no tenant {tenant}")
    return str(row["salt"])


async def bind(conn: Conn, tenant: str, *, mocked: bool) -> bool:
    """Return whether the tenant is of that kind: its first start says whether its runs are on mocks, once for all."""
    await conn.execute(
        "INSERT INTO tenants (tenant, salt, mocked) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
        (tenant, secrets.token_hex(16), mocked),
    )
    row = await (await conn.read("SELECT mocked FROM tenants WHERE tenant = %(tenant)s", {"tenant": tenant})).fetchone()
    return row is not None and bool(row["mocked"]) == mocked


async def lock_chain(conn: Conn, tenant: str, once: str | None = None) -> ChainEnd:
    """Return the end of the tenant's chain, locked in the caller's transaction: one at a time appends to it.

    The lock keeps away nobody who only refers to the tenant. `once` is what is looked for in the chain.
    """
    end = await _lock(conn, tenant, once)
    if end is None:
        await _make(conn, tenant)
        end = await _lock(conn, tenant, once)
    if end is None:
        raise LookupError(f"no tenant {tenant}")
    return end


async def _lock(conn: Conn, tenant: str, once: str | None) -> ChainEnd | None:
    # two statements: one that has waited for the lock does not see what came meanwhile
    conn.put("SELECT FROM tenants WHERE tenant = %(tenant)s FOR NO KEY UPDATE", {"tenant": tenant})
    query = """
        SELECT audit_seq, audit_hash,
               (SELECT (l.leaf ->> 'at')::timestamptz FROM tenant_leaves l
                 WHERE l.tenant = t.tenant AND l.seq = t.audit_seq) AS at,
               EXISTS (SELECT FROM tenant_leaves l WHERE l.tenant = t.tenant AND l.once = %(once)s) AS has
          FROM tenants t WHERE t.tenant = %(tenant)s
    """
    row = await (await conn.read(query, {"tenant": tenant, "once": once})).fetchone()
    return ChainEnd(Head(row["audit_seq"], row["audit_hash"]), row["at"], row["has"]) if row else None


async def _make(conn: Conn, tenant: str) -> None:
    """Make the tenant's row; where it is there, this would wait for whoever appends to the chain."""
    await conn.execute(
        "INSERT INTO tenants (tenant, salt) VALUES (%s, %s) ON CONFLICT DO NOTHING", (tenant, secrets.token_hex(16))
    )


async def is_mocked(conn: Conn, tenant: str) -> bool:
    """Return whether the tenant's runs are on mocks."""
    row = await (await conn.read("SELECT mocked FROM tenants WHERE tenant = %(tenant)s", {"tenant": tenant})).fetchone()
    return bool(row and row["mocked"])
