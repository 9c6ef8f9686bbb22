"""Stops runs on somebody's word."""

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.model.notification import Applied, Notification
from runtime.model.states import NotificationStatus
from runtime.planning.advance import advance
from runtime.planning.planner import Canceled
from runtime.store.database.pool import Conn
from runtime.store.run_tx import UnknownRunError, lock_run


async def apply_cancel(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    """Stop a run on somebody's word."""
    try:
        tx = await lock_run(conn, notification.payload["run_id"], engine.clock(), notification.request_id)
    except UnknownRunError:
        return Applied(NotificationStatus.DEAD_LETTER, {"reason": "no such run"})
    if tx.tenant != notification.tenant:
        return Applied(NotificationStatus.DEAD_LETTER, {"reason": "no such run"})
    if tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    actor = Actor(**notification.actor)  # type: ignore[arg-type]  # pydantic checks it
    tx.leaf("run.cancel_requested", {"reason": notification.payload["reason"]}, actor=actor)
    await advance(engine, tx, Canceled(notification.payload["reason"]))
    await tx.flush()
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id})
