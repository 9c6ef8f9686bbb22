"""Has what a run has put off, or its stuck bundle, tried now, on somebody's word."""

from runtime.inbox.matter import Matter
from runtime.model.notification import Applied
from runtime.model.run_payloads import RetryPayload
from runtime.model.states import NotificationStatus
from runtime.model.tenant_payloads import RepairPayload
from runtime.store import bundles, effects, steps


async def apply_retry(matter: Matter, payload: RetryPayload) -> Applied:
    """Wake the run's effects and reads that wait for a pause to pass, or one effect of it.

    What is in doubt is left alone: its pause gives the first attempt time to land.
    """
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, Applied):
        return tx
    woken = await effects.wake(tx.conn, tx.run_id, payload.effect_id, tx.now)
    reads = await steps.wake_reads(tx.conn, tx.run_id, tx.now) if payload.effect_id is None else []
    if not woken and not reads:
        return Applied(NotificationStatus.STALE, {"reason": "nothing of it waits for a pause to pass"})
    facts = {"reason": (await tx.privacy()).text(payload.reason), "effects": woken, "reads": reads}
    tx.leaf("run.retry_requested", facts, actor=matter.notification.actor, effect_id=payload.effect_id)
    tx.conn.on_commit(matter.engine.wakeup.poke)
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id, "effects": woken, "reads": reads})


async def apply_repair(matter: Matter, payload: RepairPayload) -> Applied:
    """Have the run's stuck bundle tried anew; what took its name in the archive stays, and is named."""
    tx = matter.seen_run(payload.run_id, None)
    if isinstance(tx, Applied):
        return tx
    found = await bundles.try_anew(tx.conn, tx.run_id)
    if found is None:
        return Applied(NotificationStatus.STALE, {"reason": f"the bundle of {tx.run_id} is not stuck"})
    facts = {"reason": (await tx.privacy()).text(payload.reason), **found}
    tx.leaf("evidence.repaired", facts, actor=matter.notification.actor)
    tx.conn.on_commit(matter.engine.wakeup.poke)
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id, **found})
