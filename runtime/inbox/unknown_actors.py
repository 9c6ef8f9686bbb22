"""Unknown actors: unconfirmed votes wait for Slack to confirm their person; unknown users are refused, on record.

Unconfirmed votes are recorded again with what Slack confirms, once, then applied. Somebody who is no one person of the
directory may ask for nothing; that they tried is on record.
"""

from dataclasses import replace

from receipts.chain import Actor
from runtime.engine import HEAD_START, Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.model.commands import UnknownActorPayload
from runtime.model.notification import ApplyResult, Notification
from runtime.model.person import SlackAccount
from runtime.model.states import NotificationStatus
from runtime.model.votes import Refusal
from runtime.store import notifications


async def apply_unknown_actor(matter: NotificationContext, payload: UnknownActorPayload) -> ApplyResult:
    """Put on record what an unknown actor wanted of a step; nothing is done."""
    tx, code = matter.run(), str(payload.code)
    if tx is None:
        return ApplyResult(NotificationStatus.REFUSED, {"reason": f"there is no run {payload.run_id}"})
    facts = {"notification_id": matter.notification.notification_id, "code": code, "act": str(payload.act)}
    tx.leaf("notification.refused", facts, actor=matter.notification.actor, step=payload.step)
    return ApplyResult(NotificationStatus.REFUSED, {"reason": code, "code": code})


CONFIRMED_AS = "confirmed_as"
"""In the outcome of what was unconfirmed: the notification that it became."""


async def confirm(
    engine: Engine, notification_id: str, account: SlackAccount, person_id: str | None, refusal: Refusal | None
) -> str | None:
    """Record who said what was unconfirmed, or why it cannot count; return the notification to apply, None if one is.

    What was recorded first stays as it was: both stand in the inbox.
    """
    found = (await engine.addressed(notification_id)).notification
    now = engine.clock()
    async with engine.pool.connection() as conn, conn.transaction():
        status = await notifications.lock_status(conn, found.tenant, notification_id)
        if status is not NotificationStatus.RECEIVED or not found.is_unconfirmed:
            return None
        new = _confirmed(engine, found, account, person_id, refusal)
        await notifications.record_all(conn, [new], now, now + HEAD_START)
        outcome = {"status": str(NotificationStatus.APPLIED), CONFIRMED_AS: new.notification_id}
        await notifications.move(conn, notification_id, status, NotificationStatus.APPLIED, outcome, now)
    return new.notification_id


def _confirmed(
    engine: Engine, found: Notification, account: SlackAccount, person_id: str | None, refusal: Refusal | None
) -> Notification:
    who = {"team": account.team, "user": account.user, "person_id": person_id, "refusal": refusal}
    return replace(
        found,
        notification_id=engine.new_id("ntf"),
        dedupe_key=f"{found.dedupe_key}:confirmed",
        payload=found.payload.model_copy(update=who),
        actor=Actor(id=person_id or f"slack:{account.team}:{account.user}", kind="person"),
    )
