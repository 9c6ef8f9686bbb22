"""Stops runs on somebody's word."""

from runtime.engine import Engine
from runtime.inbox.commands import lock_seen
from runtime.model.notification import Applied, CancelPayload, Notification
from runtime.model.states import NotificationStatus
from runtime.planning.advance import advance
from runtime.planning.planner import Canceled
from runtime.store.database.pool import Conn


async def apply_cancel(engine: Engine, conn: Conn, notification: Notification, payload: CancelPayload) -> Applied:
    """Stop a run on somebody's word."""
    tx = await lock_seen(engine, conn, notification, payload.run_id, payload.version)
    if isinstance(tx, Applied):
        return tx
    if tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    reason = (await tx.privacy()).text(payload.reason)
    tx.leaf("run.cancel_requested", {"reason": reason}, actor=notification.actor)
    await advance(engine, tx, Canceled(reason))
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id})
