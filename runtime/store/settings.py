"""How people are to be told, as the directory that is loaded says."""

from collections.abc import Sequence
from typing import Any

from runtime.model.notices import NOTHING_SAID, Notices
from runtime.store.database.pool import Conn


async def notices_of(conn: Conn, wanted: Sequence[tuple[str, str]]) -> list[Notices]:
    """Return how whoever is behind a Slack account is told, of many (tenant, account) in one read."""
    rows = await (
        await conn.look(
            """
            SELECT s.tenant, s.account, a.notices FROM slack_accounts s JOIN actors a USING (tenant, actor_id)
             WHERE (s.tenant, s.account) IN (SELECT * FROM unnest(%(tenants)b::text[], %(accounts)b::text[]))
             ORDER BY a.actor_id
            """,
            {"tenants": [tenant for tenant, _ in wanted], "accounts": [account for _, account in wanted]},
            table="actors",
            keys=(),
        )
    ).fetchall()
    found = {(row["tenant"], row["account"]): Notices.of(row["notices"]) for row in rows}
    return [found.get(one, NOTHING_SAID) for one in wanted]


async def remind_of(conn: Conn, tenant: str) -> dict[str, Any]:
    """Return when the tenant has those reminded who are asked, as `reminders` reads it; {} for never."""
    query = "SELECT remind FROM directories WHERE tenant = %s"
    row = await (await conn.execute(query, (tenant,))).fetchone()
    return row["remind"] if row else {}
