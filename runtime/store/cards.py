"""Cards: where they are posted, the copies of each, and what was shown.

The thread is under the first card of a request; the others are its copies. What was shown is kept for the request:
copies of one state are equal to the letter. A person is led to no card in somebody else's direct conversation.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from runtime.store.database.pool import Conn

Location = tuple[str, str]


async def location_of(conn: Conn, approval_id: str, copy_at: str | None) -> Location | None:
    """Return (channel, ts) of a request's card, or of the copy that went to a place; None before it is posted."""
    row = await conn.row(
        """
        SELECT channel, card_ts FROM approvals
         WHERE approval_id = %(id)s AND card_ts IS NOT NULL AND %(copy_at)s::text IS NULL
        UNION ALL SELECT channel, card_ts FROM card_copies WHERE approval_id = %(id)s AND place = %(copy_at)s
        """,
        {"id": approval_id, "copy_at": copy_at},
    )
    return (row["channel"], row["card_ts"]) if row else None


async def approval_at(conn: Conn, tenant: str, location: Location) -> str | None:
    """Return the approval whose card, or a copy of it, is the message at (channel, ts)."""
    row = await conn.row(
        """
        SELECT approval_id FROM approvals
         WHERE tenant = %(tenant)s AND channel = %(channel)s AND card_ts = %(ts)s
        UNION ALL SELECT approval_id FROM card_copies c JOIN approvals a USING (approval_id)
         WHERE a.tenant = %(tenant)s AND c.channel = %(channel)s AND c.card_ts = %(ts)s LIMIT 1
        """,
        {"tenant": tenant, "channel": location[0], "ts": location[1]},
    )
    return row["approval_id"] if row else None


async def title_of(conn: Conn, approval_id: str) -> str:
    """Return what the author of a request calls it, "" where nothing is declared."""
    row = await conn.row("SELECT shown->>'title' AS title FROM approvals WHERE approval_id = %s", (approval_id,))
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


async def last_cards_of_runs(conn: Conn, run_ids: Collection[str]) -> dict[str, str]:
    """Return the approval whose card was posted last in each run, which is the run's thread, as far as it has one."""
    rows = await conn.rows(
        "SELECT DISTINCT ON (run_id) run_id, approval_id FROM approvals"
        " WHERE run_id = ANY(%s) AND card_ts IS NOT NULL ORDER BY run_id, requested_at DESC, approval_id",
        (list(run_ids),),
    )
    return {row["run_id"]: row["approval_id"] for row in rows}


_STANDING = """
      SELECT a.channel, a.card_ts FROM approvals a
       WHERE a.tenant = %(tenant)s AND {of} = %(id)s AND a.channel = %(channel)s AND a.card_ts IS NOT NULL
       UNION ALL
      SELECT c.channel, c.card_ts FROM card_copies c JOIN approvals a USING (approval_id)
       WHERE a.tenant = %(tenant)s AND {of} = %(id)s AND c.channel = %(channel)s
       ORDER BY card_ts DESC LIMIT 1
"""
# A place that begins with U or W is a person (`is_person` in runtime.model.routing).
_FOR = """
    WITH own AS (SELECT s.account FROM slack_accounts s WHERE s.tenant = %(tenant)s AND s.actor_id = %(person)s),
         standing AS (
           SELECT a.approval_id, a.route::jsonb -> 'places' ->> 0 AS place, a.channel, a.card_ts,
                  true AS is_first
             FROM approvals a WHERE a.approval_id = ANY(%(ids)s) AND a.card_ts IS NOT NULL
            UNION ALL
           SELECT c.approval_id, c.place, c.channel, c.card_ts, false
             FROM card_copies c WHERE c.approval_id = ANY(%(ids)s))
    SELECT DISTINCT ON (approval_id) approval_id, channel, card_ts FROM standing
     WHERE place !~ '^[UW]' OR place IN (SELECT account FROM own)
     ORDER BY approval_id, place IN (SELECT account FROM own) DESC, is_first DESC, card_ts
"""


async def card_of_request_in(conn: Conn, tenant: str, approval_id: str, channel: str) -> Location | None:
    """Return where the newest card of a request stands in a conversation, None where there is none."""
    return await _standing(conn, "a.approval_id", tenant, approval_id, channel)


async def card_of_run_in(conn: Conn, tenant: str, run_id: str, channel: str) -> Location | None:
    """Return the same of any request of a run."""
    return await _standing(conn, "a.run_id", tenant, run_id, channel)


async def _standing(conn: Conn, of: str, tenant: str, some_id: str, channel: str) -> Location | None:
    given = {"tenant": tenant, "id": some_id, "channel": channel}
    row = await conn.row(_STANDING.format(of=of), given)
    return (row["channel"], row["card_ts"]) if row else None


async def cards_for(conn: Conn, tenant: str, person: str, approval_ids: Sequence[str]) -> dict[str, Location]:
    """Return by request the card to which somebody is led: their own copy, else the first, else another in a channel.

    What stands in another person's direct conversation is nothing that they could open.
    """
    rows = await conn.rows(_FOR, {"tenant": tenant, "person": person, "ids": list(approval_ids)})
    return {row["approval_id"]: (row["channel"], row["card_ts"]) for row in rows}
