"""Installations of the Slack app, their tokens, links to install it, and states of OAuth.

An installation is written once and ends once; its tokens are replaced, and deleted when it ends. Of links and states
only the digest is kept, so that nobody can read them here.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

from psycopg.errors import UniqueViolation

from receipts.vault import Sealed
from runtime.model.installation import InstallPlace, NewInstallation
from runtime.store.database.pool import Conn

_LIVE = """
    SELECT i.installation_id, i.team, i.enterprise, i.name, i.bot_user, i.bot_id, i.scopes, i.installed_at,
           t.key_id, t.token
      FROM slack_installations i JOIN slack_tokens t USING (installation_id)
     WHERE i.tenant = %s AND i.removed_at IS NULL
"""
_HERE = "tenant = %s AND team = %s AND (team <> '' OR enterprise = %s) AND removed_at IS NULL"


class TakenError(Exception):
    """The app is installed there for another tenant."""


async def live_installations(conn: Conn, tenant: str) -> list[dict[str, Any]]:
    """Return the installations that have not ended, with their tokens under their keys, the oldest first."""
    return await conn.rows(f"{_LIVE} ORDER BY i.installed_at, i.installation_id", (tenant,))


async def ended_installations(conn: Conn, tenant: str) -> list[dict[str, Any]]:
    """Return team, enterprise, name, removed_at, removed_why of places where the app was installed and is not now."""
    query = """
        SELECT DISTINCT ON (team, CASE WHEN team = '' THEN enterprise END) team, enterprise, name,
               removed_at, removed_why
          FROM slack_installations i WHERE tenant = %s AND NOT EXISTS (
               SELECT FROM slack_installations l
                WHERE l.removed_at IS NULL AND l.team = i.team AND (l.team <> '' OR l.enterprise = i.enterprise))
         ORDER BY team, CASE WHEN team = '' THEN enterprise END, installed_at DESC
    """
    return await conn.rows(query, (tenant,))


async def add_installation(
    conn: Conn, tenant: str, installation_id: str, new: NewInstallation, link_id: str, by: str, now: datetime
) -> None:
    """Write an installation; raise TakenError."""
    query = """
        INSERT INTO slack_installations
               (installation_id, tenant, team, enterprise, name, app_id, bot_user, bot_id, scopes, link_id,
                installed_by, installed_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
    """
    said = (new.place.team, new.place.enterprise, new.name, new.app_id, new.bot_user, new.bot_id)
    try:
        await conn.execute(query, (installation_id, tenant, *said, json.dumps(list(new.scopes)), link_id, by, now))
    except UniqueViolation as error:
        raise TakenError(str(new.place)) from error


async def end_installation(
    conn: Conn, tenant: str, place: InstallPlace, why: str, at: datetime, before: datetime
) -> str | None:
    """End the installation there, if it was made before a moment, and delete its tokens; return its id."""
    query = f"""
        WITH over AS (
            UPDATE slack_installations SET removed_at = %s, removed_why = %s
             WHERE {_HERE} AND installed_at <= %s RETURNING installation_id
        ), gone AS (DELETE FROM slack_tokens USING over WHERE slack_tokens.installation_id = over.installation_id)
        SELECT installation_id FROM over
    """  # noqa: S608 - our own clause
    values = (at, why, tenant, place.team, place.enterprise, before)
    row = await conn.row(query, values)
    return str(row["installation_id"]) if row else None


async def add_tokens(conn: Conn, installation_id: str, sealed: Sealed, expires_at: datetime | None) -> None:
    """Write the tokens of a new installation."""
    query = "INSERT INTO slack_tokens (installation_id, key_id, token, expires_at) VALUES (%s, %s, %s, %s)"
    await conn.execute(query, (installation_id, sealed.key_id, sealed.data, expires_at))


async def replace_tokens(
    conn: Conn, installation_id: str, sealed: Sealed, expires_at: datetime | None, lease: datetime
) -> bool:
    """Write what somebody got under a lease, which ends with it. False where lease or installation is over."""
    query = """
        UPDATE slack_tokens SET key_id = %s, token = %s, expires_at = %s, refreshing_until = NULL
         WHERE installation_id = %s AND refreshing_until = %s
    """
    done = await conn.execute(query, (sealed.key_id, sealed.data, expires_at, installation_id, lease))
    return done.rowcount == 1


async def reencrypt_tokens(conn: Conn, installation_id: str, sealed: Sealed) -> None:
    """Write what the same tokens are under another key, or without what is needed no more."""
    query = "UPDATE slack_tokens SET key_id = %s, token = %s WHERE installation_id = %s"
    await conn.execute(query, (sealed.key_id, sealed.data, installation_id))


async def lease_refresh(
    conn: Conn, installation_id: str, now: datetime, due: datetime, until: datetime
) -> Sealed | None:
    """Take on to get new tokens; return those that there are, or None where another does, or they last."""
    query = """
        UPDATE slack_tokens SET refreshing_until = %s
         WHERE installation_id = %s AND expires_at <= %s AND (refreshing_until IS NULL OR refreshing_until <= %s)
        RETURNING key_id, token
    """
    row = await conn.row(query, (until, installation_id, due, now))
    return Sealed(row["key_id"], bytes(row["token"])) if row else None


async def lock_tokens(conn: Conn, tenant: str) -> list[dict[str, Any]]:
    """Return installation_id, key_id and token of the tenant's, locked in the caller's transaction."""
    query = """
        SELECT t.installation_id, t.key_id, t.token
          FROM slack_tokens t JOIN slack_installations i USING (installation_id)
         WHERE i.tenant = %s ORDER BY t.installation_id FOR UPDATE OF t
    """
    return await conn.rows(query, (tenant,))


def digest_of(secret: str) -> str:
    """Return the digest under which a secret is kept."""
    return sha256(secret.encode()).hexdigest()


async def add_install_link(conn: Conn, tenant: str, link: Mapping[str, Any]) -> None:
    """Write a link: link_id, secret_sha256, made_by, reason, policy, made_at, expires_at."""
    await conn.execute(
        """
        INSERT INTO slack_links (link_id, tenant, secret_sha256, made_by, reason, policy, made_at, expires_at)
        VALUES (%(link_id)s, %(tenant)s, %(secret_sha256)s, %(made_by)s, %(reason)s, %(policy)s, %(made_at)s,
                %(expires_at)s)
        """,
        {**link, "tenant": tenant, "policy": json.dumps(link["policy"])},
    )


async def open_install_link(conn: Conn, tenant: str, secret: str, now: datetime) -> str | None:
    """Return the id of a link that can still be used."""
    query = """
        SELECT link_id FROM slack_links
         WHERE tenant = %s AND secret_sha256 = %s AND used_at IS NULL AND expires_at > %s
    """
    row = await conn.row(query, (tenant, digest_of(secret), now))
    return str(row["link_id"]) if row else None


async def use_install_link(conn: Conn, tenant: str, link_id: str, now: datetime) -> bool:
    """Compare and set: use a link up. False where somebody has meanwhile, or its time is over."""
    query = """
        UPDATE slack_links SET used_at = %s WHERE tenant = %s AND link_id = %s AND used_at IS NULL AND expires_at > %s
    """
    return (await conn.execute(query, (now, tenant, link_id, now))).rowcount == 1


async def add_oauth_state(conn: Conn, state: str, link_id: str, now: datetime, expires_at: datetime) -> None:
    """Keep a state, and forget those whose time is over."""
    await conn.execute("DELETE FROM slack_states WHERE expires_at <= %s", (now,))
    query = "INSERT INTO slack_states (state_sha256, link_id, expires_at) VALUES (%s, %s, %s)"
    await conn.execute(query, (digest_of(state), link_id, expires_at))


async def take_oauth_state(conn: Conn, tenant: str, state: str, now: datetime) -> str | None:
    """Use a state up; return the id of its link, or None where there is no such state of the tenant's any more."""
    query = """
        DELETE FROM slack_states s USING slack_links l
         WHERE l.link_id = s.link_id AND l.tenant = %s AND s.state_sha256 = %s
        RETURNING s.link_id, s.expires_at > %s AS is_alive
    """
    row = await conn.row(query, (tenant, digest_of(state), now))
    return str(row["link_id"]) if row and row["is_alive"] else None
