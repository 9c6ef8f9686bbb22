"""The one door in: every inbound fact is a notification, recorded once, then applied to at most one wait.

Late, repeated and unmatched notifications are recorded as such and change nothing.
"""

import logging
from collections.abc import Mapping
from typing import Any

import psycopg

from receipts.errors import ReceiptsError
from runtime.engine import Engine
from runtime.inbox import votes
from runtime.inbox.cancellations import apply_cancel
from runtime.inbox.completions import apply_completion, apply_progress
from runtime.inbox.deadlines import apply_deadline, apply_escalation
from runtime.model.json_limits import error_text
from runtime.model.notification import (
    Applied,
    CancelPayload,
    CompletionPayload,
    DeadlinePayload,
    EscalationPayload,
    Notification,
    PayloadError,
    ProgressPayload,
    VotePayload,
)
from runtime.model.states import IllegalTransitionError, NotificationStatus
from runtime.store import notifications
from runtime.store.database.pool import Conn

UNUSABLE = "This cannot be recorded as it is. Nothing has changed."

log = logging.getLogger(__name__)


async def record(engine: Engine, notification: Notification) -> str:
    """Write a notification durably and return its id; a repeat returns the first's id."""
    async with engine.pool.connection() as conn:
        notification_id = await notifications.record(conn, notification, engine.clock())
    engine.wakeup.poke()
    return notification_id


async def apply(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    """Apply a recorded notification, at most once, and return the facts of its outcome; a repeat returns the same.

    One that cannot be applied whatever is tried is a dead letter, and says why.
    """
    try:
        return await _apply(engine, notification_id)
    except (psycopg.DataError, ReceiptsError, UnicodeError, KeyError, IllegalTransitionError, PayloadError) as error:
        log.exception("notification %s cannot be applied", notification_id)
        reason = error_text(engine.privacy.text(f"{type(error).__name__}: {error}"))
        facts = {"counted": False, "code": "vote.unusable", "text": UNUSABLE, "approval": None, "reason": reason}
        facts["status"] = str(NotificationStatus.DEAD_LETTER)
        async with engine.pool.connection() as conn:
            await notifications.mark(conn, notification_id, NotificationStatus.DEAD_LETTER, facts, engine.clock())
        return facts


async def _apply(engine: Engine, notification_id: str) -> Mapping[str, Any]:
    async with engine.pool.connection() as conn, conn.transaction():
        notification = await notifications.get_notification(conn, notification_id)
        if notification.outcome is not None:
            return notification.outcome
        applied = await _dispatch(engine, conn, notification)
        facts = {**applied.facts, "status": str(applied.status)}
        await notifications.mark(conn, notification_id, applied.status, facts, engine.clock())
    return facts


async def _dispatch(engine: Engine, conn: Conn, notification: Notification) -> Applied:
    match notification.payload:
        case VotePayload() as payload:
            return await votes.apply_vote(engine, conn, notification, payload)
        case CompletionPayload() as payload:
            return await apply_completion(engine, conn, notification, payload)
        case ProgressPayload() as payload:
            return await apply_progress(engine, conn, notification, payload)
        case DeadlinePayload() as payload:
            return await apply_deadline(engine, conn, notification, payload)
        case EscalationPayload() as payload:
            return await apply_escalation(engine, conn, notification, payload)
        case CancelPayload() as payload:
            return await apply_cancel(engine, conn, notification, payload)
