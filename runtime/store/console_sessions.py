"""Sessions of people in the console: opened by a link or an account, looked up by the digest of a secret, ended.

An account is somebody's if the directory lists it. Of Slack's issuer, the directory's Slack accounts are
listed, too (`TEAM/USER`), unless Slack says that one is deactivated.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.errors import UniqueViolation

from runtime.model.console import SLACK, Known, Link, ProviderAccount
from runtime.store.database.pool import Conn


class LinkUsedError(Exception):
    """The link has opened a session before."""


@dataclass(frozen=True)
class NewSession:
    """A session that is opened: by a link, or by an account, which an address told or the directory lists.

    Of its secret and of its link only the digests are kept.
    """

    session_id: str
    actor_id: str
    secret_digest: str
    opened_at: datetime
    expires_at: datetime
    link_digest: str | None = None
    account: ProviderAccount | None = None
    address: str | None = None


async def open_session(conn: Conn, tenant: str, new: NewSession) -> None:
    """Write a session; raise LinkUsedError."""
    query = """
        INSERT INTO console_sessions (session_id, tenant, secret_digest, actor_id, link_digest, opened_at, expires_at,
                                      issuer, subject, address)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    """
    account = (new.account.issuer, new.account.subject) if new.account else (None, None)
    opened = (new.session_id, tenant, new.secret_digest, new.actor_id, new.link_digest, new.opened_at, new.expires_at)
    try:
        await conn.execute(query, (*opened, *account, new.address))
    except UniqueViolation as error:
        raise LinkUsedError from error


async def is_link_used(conn: Conn, link_digest: str) -> bool:
    """Return whether a link has opened a session."""
    return await conn.row("SELECT FROM console_sessions WHERE link_digest = %s", (link_digest,)) is not None


_LISTS = f"""
    EXISTS (SELECT FROM json_array_elements(a.sign_in -> 'accounts') AS l
             WHERE l ->> 'issuer' = s.issuer AND l ->> 'subject' = s.subject)
    OR s.issuer = '{SLACK}' AND EXISTS (
        SELECT FROM slack_accounts u
         WHERE u.tenant = a.tenant AND u.actor_id = a.actor_id AND u.team || '/' || u.account = s.subject
           AND NOT EXISTS (SELECT FROM slack_absentees x
                            WHERE x.tenant = u.tenant AND x.team = u.team AND x.account = u.account))
"""  # noqa: S608 - our own constant
"""Whether a person `a` is listed with the account of `s`."""


async def find_session(conn: Conn, tenant: str, secret_digest: str, now: datetime) -> dict[str, Any] | None:
    """Return {session_id, actor_id, name, groups, issuer, subject, address} of a session that goes on.

    Its person is in the directory, and the account by which it was opened is theirs still.
    """
    query = f"""
        SELECT s.session_id, a.actor_id, a.name, a.groups, s.issuer, s.subject, s.address
          FROM console_sessions s JOIN actors a USING (tenant, actor_id)
         WHERE s.secret_digest = %s AND s.tenant = %s AND s.ended_at IS NULL AND s.expires_at > %s
           AND a.kind = 'person'
           AND (s.issuer IS NULL OR s.address = a.sign_in ->> 'email' OR s.address IS NULL AND ({_LISTS}))
    """  # noqa: S608 - our own clause
    return await conn.row(query, (secret_digest, tenant, now))


async def end_session(conn: Conn, tenant: str, session_id: str, now: datetime) -> None:
    """End a session; one that has ended stays as it is."""
    query = "UPDATE console_sessions SET ended_at = %s WHERE session_id = %s AND tenant = %s AND ended_at IS NULL"
    await conn.execute(query, (now, session_id, tenant))


async def end_sessions_of(conn: Conn, tenant: str, person: str, now: datetime) -> int:
    """End all sessions of a person; return how many went on."""
    query = """
        UPDATE console_sessions SET ended_at = %s
         WHERE tenant = %s AND actor_id = %s AND ended_at IS NULL AND expires_at > %s RETURNING session_id
    """
    return len(await conn.rows(query, (now, tenant, person, now)))


async def known_of(conn: Conn, tenant: str, account: ProviderAccount) -> Known:
    """Return what is known of an account."""
    query = f"""
        SELECT a.actor_id, ({_LISTS}) AS lists
          FROM actors a, (SELECT %(issuer)s AS issuer, %(subject)s AS subject) AS s
         WHERE a.tenant = %(tenant)s AND a.kind = 'person'
           AND (({_LISTS}) OR a.sign_in ->> 'email' = %(address)s)
    """  # noqa: S608 - our own clause
    said = {"tenant": tenant, "issuer": account.issuer, "subject": account.subject, "address": account.address}
    rows = await conn.rows(query, said)
    addressee = next((row["actor_id"] for row in rows if not row["lists"]), None)
    links = await conn.rows(
        """
        SELECT subject, actor_id, address FROM linked_accounts
         WHERE tenant = %(tenant)s AND issuer = %(issuer)s AND (subject = %(subject)s OR actor_id = %(person)s)
        """,
        {**said, "person": addressee},
    )
    return Known([row["actor_id"] for row in rows if row["lists"]], addressee, [Link(**row) for row in links])


async def link_account(conn: Conn, tenant: str, account: ProviderAccount, person: str, now: datetime) -> bool:
    """Write that an account is a person's by its address; return whether that is new. Raise UniqueViolation.

    It is raised where another account became theirs by that address at the same time.
    """
    query = """
        INSERT INTO linked_accounts (tenant, issuer, subject, actor_id, address, linked_at)
        VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, issuer, subject, address) DO NOTHING RETURNING subject
    """
    said = (tenant, account.issuer, account.subject, person, account.address, now)
    return await conn.row(query, said) is not None
