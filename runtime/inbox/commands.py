"""What commands on runs share: the run is the tenant's, and it is as whoever gave the command saw it (design, D4)."""

from runtime.engine import Engine
from runtime.model.notification import Applied, Notification
from runtime.model.states import NotificationStatus
from runtime.store.database.pool import Conn
from runtime.store.transactions.run_tx import RunTx, UnknownRunError


async def lock_seen(
    engine: Engine, conn: Conn, notification: Notification, run_id: str, version: int | None
) -> RunTx | Applied:
    """Return the locked run, or what to record instead where it is none of the tenant's, or has moved on since."""
    try:
        tx = await engine.lock_run(conn, run_id, notification.request_id)
    except UnknownRunError:
        return Applied(NotificationStatus.REFUSED, {"reason": f"there is no run {run_id}"})
    if version not in (None, tx.row["version"]):
        reason = f"the run has moved on: it was at version {version}, and is at {tx.row['version']}"
        return Applied(NotificationStatus.STALE, {"reason": reason})
    return tx
