"""The desk of dead letters: somebody has one looked at again, or puts it away. The act is a notification of its own."""

from runtime.inbox.matter import Matter
from runtime.model.notification import Applied
from runtime.model.states import NotificationStatus
from runtime.model.tenant_payloads import DropPayload, RequeuePayload
from runtime.store import notifications


async def apply_to_letter(matter: Matter, payload: RequeuePayload | DropPayload) -> Applied:
    """Requeue or drop a dead letter of the tenant."""
    engine, conn, notification = matter.engine, matter.conn, matter.notification
    status = await notifications.lock_status(conn, notification.tenant, payload.letter_id)
    if status is not NotificationStatus.DEAD_LETTER:
        reason = "there is no such notification" if status is None else f"it is no dead letter: {status}"
        return Applied(NotificationStatus.REFUSED, {"reason": reason})
    now = engine.clock()
    if isinstance(payload, RequeuePayload):
        await notifications.move(conn, payload.letter_id, status, NotificationStatus.RECEIVED, None, now)
        conn.on_commit(engine.wakeup.poke)
    else:
        dropped = {
            "status": str(NotificationStatus.DROPPED),
            "reason": engine.privacy.text(payload.reason),
            "by": notification.actor.id,
        }
        await notifications.move(conn, payload.letter_id, status, NotificationStatus.DROPPED, dropped, now)
    return Applied(NotificationStatus.APPLIED, {"letter_id": payload.letter_id})
