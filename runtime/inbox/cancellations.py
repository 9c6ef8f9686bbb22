"""Stops runs on somebody's word."""

from runtime.inbox.matter import Matter
from runtime.model.notification import Applied, CancelPayload
from runtime.model.states import NotificationStatus
from runtime.planning.advance import advance
from runtime.planning.planner import Canceled


async def apply_cancel(matter: Matter, payload: CancelPayload) -> Applied:
    """Stop a run on somebody's word."""
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, Applied):
        return tx
    if tx.is_over:
        return Applied(NotificationStatus.STALE, {"reason": f"the run has ended: {tx.status}"})
    reason = (await tx.privacy()).text(payload.reason)
    tx.leaf("run.cancel_requested", {"reason": reason}, actor=matter.notification.actor)
    await advance(matter.engine, tx, Canceled(reason))
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id})
