"""The inbox of notifications: facts from outside, each recorded once."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from pydantic import ValidationError

from receipts.chain import Actor
from runtime.model.approval import AskKind
from runtime.model.notification import Addressed, AddressedRequest, Notification, NotificationState, parse_payload
from runtime.model.payloads import PayloadError
from runtime.model.states import NOTIFICATION, NotificationStatus, check
from runtime.model.wait import NamedWait
from runtime.store.database.pool import Conn
from runtime.store.database.write_buffer import WriteKind

_COLUMNS = (
    "notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor, request_id, status, outcome, forgotten"
)
_APPLIED = WriteKind(
    "applied",
    "notifications",
    # IS TRUE: each is found by its id, and not among all that are received, however few the planner takes those for
    """
    UPDATE notifications SET status = r.status, outcome = r.outcome, applied_at = r.applied_at
      FROM {r} WHERE notifications.notification_id = r.notification_id AND (notifications.status = 'received') IS TRUE
    """,
    (("notification_id", "text"), ("status", "text"), ("outcome", "json"), ("applied_at", "timestamptz")),
    key=1,
)


async def record(conn: Conn, new: Notification, now: datetime) -> str:
    """Write a notification; a repeat (same dedupe key) is counted on the first, whose id is returned."""
    row = await conn.row(
        """
        INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor,
                                   request_id, status, received_at, next_try_at)
        VALUES (%(notification_id)s, %(tenant)s, %(kind)s, %(dedupe_key)s, %(correlation_key)s, %(payload)s,
                %(actor)s, %(request_id)s, 'received', %(now)s, %(now)s)
        ON CONFLICT (dedupe_key) DO UPDATE SET deliveries = notifications.deliveries + 1
        RETURNING notification_id
        """,
        {**_row(new), "now": now},
    )
    if row is None:
        raise LookupError("an insert that returns, did not")
    return str(row["notification_id"])


async def record_all(conn: Conn, new: Sequence[Notification], now: datetime, until: datetime) -> set[str]:
    """Write notifications that nobody else takes before `until`; return the ids of those that are no repeats.

    Keys are taken in their order: two that write the same do not wait for each other.
    """
    rows = await conn.read(
        """
        INSERT INTO notifications (notification_id, tenant, kind, dedupe_key, correlation_key, payload, actor,
                                   request_id, status, received_at, next_try_at)
        SELECT notification_id, tenant, kind, dedupe_key, correlation_key, payload::json, actor::json,
               request_id, 'received', %(now)s, %(until)s
          FROM json_to_recordset(%(rows)s::json) AS r (notification_id text, tenant text, kind text,
               dedupe_key text, correlation_key text, payload text, actor text, request_id text)
         ORDER BY dedupe_key
        ON CONFLICT (dedupe_key) DO NOTHING RETURNING notification_id
        """,
        {"rows": orjson.dumps([_row(one) for one in new]).decode(), "now": now, "until": until},
    )
    return {row["notification_id"] for row in rows}


def _row(new: Notification) -> dict[str, str]:
    return {
        "notification_id": new.notification_id,
        "tenant": new.tenant,
        "kind": new.payload.kind,
        "dedupe_key": new.dedupe_key,
        "correlation_key": new.correlation_key,
        "payload": new.payload.model_dump_json(exclude={"kind"}),
        "actor": new.actor.model_dump_json(),
        "request_id": new.request_id,
    }


async def claim(conn: Conn, tenant: str, now: datetime, until: datetime, limit: int) -> list[str]:
    """Claim notifications that are not yet applied, oldest first; nobody else takes them before `until`."""
    rows = await conn.rows(
        """
        WITH claimed AS (
            UPDATE notifications SET next_try_at = %(until)s
             WHERE notification_id IN (
                SELECT notification_id FROM notifications
                 WHERE tenant = %(tenant)s AND status = 'received' AND next_try_at <= %(now)s
                 ORDER BY next_try_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
            RETURNING notification_id, received_at)
        SELECT notification_id FROM claimed ORDER BY received_at, notification_id
        """,
        {"tenant": tenant, "now": now, "until": until, "limit": limit},
    )
    return [row["notification_id"] for row in rows]


async def addressed(conn: Conn, notification_ids: Sequence[str]) -> list[Addressed | PayloadError | LookupError]:
    """Return, in one read, each notification with what it is for; its error where it is none of its kind, or none.

    Waits come in the order in which their runs are to be locked.
    """
    # IS TRUE: what has an id is not looked for by its tenant, of which a planner without statistics expects but a few
    rows = await conn.read(
        f"""
        SELECT {_COLUMNS},
               CASE WHEN n.kind IN ('completion', 'progress', 'signal') THEN
                    (SELECT json_agg(json_build_array(w.wait_id, w.run_id, w.step, w.token)
                                     ORDER BY w.run_id, w.wait_id)
                       FROM waits w JOIN runs r USING (run_id)
                      WHERE w.status = 'active' AND w.correlation_key = n.correlation_key
                        AND w.wait_id = coalesce(n.payload ->> 'wait_id', w.wait_id)
                        AND (r.tenant = n.tenant) IS TRUE)
                    WHEN n.kind IN ('deadline', 'escalation', 'child_ended') THEN
                    (SELECT json_agg(json_build_array(w.wait_id, w.run_id, w.step, w.token)) FROM waits w
                      WHERE w.status = 'active' AND w.wait_id = n.payload ->> 'wait_id')
               END AS waits,
               CASE WHEN n.kind IN ('vote', 'claim', 'withdraw', 'ask', 'reply', 'hand', 'edit') THEN
                    (SELECT a.run_id FROM approvals a
                      WHERE a.approval_id = n.payload ->> 'approval_id' AND (a.tenant = n.tenant) IS TRUE)
                    WHEN n.kind IN ('cancel', 'undo', 'retry', 'repair_step', 'unknown_actor', 'retry_bundle',
                    'delivery',
                                     'signal') THEN
                    (SELECT r.run_id FROM runs r
                      WHERE r.run_id = n.payload ->> 'run_id' AND (r.tenant = n.tenant) IS TRUE)
               END AS run_id,
               CASE WHEN n.kind = 'vote' THEN
                    (SELECT json_build_array(a.approval_id, a.kind, a.step, a.effect_id,
                            (a.requirement ->> 'quorum')::int <= 1 + (SELECT count(*) FROM votes v
                              WHERE v.approval_id = a.approval_id AND v.withdrawn_at IS NULL
                                AND v.verdict = 'approve'),
                            EXISTS (SELECT FROM delegations d
                                     WHERE d.tenant = n.tenant AND d.delegate = n.payload ->> 'person_id'
                                       AND d.ended_at IS NULL))
                       FROM approvals a WHERE a.approval_id = n.payload ->> 'approval_id')
               END AS request
          FROM notifications n WHERE notification_id = ANY(%(ids)s)
        """,  # noqa: S608 - our own columns
        {"ids": list(notification_ids)},
    )
    found = {row["notification_id"]: _addressed(row) for row in rows}
    return [found.get(one, LookupError(f"no notification {one}")) for one in notification_ids]


def _addressed(row: Mapping[str, Any]) -> Addressed | PayloadError:
    try:
        payload, actor = parse_payload(row["kind"], row["payload"]), Actor.model_validate(row["actor"])
    except PayloadError as error:
        return error
    except ValidationError as error:
        return PayloadError(f"actor: {error.errors(include_url=False)[0]['msg']}")
    notification = Notification(
        notification_id=row["notification_id"],
        tenant=row["tenant"],
        dedupe_key=row["dedupe_key"],
        correlation_key=row["correlation_key"],
        payload=payload,
        actor=actor,
        request_id=row["request_id"],
        status=NotificationStatus(row["status"]),
        outcome=row["outcome"],
        forgotten=row["forgotten"],
    )
    waits = [NamedWait(*wait) for wait in row["waits"] or ()]
    return Addressed(notification, waits, row["run_id"], _request(row["request"]))


def _request(said: Sequence[Any] | None) -> AddressedRequest | None:
    if said is None:
        return None
    approval_id, kind, *others = said
    return AddressedRequest(approval_id, AskKind(kind), *others)


async def standings(conn: Conn, notification_ids: Sequence[str]) -> list[NotificationState]:
    """Return where notifications stand, locked in the caller's transaction, which has locked their runs before."""
    rows = await conn.look(
        "SELECT notification_id, status, outcome FROM notifications WHERE notification_id = ANY(%(ids)s)"
        " ORDER BY notification_id FOR UPDATE",
        {"ids": list(notification_ids)},
        table="notifications",
        keys=set(notification_ids),
    )
    found = {
        row["notification_id"]: NotificationState(NotificationStatus(row["status"]), row["outcome"]) for row in rows
    }
    return [found[one] for one in notification_ids]


async def outcome_of(conn: Conn, notification_id: str) -> dict[str, Any] | None:
    """Return the facts of what became of a notification, or None as long as it is not applied."""
    row = await conn.row("SELECT outcome FROM notifications WHERE notification_id = %s", (notification_id,))
    return row["outcome"] if row else None


async def mark(
    conn: Conn, notification_id: str, status: NotificationStatus, outcome: Mapping[str, Any], now: datetime
) -> None:
    """Say, in the caller's transaction, what became of a notification; once that is final, it stays."""
    is_open = status in (NotificationStatus.EARLY, NotificationStatus.DEAD_LETTER)
    await conn.gather(_APPLIED, (notification_id, status, json.dumps(dict(outcome)), None if is_open else now))


async def count_failure(conn: Conn, notification_id: str, error: str) -> int:
    """Note that a fault of ours kept a notification from being applied; return how often that has been so."""
    row = await conn.row(
        "UPDATE notifications SET failures = failures + 1, error = %s WHERE notification_id = %s RETURNING failures",
        (error, notification_id),
    )
    if row is None:
        raise LookupError(f"no notification {notification_id}")
    return int(row["failures"])


async def postpone(conn: Conn, notification_id: str, next_try_at: datetime) -> None:
    """Say when a notification is to be tried again."""
    await conn.execute(
        "UPDATE notifications SET next_try_at = %s WHERE notification_id = %s", (next_try_at, notification_id)
    )


async def unconfirmed(conn: Conn, tenant: str) -> Sequence[Mapping[str, Any]]:
    """Return id, team and user of what waits for Slack to confirm who says it, oldest first."""
    return await conn.rows(
        "SELECT notification_id, payload ->> 'team' AS team, payload ->> 'user' AS account FROM notifications"
        " WHERE tenant = %s AND status = 'received' AND payload #>> '{refusal,code}' = 'identity.unconfirmed'"
        " ORDER BY received_at, notification_id",
        (tenant,),
    )


async def lock_status(conn: Conn, tenant: str, notification_id: str) -> NotificationStatus | None:
    """Return where a notification of the tenant stands, locked in the caller's transaction, or None."""
    row = await conn.row(
        "SELECT status FROM notifications WHERE tenant = %s AND notification_id = %s FOR UPDATE",
        (tenant, notification_id),
    )
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
        "UPDATE notifications SET status = 'received', outcome = NULL, next_try_at = received_at"
        " WHERE tenant = %s AND correlation_key = %s AND status = 'early'",
        (tenant, correlation_key),
    )


async def receive_opened(conn: Conn, tenant: str, since: datetime) -> int:
    """Have early answers looked at again whose wait opened in the very moment, after `since`, when they came."""
    done = await conn.execute(
        """
        UPDATE notifications n SET status = 'received', outcome = NULL, next_try_at = received_at
          FROM waits w JOIN runs r USING (run_id)
         WHERE n.status = 'early' AND n.tenant = %(tenant)s AND n.received_at > %(since)s AND r.tenant = %(tenant)s
           AND w.correlation_key = n.correlation_key AND w.status = 'active'
        """,
        {"tenant": tenant, "since": since},
    )
    return done.rowcount


async def end_early_signals(conn: Conn, tenant: str, outcome: Mapping[str, Any], now: datetime) -> int:
    """Say of early signals whose run has ended that they came too late; not of triggers, which may start one."""
    done = await conn.execute(
        """
        UPDATE notifications n SET status = 'stale', outcome = %(outcome)s, applied_at = %(now)s
          FROM runs r
         WHERE n.status = 'early' AND n.tenant = %(tenant)s AND n.kind = 'signal'
           AND n.payload ->> 'trigger' IS NULL
           AND r.run_id = n.payload ->> 'run_id' AND r.finished_at IS NOT NULL
        """,
        {"tenant": tenant, "outcome": json.dumps(dict(outcome)), "now": now},
    )
    return done.rowcount


async def receive_left(conn: Conn, tenant: str) -> int:
    """Have triggers looked at again that became signals to a run, and whose run has ended without them."""
    done = await conn.execute(
        """
        UPDATE notifications n SET status = 'received', outcome = NULL, next_try_at = received_at
          FROM runs r
         WHERE n.status = 'early' AND n.tenant = %s AND n.kind = 'signal' AND n.payload ->> 'trigger' IS NOT NULL
           AND r.run_id = n.payload ->> 'run_id' AND r.finished_at IS NOT NULL
        """,
        (tenant,),
    )
    return done.rowcount


async def forget_data(conn: Conn, notification_id: str) -> None:
    """Take out of a signal what it said: that stands with the run that it started, or the signal that it became."""
    await conn.execute(
        "UPDATE notifications SET payload = (payload::jsonb || '{\"data\": {}}')::json, forgotten = true"
        " WHERE notification_id = %s",
        (notification_id,),
    )


async def find_recorded(conn: Conn, dedupe_key: str) -> str | None:
    """Return the notification that was recorded under a dedupe key, or None."""
    return (await find_all_recorded(conn, [dedupe_key]))[0]


async def find_all_recorded(conn: Conn, dedupe_keys: Sequence[str]) -> list[str | None]:
    """Return the notification that was recorded under each dedupe key, or None."""
    query = "SELECT dedupe_key, notification_id FROM notifications WHERE dedupe_key = ANY(%(keys)b)"
    rows = await conn.read(query, {"keys": list(dedupe_keys)})
    found = {row["dedupe_key"]: row["notification_id"] for row in rows}
    return [found.get(key) for key in dedupe_keys]


async def expire_early_answers(conn: Conn, tenant: str, before: datetime, outcome: Mapping[str, Any]) -> list[str]:
    """Make early answers that came before a moment dead letters; return their ids. Signals wait with their run."""
    rows = await conn.rows(
        "UPDATE notifications SET status = 'dead_letter', outcome = %s WHERE tenant = %s AND status = 'early'"
        " AND kind <> 'signal' AND received_at < %s RETURNING notification_id",
        (json.dumps(dict(outcome)), tenant, before),
    )
    return [row["notification_id"] for row in rows]
