"""Direct messages: how each person wants to be told, as the directory says, and how often they were told.

Messages are counted where all workers count together; what is too much is gathered into one message.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import orjson

from runtime.model.delivery import (
    NOTHING_SAID,
    AnswerTurn,
    GatheredMessage,
    Gathering,
    Notice,
    Notices,
    SendAlone,
    SendGathered,
    rank_of,
)
from runtime.store.database.pool import Conn

_HOUR, _KEPT = timedelta(hours=1), timedelta(days=30)
_ANSWERS_KEPT = timedelta(days=1)


async def take_turn(
    conn: Conn, tenant: str, notice: Notice, most: int, new_id: str, now: datetime
) -> SendAlone | SendGathered:
    """Count a message to somebody, once, in the caller's transaction; `most` of its rank an hour stand by themselves.

    What is more joins the gathering that was begun within an hour, or else begins one, as `new_id`.
    """
    await conn.execute("SELECT pg_advisory_xact_lock(hashtextextended('told:' || %s, 0))", (notice.account,))
    values = {"tenant": tenant, "account": notice.account, "since": now - _HOUR, "message": notice.key}
    row = await conn.row(
        """
        SELECT (SELECT json_build_object('gathering_id', gathering_id) FROM direct_messages
                 WHERE tenant = %(tenant)s AND message = %(message)s) AS before,
               (SELECT json_agg(alike) FROM (
                    SELECT said->>'kind' AS kind, asks, count(*) AS n FROM direct_messages
                     WHERE tenant = %(tenant)s AND account = %(account)s AND at > %(since)s AND gathering_id IS NULL
                       AND said->>'kind' <> 'answer'
                     GROUP BY 1, 2) AS alike) AS alone,
               (SELECT gathering_id FROM gatherings WHERE tenant = %(tenant)s AND account = %(account)s
                   AND begun_at > %(since)s ORDER BY begun_at DESC LIMIT 1) AS gathering_id
        """,
        values,
    )
    assert row is not None  # noqa: S101 - it has no FROM
    if row["before"] is not None:
        return _turn(row["before"]["gathering_id"])
    alone = sum(one["n"] for one in row["alone"] or () if rank_of(one["kind"], asks=one["asks"]) is notice.rank)
    gathering = None if alone < most else row["gathering_id"] or new_id
    if gathering == new_id:
        await _begin(conn, tenant, notice, new_id, now)
    await _count(conn, tenant, notice, gathering, now)
    return _turn(gathering)


def _turn(gathering_id: str | None) -> SendAlone | SendGathered:
    return SendAlone() if gathering_id is None else SendGathered(gathering_id)


async def _begin(conn: Conn, tenant: str, notice: Notice, gathering_id: str, now: datetime) -> None:
    await conn.execute(
        "INSERT INTO gatherings (gathering_id, tenant, account, poster, begun_at) VALUES (%s, %s, %s, %s, %s)",
        (gathering_id, tenant, notice.account, notice.key, now),
    )


async def _count(conn: Conn, tenant: str, notice: Notice, gathering_id: str | None, now: datetime) -> None:
    """Write down that something was said to somebody, and forget what was long ago."""
    await conn.execute(
        """
        WITH over AS (
            DELETE FROM direct_messages WHERE tenant = %(tenant)s AND account = %(account)s AND at < %(old)s
        ), gathered AS (
            DELETE FROM gatherings WHERE tenant = %(tenant)s AND account = %(account)s AND begun_at < %(old)s
        )
        INSERT INTO direct_messages (tenant, message, account, at, gathering_id, said, card_of, asks)
        VALUES (%(tenant)s, %(message)s, %(account)s, %(now)s, %(gathering_id)s, %(said)s, %(card_of)s, %(asks)s)
        """,
        {
            "tenant": tenant,
            "message": notice.key,
            "account": notice.account,
            "now": now,
            "old": now - _KEPT,
            "gathering_id": gathering_id,
            "said": orjson.dumps(dict(notice.said)).decode(),
            "card_of": notice.card_of,
            "asks": notice.asks,
        },
    )


async def find_gathering(conn: Conn, tenant: str, gathering_id: str) -> Gathering | None:
    """Return a gathering as it is now, or None."""
    rows = await conn.rows(
        """
        SELECT g.account, g.poster, g.channel, g.ts, t.said, t.card_of, t.asks, a.channel AS card, a.card_ts,
               coalesce(a.status = 'requested', true) AS is_open, coalesce(a.shown->>'title', '') AS title
          FROM gatherings g JOIN direct_messages t USING (gathering_id)
          LEFT JOIN approvals a ON a.approval_id = t.card_of
         WHERE g.tenant = %s AND g.gathering_id = %s ORDER BY t.at, t.message
        """,
        (tenant, gathering_id),
    )
    return _gathering(gathering_id, rows) if rows else None


def _gathering(gathering_id: str, rows: list[dict[str, Any]]) -> Gathering:
    first: Mapping[str, Any] = rows[0]
    place = None if first["channel"] is None else (first["channel"], first["ts"])
    return Gathering(gathering_id, first["account"], first["poster"], place, [_gathered(row) for row in rows])


def _gathered(row: Mapping[str, Any]) -> GatheredMessage:
    card = (row["card"], row["card_ts"]) if row["card_ts"] else None
    return GatheredMessage(row["said"], row["card_of"], row["asks"], row["is_open"], row["title"], card)


async def keep_place(conn: Conn, tenant: str, gathering_id: str, channel: str, ts: str) -> None:
    """Keep where a gathering was posted; the first place stays."""
    await conn.execute(
        "UPDATE gatherings SET channel = %s, ts = %s WHERE tenant = %s AND gathering_id = %s AND ts IS NULL",
        (channel, ts, tenant, gathering_id),
    )


async def begin_answer(conn: Conn, tenant: str, key: str, account: str, now: datetime) -> AnswerTurn:
    """Begin a private answer, unless somebody has, and forget those of the account that are older than a day."""
    row = await conn.row(
        """
        WITH over AS (
            DELETE FROM direct_messages WHERE tenant = %(tenant)s AND account = %(account)s AND at < %(old)s
                AND said->>'kind' = 'answer'
        ), begun AS (
            INSERT INTO direct_messages (tenant, message, account, at, said)
            VALUES (%(tenant)s, %(key)s, %(account)s, %(now)s, '{"kind": "answer", "is_given": false}')
            ON CONFLICT (tenant, message) DO NOTHING RETURNING 1
        )
        SELECT EXISTS (SELECT FROM begun) AS is_ours,
               EXISTS (SELECT FROM direct_messages WHERE tenant = %(tenant)s AND message = %(key)s
                          AND said->>'is_given' = 'true') AS is_given
        """,
        {"tenant": tenant, "key": key, "account": account, "now": now, "old": now - _ANSWERS_KEPT},
    )
    assert row is not None  # noqa: S101 - it has no FROM
    if row["is_ours"]:
        return AnswerTurn.OURS
    return AnswerTurn.GIVEN if row["is_given"] else AnswerTurn.BEGUN


async def end_answer(conn: Conn, tenant: str, key: str, *, is_given: bool) -> None:
    """Keep that a private answer was given; or forget that it was begun, so that it may be given again."""
    if is_given:
        given = '{"kind": "answer", "is_given": true}'
        query = f"UPDATE direct_messages SET said = '{given}' WHERE tenant = %s AND message = %s"  # noqa: S608 - our own
    else:
        query = "DELETE FROM direct_messages WHERE tenant = %s AND message = %s AND said->>'is_given' = 'false'"
    await conn.execute(query, (tenant, key))


async def notices_of(conn: Conn, wanted: Sequence[tuple[str, str]]) -> list[Notices]:
    """Return how whoever is behind a Slack account is told, of many (tenant, account) in one read."""
    rows = await conn.look(
        """
        SELECT s.tenant, s.account, a.notices FROM slack_accounts s JOIN actors a USING (tenant, actor_id)
         WHERE (s.tenant, s.account) IN (SELECT * FROM unnest(%(tenants)b::text[], %(accounts)b::text[]))
         ORDER BY a.actor_id
        """,
        {"tenants": [tenant for tenant, _ in wanted], "accounts": [account for _, account in wanted]},
        table="actors",
        keys=(),
    )
    found = {(row["tenant"], row["account"]): Notices.of(row["notices"]) for row in rows}
    return [found.get(one, NOTHING_SAID) for one in wanted]


async def people_reached(conn: Conn, wanted: Sequence[tuple[str, str]]) -> list[dict[str, Notices]]:
    """Return, of many people (tenant, id) in one read, the Slack users at which each reads what is sent, and when.

    They do not read it where they are deactivated.
    """
    rows = await conn.look(
        """
        SELECT s.tenant, s.actor_id, s.account, a.notices FROM slack_accounts s JOIN actors a USING (tenant, actor_id)
         WHERE (s.tenant, s.actor_id) IN (SELECT * FROM unnest(%(tenants)b::text[], %(people)b::text[]))
           AND NOT EXISTS (SELECT FROM slack_absentees x
                            WHERE (x.tenant, x.team, x.account) = (s.tenant, s.team, s.account))
         ORDER BY s.team, s.account
        """,
        {"tenants": [tenant for tenant, _ in wanted], "people": [person for _, person in wanted]},
        table="actors",
        keys=(),
    )
    found: dict[tuple[str, str], dict[str, Notices]] = {}
    for row in rows:
        found.setdefault((row["tenant"], row["actor_id"]), {})[row["account"]] = Notices.of(row["notices"])
    return [found.get(one, {}) for one in wanted]


async def remind_of(conn: Conn, tenant: str) -> dict[str, Any]:
    """Return when the tenant has those reminded who are asked, as `reminder_times` reads it; {} for never."""
    query = "SELECT remind FROM directories WHERE tenant = %s"
    row = await conn.row(query, (tenant,))
    return row["remind"] if row else {}
