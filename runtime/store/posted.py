"""The cards that were posted: one under which the thread is, and its copies.

What was shown is kept for the request: copies of one state are equal to the letter.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from receipts.canonical import digest
from runtime.store.database.pool import Conn

Location = tuple[str, str]


async def location_of(conn: Conn, approval_id: str, copy_at: str | None) -> Location | None:
    """Return (channel, ts) of a request's card, or of the copy that went to a place; None before it is posted."""
    row = await (
        await conn.execute(
            """
            SELECT channel, card_ts FROM approvals
             WHERE approval_id = %(id)s AND card_ts IS NOT NULL AND %(copy_at)s::text IS NULL
            UNION ALL SELECT channel, card_ts FROM card_copies WHERE approval_id = %(id)s AND place = %(copy_at)s
            """,
            {"id": approval_id, "copy_at": copy_at},
        )
    ).fetchone()
    return (row["channel"], row["card_ts"]) if row else None


async def approval_at(conn: Conn, tenant: str, location: Location) -> str | None:
    """Return the approval whose card, or a copy of it, is the message at (channel, ts)."""
    row = await (
        await conn.execute(
            """
            SELECT approval_id FROM approvals
             WHERE tenant = %(tenant)s AND channel = %(channel)s AND card_ts = %(ts)s
            UNION ALL SELECT approval_id FROM card_copies c JOIN approvals a USING (approval_id)
             WHERE a.tenant = %(tenant)s AND c.channel = %(channel)s AND c.card_ts = %(ts)s LIMIT 1
            """,
            {"tenant": tenant, "channel": location[0], "ts": location[1]},
        )
    ).fetchone()
    return row["approval_id"] if row else None


async def title_of(conn: Conn, approval_id: str) -> str:
    """Return what the author of a request calls it, "" where nothing is declared."""
    row = await (
        await conn.execute("SELECT shown->>'title' AS title FROM approvals WHERE approval_id = %s", (approval_id,))
    ).fetchone()
    return (row and row["title"]) or ""


async def remember_card(
    conn: Conn, approval_id: str, location: Location, copy_at: str | None, card: Mapping[str, Any]
) -> bool:
    """Keep where a card stands, and what it showed, in order; the same is kept once, however many copies showed it.

    Return whether it was not shown before. The caller holds the run's row.
    """
    done = await conn.execute(
        """
        UPDATE approvals SET cards = (cards::jsonb || jsonb_build_array(%(card)s::jsonb))::json
         WHERE approval_id = %(id)s
           AND NOT EXISTS (SELECT FROM jsonb_array_elements(cards::jsonb) AS c (shown) WHERE c.shown = %(card)s::jsonb)
        """,
        {"card": json.dumps(card, sort_keys=True), "id": approval_id},
    )
    await (_stands if copy_at is None else _stands_as_copy)(conn, approval_id, location, copy_at)
    return done.rowcount == 1


async def last_cards(conn: Conn, approval_ids: Sequence[str]) -> list[str | None]:
    """Return the digest of the card that was shown last of each of these approvals; None where none was shown."""
    rows = await (
        await conn.look(
            "SELECT approval_id, cards -> -1 AS card FROM approvals WHERE approval_id = ANY(%(ids)s)",
            {"ids": list(approval_ids)},
            table="approvals",
            keys=set(approval_ids),
        )
    ).fetchall()
    found = {row["approval_id"]: digest(row["card"]) for row in rows if row["card"] is not None}
    return [found.get(approval_id) for approval_id in approval_ids]


async def _stands(conn: Conn, approval_id: str, location: Location, _: str | None) -> None:
    await conn.execute(
        "UPDATE approvals SET channel = %s, card_ts = %s WHERE approval_id = %s", (*location, approval_id)
    )


async def _stands_as_copy(conn: Conn, approval_id: str, location: Location, copy_at: str | None) -> None:
    await conn.execute(
        "INSERT INTO card_copies (approval_id, place, channel, card_ts) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT (approval_id, place) DO UPDATE SET channel = excluded.channel, card_ts = excluded.card_ts",
        (approval_id, copy_at, *location),
    )


async def last_card_of_run(conn: Conn, run_id: str) -> str | None:
    """Return the approval whose card was posted last in the run: the run's thread."""
    row = await (
        await conn.execute(
            "SELECT approval_id FROM approvals WHERE run_id = %s AND card_ts IS NOT NULL"
            " ORDER BY requested_at DESC, approval_id LIMIT 1",
            (run_id,),
        )
    ).fetchone()
    return row["approval_id"] if row else None
