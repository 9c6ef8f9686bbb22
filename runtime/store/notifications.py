"""The inbox: facts from outside, each recorded once."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from receipts.chain import Actor
from runtime.model.notification import Notification, parse_payload
from runtime.model.states import NotificationStatus
from runtime.store.database.pool import Conn

_COLUMNS = "notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor, request_id, status, outcome"


async def record(conn: Conn, new: Notification, now: datetime) -> str:
    """Write a notification; a repeat (same dedupe key) is counted on the first, whose id is returned."""
    row = await (
        await conn.execute(
            """
            INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor,
                                       request_id, status, received_at, next_try_at)
            VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'received', %s, %s)
            ON CONFLICT (dedupe_key) DO UPDATE SET deliveries = notifications.deliveries + 1
            RETURNING notification_id
            """,
            (
                new.notification_id,
                new.tenant,
                new.payload.kind,
                new.dedupe_key,
                new.correlation_key,
                new.payload.model_dump_json(exclude={"kind"}),
                new.actor.model_dump_json(),
                new.request_id,
                now,
                now,
            ),
        )
    ).fetchone()
    if row is None:
        raise LookupError("an insert that returns, did not")
    return str(row["notification_id"])


async def claim(conn: Conn, tenant: str, now: datetime, until: datetime, limit: int) -> list[str]:
    """Claim notifications that are not yet applied, oldest first; nobody else takes them before `until`."""
    rows = await (
        await conn.execute(
            """
            UPDATE notifications SET next_try_at = %(until)s
             WHERE notification_id IN (
                SELECT notification_id FROM notifications
                 WHERE tenant = %(tenant)s AND status = 'received' AND next_try_at <= %(now)s
                 ORDER BY next_try_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
            RETURNING notification_id
            """,
            {"tenant": tenant, "now": now, "until": until, "limit": limit},
        )
    ).fetchall()
    return [row["notification_id"] for row in rows]


async def get_notification(conn: Conn, notification_id: str) -> Notification:
    """Return a notification, locked in the caller's transaction; raise PayloadError if it is none of its kind."""
    row = await (
        await conn.execute(
            f"SELECT {_COLUMNS} FROM notifications WHERE notification_id = %s FOR UPDATE",  # noqa: S608
            (notification_id,),
        )
    ).fetchone()
    if row is None:
        raise LookupError(f"no notification {notification_id}")
    return Notification(
        notification_id=row["notification_id"],
        tenant=row["tenant"],
        dedupe_key=row["dedupe_key"],
        correlation_key=row["correlation_key"],
        payload=parse_payload(row["kind"], row["payload"]),
        actor=Actor(**row["actor"]),
        request_id=row["request_id"],
        status=NotificationStatus(row["status"]),
        outcome=row["outcome"],
    )


async def outcome_of(conn: Conn, notification_id: str) -> dict[str, Any] | None:
    """Return the facts of what became of a notification, or None as long as it is not applied."""
    row = await (
        await conn.execute("SELECT outcome FROM notifications WHERE notification_id = %s", (notification_id,))
    ).fetchone()
    return row["outcome"] if row else None


async def mark(
    conn: Conn, notification_id: str, status: NotificationStatus, outcome: Mapping[str, Any], now: datetime
) -> None:
    """Say what became of a notification."""
    await conn.execute(
        "UPDATE notifications SET status = %s, outcome = %s, applied_at = %s WHERE notification_id = %s"
        " AND status = 'received'",
        (status, json.dumps(dict(outcome)), now, notification_id),
    )
