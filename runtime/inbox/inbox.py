"""The one door in: every inbound fact is a notification, recorded once, then applied to the waits that it is for.

Late, repeated and unmatched notifications are recorded as such and change nothing. What comes early waits for its wait.
What is wrong with a notification makes it a dead letter; a fault of ours does not: it is tried again until mended.
"""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from runtime.definitions.model import Retry
from runtime.engine import Engine
from runtime.failpoints import Point, at
from runtime.inbox import votes
from runtime.inbox.cancellations import apply_cancel
from runtime.inbox.completions import apply_answer
from runtime.inbox.deadlines import apply_deadline, apply_escalation
from runtime.inbox.letters import apply_to_letter
from runtime.inbox.retries import apply_retry
from runtime.model.approval import RefusalCode
from runtime.model.json_limits import error_text, first_line
from runtime.model.notification import (
    Applied,
    CancelPayload,
    CompletionPayload,
    DeadlinePayload,
    DropPayload,
    EscalationPayload,
    Notification,
    PayloadError,
    ProgressPayload,
    RequeuePayload,
    RetryPayload,
    VotePayload,
)
from runtime.model.states import NotificationStatus
from runtime.outbox.retry import delay
from runtime.store import notifications
from runtime.store.database.pool import AWAY, Conn

NOT_NOW = "This could not be recorded just now, and will be tried again."

_BACKOFF = Retry(1, "exponential", timedelta(seconds=1), timedelta(minutes=10))
"""How long a notification is left alone that a fault of ours kept from being applied; nothing ends it but the mend."""

log = logging.getLogger(__name__)


async def record(engine: Engine, notification: Notification) -> str:
    """Write a notification durably and return its id; a repeat returns the first's id."""
    at(Point.NOTIFICATION_RECORDING)
    async with engine.pool.connection() as conn:
        notification_id = await notifications.record(conn, notification, engine.clock())
    at(Point.NOTIFICATION_RECORDED)
    engine.wakeup.poke()
    return notification_id


async def apply(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    """Apply a recorded notification, at most once, and return the facts of its outcome; a repeat returns the same.

    What is no notification of its kind is a dead letter, and says why. Over a fault of ours it stays `received`.
    """
    try:
        return await _apply(engine, notification_id)
    except PayloadError as error:
        return await _bury(engine, notification_id, error)
    except AWAY:
        raise  # the database's, whom nothing can be told just now
    except Exception as error:  # noqa: BLE001 - whatever it is, what people and other systems said is kept
        return await _put_off(engine, notification_id, error)


async def _bury(engine: Engine, notification_id: str, error: PayloadError) -> Mapping[str, Any]:
    reason = error_text(engine.privacy.text(str(error)))
    facts = _told(RefusalCode.UNUSABLE, NotificationStatus.DEAD_LETTER, reason)
    log.warning("notification %s is a dead letter: %s", notification_id, reason)
    async with engine.pool.connection() as conn:
        await notifications.mark(conn, notification_id, NotificationStatus.DEAD_LETTER, facts, engine.clock())
    return facts


async def _put_off(engine: Engine, notification_id: str, error: Exception) -> Mapping[str, Any]:
    """Have it tried again after a pause that grows. The first time it is logged: the fault is ours to mend."""
    async with engine.pool.connection() as conn, conn.transaction():
        reason = error_text(engine.privacy.text(f"{type(error).__name__}: {first_line(error)}"))
        failures = await notifications.count_failure(conn, notification_id, reason)
        pause = delay(_BACKOFF, failures, engine.jitter())
        await notifications.postpone(conn, notification_id, engine.clock() + pause)
    if failures == 1:
        log.error("notification %s could not be applied, and is tried again", notification_id, exc_info=error)
    return _told(RefusalCode.FAILING, NotificationStatus.RECEIVED, NOT_NOW)


def _told(code: RefusalCode, status: NotificationStatus, reason: str) -> dict[str, Any]:
    """Return facts for whoever asks, be it about a vote or an answer."""
    return {
        "counted": False,
        "code": str(code),
        "approval": None,
        "status": str(status),
        "reason": reason,
    }


async def _apply(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    async with engine.pool.connection() as conn, conn.transaction():
        notification = await notifications.get_notification(conn, notification_id)
        if notification.status is NotificationStatus.EARLY:  # sent again: its wait may have opened
            await notifications.move(
                conn, notification_id, notification.status, NotificationStatus.RECEIVED, None, engine.clock()
            )
        elif notification.status is not NotificationStatus.RECEIVED:
            return notification.outcome or {}
        applied = await _dispatch(engine, conn, notification)
        facts = {**applied.facts, "status": str(applied.status)}
        await notifications.mark(conn, notification_id, applied.status, facts, engine.clock())
        at(Point.NOTIFICATION_APPLYING)
    at(Point.NOTIFICATION_APPLIED)
    if applied.status is NotificationStatus.DEAD_LETTER:
        log.warning("notification %s is a dead letter: %s", notification_id, facts.get("reason") or facts["code"])
    return facts


async def _dispatch(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    match notification.payload:
        case VotePayload() as payload:
            return await votes.apply_vote(engine, conn, notification, payload)
        case CompletionPayload() | ProgressPayload() as payload:
            return await apply_answer(engine, conn, notification, payload)
        case DeadlinePayload() as payload:
            return await apply_deadline(engine, conn, notification, payload)
        case EscalationPayload() as payload:
            return await apply_escalation(engine, conn, notification, payload)
        case CancelPayload() as payload:
            return await apply_cancel(engine, conn, notification, payload)
        case RetryPayload() as payload:
            return await apply_retry(engine, conn, notification, payload)
        case RequeuePayload() | DropPayload() as payload:
            return await apply_to_letter(engine, conn, notification, payload)
