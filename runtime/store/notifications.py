"""The inbox: facts from outside, each recorded once."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from receipts.chain import Actor
from runtime.model.notification import Notification, parse_payload
from runtime.model.states import NOTIFICATION, NotificationStatus, check
from runtime.store.database.pool import Conn

_COLUMNS = (
    "notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor, request_id, status, outcome, forgotten"
)


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
        forgotten=row["forgotten"],
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
    """Say what became of a notification; once that is final, it stays."""
    is_open = status in (NotificationStatus.EARLY, NotificationStatus.DEAD_LETTER)
    await conn.execute(
        "UPDATE notifications SET status = %s, outcome = %s, applied_at = %s WHERE notification_id = %s"
        " AND status = 'received'",
        (status, json.dumps(dict(outcome)), None if is_open else now, notification_id),
    )


async def count_failure(conn: Conn, notification_id: str, error: str) -> int:
    """Note that a fault of ours kept a notification from being applied; return how often that has been so."""
    row = await (
        await conn.execute(
            "UPDATE notifications SET failures = failures + 1, error = %s WHERE notification_id = %s"
            " RETURNING failures",
            (error, notification_id),
        )
    ).fetchone()
    if row is None:
        raise LookupError(f"no notification {notification_id}")
    return int(row["failures"])


async def postpone(conn: Conn, notification_id: str, next_try_at: datetime) -> None:
    """Say when a notification is to be tried again."""
    await conn.execute(
        "UPDATE notifications SET next_try_at = %s WHERE notification_id = %s", (next_try_at, notification_id)
    )


async def lock_status(conn: Conn, tenant: str, notification_id: str) -> NotificationStatus | None:
    """Return where a notification of the tenant stands, locked in the caller's transaction, or None."""
    row = await (
        await conn.execute(
            "SELECT status FROM notifications WHERE tenant = %s AND notification_id = %s FOR UPDATE",
            (tenant, notification_id),
        )
    ).fetchone()
    return NotificationStatus(row["status"]) if row else None


async def move(
    conn: Conn,
    notification_id: str,
    before: NotificationStatus,
    after: NotificationStatus,
    outcome: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """Have one looked at again (`received`, without an outcome), or put away; the caller holds its row."""
    check(NOTIFICATION, before, after)
    told = None if outcome is None else json.dumps(dict(outcome))
    await conn.execute(
        "UPDATE notifications SET status = %s, outcome = %s, next_try_at = %s, applied_at = %s"
        " WHERE notification_id = %s",
        (after, told, now, None if told is None else now, notification_id),
    )


async def receive_early(conn: Conn, tenant: str, correlation_key: str) -> None:
    """Have the answers looked at again that came under this key before anything waited for them."""
    await conn.execute(
        "UPDATE notifications SET status = 'received', outcome = NULL"
        " WHERE tenant = %s AND correlation_key = %s AND status = 'early'",
        (tenant, correlation_key),
    )


async def receive_opened(conn: Conn, tenant: str, since: datetime) -> int:
    """Have early answers looked at again whose wait opened in the very moment, after `since`, when they came."""
    done = await conn.execute(
        """
        UPDATE notifications n SET status = 'received', outcome = NULL
          FROM waits w JOIN runs r USING (run_id)
         WHERE n.status = 'early' AND n.tenant = %(tenant)s AND n.received_at > %(since)s AND r.tenant = %(tenant)s
           AND w.correlation_key = n.correlation_key AND w.status = 'active'
        """,
        {"tenant": tenant, "since": since},
    )
    return done.rowcount


async def bury_early(conn: Conn, tenant: str, before: datetime, outcome: Mapping[str, Any]) -> list[str]:
    """Make early answers that came before a moment dead letters; return their ids."""
    rows = await (
        await conn.execute(
            "UPDATE notifications SET status = 'dead_letter', outcome = %s WHERE tenant = %s AND status = 'early'"
            " AND received_at < %s RETURNING notification_id",
            (json.dumps(dict(outcome)), tenant, before),
        )
    ).fetchall()
    return [row["notification_id"] for row in rows]
