"""Leave to install the app, and the states of OAuth: of both the digest is kept, so that nobody reads them here."""

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from runtime.store.database.pool import Conn


def digest_of(secret: str) -> str:
    """Return the digest under which a secret is kept."""
    return sha256(secret.encode()).hexdigest()


async def add_link(conn: Conn, tenant: str, link: Mapping[str, Any]) -> None:
    """Write a link: link_id, secret_sha256, made_by, reason, policy, made_at, expires_at."""
    await conn.execute(
        """
        INSERT INTO slack_links (link_id, tenant, secret_sha256, made_by, reason, policy, made_at, expires_at)
        VALUES (%(link_id)s, %(tenant)s, %(secret_sha256)s, %(made_by)s, %(reason)s, %(policy)s, %(made_at)s,
                %(expires_at)s)
        """,
        {**link, "tenant": tenant, "policy": json.dumps(link["policy"])},
    )


async def open_link(conn: Conn, tenant: str, secret: str, now: datetime) -> str | None:
    """Return the id of a link that can still be used."""
    query = """
        SELECT link_id FROM slack_links
         WHERE tenant = %s AND secret_sha256 = %s AND used_at IS NULL AND expires_at > %s
    """
    row = await (await conn.execute(query, (tenant, digest_of(secret), now))).fetchone()
    return str(row["link_id"]) if row else None


async def use_link(conn: Conn, tenant: str, link_id: str, now: datetime) -> bool:
    """Compare and set: use a link up. False where somebody has meanwhile, or its time is over."""
    query = """
        UPDATE slack_links SET used_at = %s WHERE tenant = %s AND link_id = %s AND used_at IS NULL AND expires_at > %s
    """
    return (await conn.execute(query, (now, tenant, link_id, now))).rowcount == 1


async def add_state(conn: Conn, state: str, link_id: str, now: datetime, expires_at: datetime) -> None:
    """Keep a state, and forget those whose time is over."""
    await conn.execute("DELETE FROM slack_states WHERE expires_at <= %s", (now,))
    query = "INSERT INTO slack_states (state_sha256, link_id, expires_at) VALUES (%s, %s, %s)"
    await conn.execute(query, (digest_of(state), link_id, expires_at))


async def take_state(conn: Conn, tenant: str, state: str, now: datetime) -> str | None:
    """Use a state up; return the id of its link, or None where there is no such state of the tenant's any more."""
    query = """
        DELETE FROM slack_states s USING slack_links l
         WHERE l.link_id = s.link_id AND l.tenant = %s AND s.state_sha256 = %s
        RETURNING s.link_id, s.expires_at > %s AS is_alive
    """
    row = await (await conn.execute(query, (tenant, digest_of(state), now))).fetchone()
    return str(row["link_id"]) if row and row["is_alive"] else None
