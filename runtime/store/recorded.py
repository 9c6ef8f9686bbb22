"""A run as it is on record, for whoever plans it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Leaf, in_place
from runtime.store.database.pool import Conn


@dataclass(frozen=True)
class RecordedRun:
    """A run's row, its leaves in order, and the stored results of its steps by path."""

    row: Mapping[str, Any]
    leaves: Sequence[Leaf]
    results: Mapping[str, Any]


async def recorded_run(conn: Conn, tenant: str, run_id: str) -> RecordedRun | None:
    """Return a run of the tenant as it is on record, None where there is none."""
    row = await (
        await conn.execute("SELECT * FROM runs WHERE tenant = %s AND run_id = %s", (tenant, run_id))
    ).fetchone()
    if row is None:
        return None
    leaves = await (
        await conn.execute("SELECT seq, hash, leaf FROM audit_leaves WHERE run_id = %s ORDER BY seq", (run_id,))
    ).fetchall()
    results = await (
        await conn.execute("SELECT path, result FROM steps WHERE run_id = %s AND result IS NOT NULL", (run_id,))
    ).fetchall()
    placed = in_place(run_id, ((one["seq"], one["hash"].hex(), one["leaf"]) for one in leaves))
    return RecordedRun(
        row, [Leaf.model_validate(leaf) for leaf in placed], {one["path"]: one["result"] for one in results}
    )
