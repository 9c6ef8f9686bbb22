"""In which conversations cards stand, and which of them is somebody's own."""

from collections.abc import Sequence

from runtime.store.database.pool import Conn
from runtime.store.posted import Location

_STANDING = """
      SELECT a.channel, a.card_ts FROM approvals a
       WHERE a.tenant = %(tenant)s AND {of} = %(id)s AND a.channel = %(channel)s AND a.card_ts IS NOT NULL
       UNION ALL
      SELECT c.channel, c.card_ts FROM card_copies c JOIN approvals a USING (approval_id)
       WHERE a.tenant = %(tenant)s AND {of} = %(id)s AND c.channel = %(channel)s
       ORDER BY card_ts DESC LIMIT 1
"""
# A place that begins with U or W is a person (`is_person` in runtime.model.route).
_FOR = """
    WITH own AS (SELECT s.account FROM slack_accounts s WHERE s.tenant = %(tenant)s AND s.actor_id = %(person)s),
         standing AS (
           SELECT a.approval_id, coalesce(a.route::jsonb -> 'places' ->> 0, a.channel) AS place, a.channel, a.card_ts,
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
    row = await (await conn.execute(_STANDING.format(of=of).encode(), given)).fetchone()
    return (row["channel"], row["card_ts"]) if row else None


async def cards_for(conn: Conn, tenant: str, person: str, approval_ids: Sequence[str]) -> dict[str, Location]:
    """Return by request the card to which somebody is led: their own copy, else the first, else another in a channel.

    What stands in another person's direct conversation is nothing that they could open.
    """
    rows = await (await conn.execute(_FOR, {"tenant": tenant, "person": person, "ids": list(approval_ids)})).fetchall()
    return {row["approval_id"]: (row["channel"], row["card_ts"]) for row in rows}
