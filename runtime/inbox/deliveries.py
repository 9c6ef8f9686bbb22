"""A delivery to a subscriber that failed, and that a person wants sent again: a requeued letter."""

from runtime.inbox.matter import Matter
from runtime.model.notification import Applied
from runtime.model.states import NotificationStatus
from runtime.model.tenant_payloads import DeliveryPayload
from runtime.outbox.subscribers import send_again
from runtime.store import effects


async def apply_delivery(matter: Matter, payload: DeliveryPayload) -> Applied:
    """Propose the delivery anew, under the same key, to where its subscription goes now."""
    engine, tx = matter.engine, matter.seen_run(payload.run_id, None)
    if isinstance(tx, Applied):
        return tx
    to = next((one for one in engine.subscriptions if one.name == payload.subscription), None)
    if to is None:
        reason = f"there is no subscription {payload.subscription} any more"
        return Applied(NotificationStatus.DEAD_LETTER, {"code": "unusable", "reason": reason})
    failed = await effects.get_effect(tx.conn, payload.effect_id)
    effect_id = await send_again(engine, tx, failed, to)
    return Applied(NotificationStatus.APPLIED, {"run_id": tx.run_id, "effect_id": effect_id})
