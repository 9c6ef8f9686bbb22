"""Has what a run has put off tried now, on somebody's word."""

from runtime.engine import Engine
from runtime.inbox.commands import lock_seen
from runtime.model.notification import Applied, Notification, RetryPayload
from runtime.model.states import NotificationStatus
from runtime.store import effects, steps
from runtime.store.database.pool import Conn


async def apply_retry(engine: Engine, conn: Conn, notification: Notification, payload: RetryPayload) -> Applied:
    """Wake the run's effects and reads that wait for a pause to pass, or one effect of it.

    What is in doubt is left alone: its pause gives the first attempt time to land.
    """
    tx = await lock_seen(engine, conn, notification, payload.run_id, payload.version)
    if isinstance(tx, Applied):
        return tx
    woken = await effects.wake(conn, tx.run_id, payload.effect_id, tx.now)
    reads = await steps.wake_reads(conn, tx.run_id, tx.now) if payload.effect_id is None else []
    if not woken and not reads:
        return Applied(NotificationStatus.STALE, {"reason": "nothing of it waits for a pause to pass"})
    facts = {"reason": (await tx.privacy()).text(payload.reason), "effects": woken, "reads": reads}
    tx.leaf("run.retry_requested", facts, actor=notification.actor, effect_id=payload.effect_id)
    await tx.flush()
    engine.wakeup.poke()
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id, "effects": woken, "reads": reads})
