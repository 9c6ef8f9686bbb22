"""Who is no one person of the directory may ask for nothing; that they tried is on record."""

from runtime.inbox.matter import Matter
from runtime.model.notification import Applied
from runtime.model.run_payloads import StrangerPayload
from runtime.model.states import NotificationStatus


def apply_stranger(matter: Matter, payload: StrangerPayload) -> Applied:
    """Put on record what a stranger wanted of a step; nothing is done."""
    tx, code = matter.run(), str(payload.code)
    if tx is None:
        return Applied(NotificationStatus.REFUSED, {"reason": f"there is no run {payload.run_id}"})
    facts = {"notification_id": matter.notification.notification_id, "code": code, "act": str(payload.act)}
    tx.leaf("notification.refused", facts, actor=matter.notification.actor, step=payload.step)
    return Applied(NotificationStatus.REFUSED, {"reason": code, "code": code})
