"""Retries by operators: waiting effects and reads, a stuck bundle, a dead letter, or a failed delivery tried again now.

A dead letter is requeued or dropped. Requeuing the letter of a failed delivery sends it again; requeuing the one by
which a subscription ended also sends the deliveries that were under way then. Each act is a separate notification.
"""

from receipts.chain import PROGRAM
from runtime.inbox.notification_context import NotificationContext
from runtime.model.commands import DeliveryPayload, DropPayload, RequeuePayload, RetryBundlePayload, RetryPayload
from runtime.model.notification import ApplyResult
from runtime.model.states import NotificationStatus
from runtime.model.subscription import letter_key
from runtime.outbox.webhooks import send_again
from runtime.store import bundles, dead_letters, effects, notifications, steps


async def apply_retry(matter: NotificationContext, payload: RetryPayload) -> ApplyResult:
    """Wake the run's effects and reads that wait for a pause to pass, or one effect of it.

    What is in doubt is left alone: its pause gives the first attempt time to land.
    """
    tx = matter.seen_run(payload.run_id, payload.version)
    if isinstance(tx, ApplyResult):
        return tx
    woken = await effects.wake(tx.conn, tx.run_id, payload.effect_id, tx.now)
    reads = await steps.wake_reads(tx.conn, tx.run_id, tx.now) if payload.effect_id is None else []
    if not woken and not reads:
        return ApplyResult(NotificationStatus.STALE, {"reason": "nothing of it waits for a pause to pass"})
    facts = {"reason": (await tx.privacy()).text(payload.reason), "effects": woken, "reads": reads}
    tx.leaf("run.retry_requested", facts, actor=matter.notification.actor, effect_id=payload.effect_id)
    tx.conn.on_commit(matter.engine.wakeup.poke)
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": tx.run_id, "effects": woken, "reads": reads})


async def apply_bundle_retry(matter: NotificationContext, payload: RetryBundlePayload) -> ApplyResult:
    """Have the run's stuck bundle tried anew; what took its name in the archive stays, and is named."""
    tx = matter.seen_run(payload.run_id, None)
    if isinstance(tx, ApplyResult):
        return tx
    found = await bundles.retry_bundle(tx.conn, tx.run_id)
    if found is None:
        return ApplyResult(NotificationStatus.STALE, {"reason": f"the bundle of {tx.run_id} is not stuck"})
    facts = {"reason": (await tx.privacy()).text(payload.reason), **found}
    tx.leaf("evidence.repaired", facts, actor=matter.notification.actor)
    tx.conn.on_commit(matter.engine.wakeup.poke)
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": tx.run_id, **found})


async def apply_dead_letter(matter: NotificationContext, payload: RequeuePayload | DropPayload) -> ApplyResult:
    """Requeue or drop a dead letter of the tenant."""
    engine, conn, notification = matter.engine, matter.conn, matter.notification
    status = await notifications.lock_status(conn, notification.tenant, payload.dead_letter_id)
    if status is not NotificationStatus.DEAD_LETTER:
        reason = "there is no such notification" if status is None else f"it is no dead letter: {status}"
        return ApplyResult(NotificationStatus.REFUSED, {"reason": reason})
    now = engine.clock()
    if isinstance(payload, RequeuePayload):
        await notifications.move(conn, payload.dead_letter_id, status, NotificationStatus.RECEIVED, None, now)
        said = [
            engine.notification(DeliveryPayload(**row), by=PROGRAM, about=key, key=letter_key(row["effect_id"]))
            for key, row in await dead_letters.unsent_with(conn, payload.dead_letter_id)
        ]
        await notifications.record_all(conn, said, now, now)
        conn.on_commit(engine.wakeup.poke)
    else:
        dropped = {
            "status": str(NotificationStatus.DROPPED),
            "reason": engine.privacy.text(payload.reason),
            "by": notification.actor.id,
        }
        await notifications.move(conn, payload.dead_letter_id, status, NotificationStatus.DROPPED, dropped, now)
    return ApplyResult(NotificationStatus.APPLIED, {"dead_letter_id": payload.dead_letter_id})


async def apply_redelivery(matter: NotificationContext, payload: DeliveryPayload) -> ApplyResult:
    """Propose the delivery anew, under the same key, to where its subscription goes now."""
    engine, tx = matter.engine, matter.seen_run(payload.run_id, None)
    if isinstance(tx, ApplyResult):
        return tx
    to = next((one for one in engine.subscriptions if one.name == payload.subscription), None)
    if to is None:
        reason = f"there is no subscription {payload.subscription} any more"
        return ApplyResult(NotificationStatus.DEAD_LETTER, {"code": "unusable", "reason": reason})
    failed = await effects.get_effect(tx.conn, payload.effect_id)
    effect_id = await send_again(engine, tx, failed, to)
    return ApplyResult(NotificationStatus.APPLIED, {"run_id": tx.run_id, "effect_id": effect_id})
