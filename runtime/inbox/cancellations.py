"""Stops runs on somebody's word."""

from runtime.engine import Engine
from runtime.model.notification import Applied, CancelPayload, Notification
from runtime.model.states import NotificationStatus
from runtime.planning.advance import advance
from runtime.planning.planner import Canceled
from runtime.store.database.pool import Conn
from runtime.store.run_tx import UnknownRunError


async def apply_cancel(engine: Engine, conn: Conn, notification: Notification, payload: CancelPayload) -> Applied:
    """Stop a run on somebody's word."""
    try:
        tx = await engine.lock_run(conn, payload.run_id, notification.request_id)
    except UnknownRunError:
        return Applied(NotificationStatus.DEAD_LETTER, {"reason": "no such run"})
    if tx.tenant != notification.tenant:
        return Applied(NotificationStatus.DEAD_LETTER, {"reason": "no such run"})
    if tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    reason = (await tx.privacy()).text(payload.reason)
    tx.leaf("run.cancel_requested", {"reason": reason}, actor=notification.actor)
    await advance(engine, tx, Canceled(reason))
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id})
