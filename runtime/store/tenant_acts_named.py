"""Acts of a tenant by their names, whole, as votes rest on them."""

from collections.abc import Sequence
from typing import Any

from receipts.chain import GENESIS
from receipts.tenant_acts import chain_of
from runtime.store.database.pool import Conn


async def acts_named(conn: Conn, tenant: str, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the whole leaves of the tenant's chain of these names (`Act.once`), oldest first."""
    query = """
        SELECT l.seq, encode(l.hash, 'hex') AS hash, l.leaf, encode(before.hash, 'hex') AS prev_hash
          FROM tenant_leaves l LEFT JOIN tenant_leaves before ON before.tenant = l.tenant AND before.seq = l.seq - 1
         WHERE l.tenant = %s AND l.once = ANY(%s) ORDER BY l.seq
    """
    rows = await (await conn.read(query, (tenant, list(names)))).fetchall()
    return [
        {
            **row["leaf"],
            "run_id": chain_of(tenant),
            "seq": row["seq"],
            "prev_hash": row["prev_hash"] or GENESIS.hash,
            "hash": row["hash"],
        }
        for row in rows
    ]


async def acts_of_votes(conn: Conn, tenant: str, run_id: str) -> list[tuple[int, int | None]]:
    """Return the acts on which votes of a run rest: each one's sequence number, and its index in the log if it has."""
    query = """
        SELECT acts.seq, e.first_index + acts.seq - e.first_seq AS index
          FROM (SELECT DISTINCT (act ->> 'seq')::int AS seq
                  FROM approvals a JOIN votes v USING (approval_id),
                       LATERAL (SELECT json_array_elements(v.passkey -> 'acts') AS act
                                UNION ALL SELECT json_array_elements(v.delegation -> 'acts')) AS told
                 WHERE a.run_id = %(run)s) AS acts
          LEFT JOIN log_entries e
            ON e.chain = %(chain)s AND e.first_seq <= acts.seq AND e.first_seq + e.count > acts.seq
         ORDER BY acts.seq
    """
    rows = await (await conn.execute(query, {"run": run_id, "chain": chain_of(tenant)})).fetchall()
    return [(row["seq"], row["index"]) for row in rows]
