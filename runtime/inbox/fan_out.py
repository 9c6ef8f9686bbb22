"""One answer, many waits: it is handed to each of them, as a notification of its own with an outcome of its own.

Handing out is one transaction; from then on each is applied like any other, in the transaction of its own run. So a
wait that a fault of ours keeps from its answer holds up no other, and whatever ends a process between two of them, the
rest are applied, and none twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runtime.engine import HEAD_START, Engine
from runtime.model.answers import Answer
from runtime.model.notification import Notification
from runtime.model.states import NotificationStatus
from runtime.model.wait import NamedWait
from runtime.store import notifications
from runtime.store.database.pool import Conn

HANDED = "handed_to"
"""The fact that names, of each wait, the notification that was handed to it."""


async def hand_out(
    engine: Engine, conn: Conn, notification: Notification, answer: Answer, waits: Sequence[NamedWait]
) -> dict[str, Any]:
    """Record the answer for each wait, in the caller's transaction, and return the facts that name them."""
    handed = [_for(engine, notification, answer, wait) for wait in waits]
    now = engine.clock()
    await notifications.record_all(conn, handed, now, now + HEAD_START)
    named = [
        {"notification_id": one.notification_id, "wait_id": wait.wait_id, "run_id": wait.run_id, "step": wait.step}
        for one, wait in zip(handed, waits, strict=True)
    ]
    return {"status": str(NotificationStatus.APPLIED), HANDED: named}


def _for(engine: Engine, notification: Notification, answer: Answer, wait: NamedWait) -> Notification:
    return replace(
        notification,
        notification_id=engine.new_id("ntf"),
        dedupe_key=f"{notification.notification_id}:{wait.wait_id}",
        payload=answer.model_copy(update={"wait_id": wait.wait_id}),
        status=NotificationStatus.RECEIVED,
    )


def outcome_of_one(named: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer that was handed to one wait did to it; `facts` are those of its own notification."""
    wait = {name: named[name] for name in ("wait_id", "run_id", "step")}
    return {**wait, "status": facts["status"], "code": facts.get("code") or "", "reason": facts.get("reason", "")}


def sum_up(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one outcome for all: applied if it did anything, else that of the first that was refused, or the first."""
    order = (NotificationStatus.APPLIED, NotificationStatus.RECEIVED, NotificationStatus.REFUSED)
    telling = next((one for status in order for one in outcomes if one["status"] == status), outcomes[0])
    return {**telling, "waits": [dict(one) for one in outcomes]}
