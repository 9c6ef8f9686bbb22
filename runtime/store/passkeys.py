"""Passkeys, and the links by which people come to use them: each is written once, and never goes away."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from receipts.passkey_records import registration_name, revocation_name
from runtime.model.passkey import Link, LinkPurpose, Passkey
from runtime.store.database.pool import Conn
from runtime.store.tenants import acts_named

_SELF = ", ".join(Passkey.__dataclass_fields__)
_LINK = ", ".join(Link.__dataclass_fields__)


async def lock_passkey(conn: Conn, tenant: str, credential_id: str) -> Passkey | None:
    """Return a passkey, locked in the caller's transaction: nobody revokes it, or signs with it, meanwhile."""
    query = f"SELECT {_SELF} FROM passkeys WHERE tenant = %s AND credential_id = %s FOR UPDATE"  # noqa: S608 - our own columns
    row = await conn.read_row(query, (tenant, credential_id))
    return passkey_of(row) if row else None


async def find_passkey(conn: Conn, tenant: str, credential_id: str) -> Passkey | None:
    """Return a passkey, or None."""
    query = f"SELECT {_SELF} FROM passkeys WHERE tenant = %s AND credential_id = %s"  # noqa: S608 - our own columns
    row = await conn.row(query, (tenant, credential_id))
    return passkey_of(row) if row else None


async def usable_passkeys(conn: Conn, tenant: str, person: str) -> list[str]:
    """Return the ids of a person's passkeys that nobody has revoked, oldest first."""
    query = """
        SELECT credential_id FROM passkeys WHERE tenant = %s AND person = %s AND revoked_at IS NULL
         ORDER BY registered_at, credential_id
    """
    rows = await conn.rows(query, (tenant, person))
    return [row["credential_id"] for row in rows]


async def passkey_holders(conn: Conn, tenant: str) -> frozenset[str]:
    """Return the people with a passkey that nobody has revoked."""
    query = "SELECT DISTINCT person FROM passkeys WHERE tenant = %s AND revoked_at IS NULL"
    return frozenset(row["person"] for row in await conn.rows(query, (tenant,)))


async def list_passkeys(conn: Conn, tenant: str, person: str | None) -> list[dict[str, Any]]:
    """Return passkeys, newest first: all, or a person's."""
    query = """
        SELECT credential_id, person, origin, algorithm, invited_by, reason, registered_at, revoked_at, revoked_by,
               revoked_reason
          FROM passkeys WHERE tenant = %(tenant)s AND (%(person)s::text IS NULL OR person = %(person)s)
         ORDER BY registered_at DESC, credential_id
    """
    return await conn.rows(query, {"tenant": tenant, "person": person})


async def add_passkey(conn: Conn, tenant: str, new: Passkey) -> bool:
    """Write a passkey; False if there is one by that id."""
    done = await conn.execute(
        """
        INSERT INTO passkeys (tenant, credential_id, person, public_key, cose_key, algorithm, origin, sign_count,
                              invited_by, reason, registered_at)
        VALUES (%(tenant)s, %(credential_id)s, %(person)s, %(public_key)s, %(cose_key)s, %(algorithm)s, %(origin)s,
                %(sign_count)s, %(invited_by)s, %(reason)s, %(registered_at)s) ON CONFLICT DO NOTHING
        """,
        {**vars(new), "tenant": tenant},
    )
    return done.rowcount == 1


def count_signature(conn: Conn, tenant: str, credential_id: str, sign_count: int) -> None:
    """Note how often the authenticator has signed; the caller has locked the passkey."""
    conn.put(
        "UPDATE passkeys SET sign_count = %(count)s WHERE tenant = %(tenant)s AND credential_id = %(credential_id)s",
        {"count": sign_count, "tenant": tenant, "credential_id": credential_id},
    )


async def revoke_passkey(conn: Conn, tenant: str, credential_id: str, by: str, reason: str, now: datetime) -> None:
    """Revoke a passkey; the caller has put that on record, which can be done once."""
    await conn.execute(
        "UPDATE passkeys SET revoked_at = %s, revoked_by = %s, revoked_reason = %s"
        " WHERE tenant = %s AND credential_id = %s",
        (now, by, reason, tenant, credential_id),
    )


async def acts_about(conn: Conn, tenant: str, credential_id: str) -> list[dict[str, Any]]:
    """Return the whole leaves of the tenant's chain about a passkey, oldest first."""
    return await acts_named(conn, tenant, [registration_name(credential_id), revocation_name(credential_id)])


async def add_link(conn: Conn, tenant: str, new: Link, now: datetime) -> None:
    """Write a link; one that is there already stays as it is."""
    await conn.execute(
        """
        INSERT INTO passkey_links (link_id, tenant, person, purpose, nonce, made_at, expires_at, approval_id, stamp,
                                   reason, ticket, team, account, invited_by, policy, console)
        VALUES (%(link_id)s, %(tenant)s, %(person)s, %(purpose)s, %(nonce)s, %(now)s, %(expires_at)s, %(approval_id)s,
                %(stamp)s, %(reason)s, %(ticket)s, %(team)s, %(account)s, %(invited_by)s, %(policy)s,
                %(console)s)
        ON CONFLICT DO NOTHING
        """,
        {**vars(new), "tenant": tenant, "now": now, "policy": _document(new.policy), "console": _document(new.console)},
    )


def _document(said: Mapping[str, Any] | None) -> str | None:
    return json.dumps(dict(said)) if said else None


async def note_opening(conn: Conn, tenant: str, link_id: str, now: datetime) -> None:
    """Note when a link was first opened; who opens it later changes nothing."""
    await conn.execute(
        "UPDATE passkey_links SET opened_at = %s WHERE tenant = %s AND link_id = %s AND opened_at IS NULL",
        (now, tenant, link_id),
    )


async def find_link(conn: Conn, tenant: str, link_id: str) -> Link | None:
    """Return a link, or None."""
    query = f"SELECT {_LINK} FROM passkey_links WHERE tenant = %s AND link_id = %s"  # noqa: S608 - our own columns
    row = await conn.row(query, (tenant, link_id))
    return Link(**{**row, "purpose": LinkPurpose(row["purpose"])}) if row else None


def passkey_of(row: Mapping[str, Any]) -> Passkey:
    """Return the passkey that a row has."""
    return Passkey(**{name: row[name] for name in Passkey.__dataclass_fields__})
