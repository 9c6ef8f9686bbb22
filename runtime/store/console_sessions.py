"""Sessions of people in the console: opened by a link, looked up by the digest of their secret, ended."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.errors import UniqueViolation

from runtime.store.database.pool import Conn


class LinkUsedError(Exception):
    """The link has opened a session before."""


@dataclass(frozen=True)
class NewSession:
    """A session that is opened; of its secret and of its link only the digests are kept."""

    session_id: str
    actor_id: str
    secret_digest: str
    link_digest: str
    opened_at: datetime
    expires_at: datetime


async def open_session(conn: Conn, tenant: str, new: NewSession) -> None:
    """Write a session; raise LinkUsedError."""
    query = """
        INSERT INTO console_sessions
               (session_id, tenant, secret_digest, actor_id, link_digest, opened_at, expires_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s)
    """
    said = (new.session_id, tenant, new.secret_digest, new.actor_id, new.link_digest, new.opened_at, new.expires_at)
    try:
        await conn.execute(query, said)
    except UniqueViolation as error:
        raise LinkUsedError from error


async def is_link_used(conn: Conn, link_digest: str) -> bool:
    """Return whether a link has opened a session."""
    return await conn.row("SELECT FROM console_sessions WHERE link_digest = %s", (link_digest,)) is not None


async def find_session(conn: Conn, tenant: str, secret_digest: str, now: datetime) -> dict[str, Any] | None:
    """Return {session_id, actor_id, name, groups} of a session that goes on, whose person is in the directory."""
    query = """
        SELECT s.session_id, a.actor_id, a.name, a.groups
          FROM console_sessions s JOIN actors a USING (tenant, actor_id)
         WHERE s.secret_digest = %s AND s.tenant = %s AND s.ended_at IS NULL AND s.expires_at > %s
           AND a.kind = 'person'
    """
    return await conn.row(query, (secret_digest, tenant, now))


async def end_session(conn: Conn, tenant: str, session_id: str, now: datetime) -> None:
    """End a session; one that has ended stays as it is."""
    query = "UPDATE console_sessions SET ended_at = %s WHERE session_id = %s AND tenant = %s AND ended_at IS NULL"
    await conn.execute(query, (now, session_id, tenant))
