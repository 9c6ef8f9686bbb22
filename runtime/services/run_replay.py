"""A run planned again from its record: whether today's planner decides what was decided then."""

from receipts.fields import timestamp
from runtime.planning.replay import Difference, Recorded, Replayed, replay
from runtime.store.database.pool import Conn
from runtime.store.definitions import Definitions
from runtime.store.run_history import recorded_run

__all__ = [
    "Difference",
    "Recorded",
    "Replayed",
    "replay",
]


async def replay_run(conn: Conn, tenant: str, run_id: str) -> Replayed | None:
    """Plan a run of the tenant again and compare; None where there is no such run."""
    recorded = await as_recorded(conn, tenant, run_id)
    return None if recorded is None else replay(recorded)


async def as_recorded(conn: Conn, tenant: str, run_id: str) -> Recorded | None:
    """Return all that planning a run again takes."""
    found = await recorded_run(conn, tenant, run_id)
    if found is None:
        return None
    row, definitions = found.row, Definitions()
    among = found.leaves[0].data.get("among", ()) if found.leaves else ()
    return Recorded(
        among=[await definitions.get(conn, one["name"], one["version"]) for one in among],
        definition=await definitions.get(conn, row["definition_name"], row["definition_version"]),
        run_id=run_id,
        tenant=tenant,
        salt=row["salt"],
        trigger=row["trigger"],
        trigger_is_whole=not row["forgotten"],
        started_at=timestamp(row["created_at"]),
        leaves=found.leaves,
        results=found.results,
    )
