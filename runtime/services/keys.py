"""Signing keys, registered: which key seals from now on, and which counts no more."""

from collections.abc import Sequence
from datetime import datetime

from receipts.acts import Act
from receipts.canonical import digest
from receipts.chain import PROGRAM, Actor
from receipts.register import Entry, RegisterError, entry, revoked, succeeded
from receipts.signing import SigningKey
from receipts.tenant_acts import KeyRegistered, KeyRevoked, KeySucceeded, KeyVouched
from runtime.store import signing_keys
from runtime.store.database.pool import Conn
from runtime.store.signing_keys import needed_by, newest_key, register_of
from runtime.store.tenants import put_act

__all__ = ["Entry", "RegisterError", "list_keys", "register_key", "register_of", "revoke_key", "signs", "signs_by_now"]


async def list_keys(conn: Conn, tenant: str) -> tuple[Sequence[Entry], dict[str, int]]:
    """Return the register, and for how many bundles that are still to be stored each key is needed."""
    return await register_of(conn, tenant), await needed_by(conn, tenant)


async def signs(conn: Conn, tenant: str, key: SigningKey, now: datetime) -> bool:
    """Return whether this is the key that seals, and register it where nobody has seen it yet.

    A key that another has followed seals only what was begun with it.
    """
    if await newest_key(conn, tenant) == key.public.key_id:
        return True
    return (await register_key(conn, tenant, key, now))[-1].id == key.public.key_id


async def signs_by_now(conn: Conn, tenant: str, key: SigningKey, now: datetime) -> bool:
    """Return whether this is the key that seals; none takes the place of another by being asked about."""
    return await newest_key(conn, tenant) in (None, key.public.key_id) and await signs(conn, tenant, key, now)


async def register_key(
    conn: Conn, tenant: str, key: SigningKey, now: datetime, actor: Actor = PROGRAM
) -> Sequence[Entry]:
    """Return the register, in which the key stands now; a new one vouches for the one before it.

    `actor` registers it; without one, it is the process that found it where its settings say.
    """
    async with conn.transaction():
        register = await signing_keys.lock_register(conn, tenant)
        if key.public.key_id in {one.id for one in register}:
            return register
        changed = succeeded(register, key, now) if register else [entry(key.public, now)]
        await _keep(conn, tenant, register, changed, actor, now)
    return changed


async def revoke_key(
    conn: Conn, tenant: str, key_id: str, by: SigningKey, now: datetime, why: str, actor: Actor
) -> Sequence[Entry]:
    """Put on record that a key counts no more from now on; raise RegisterError where it cannot be so."""
    async with conn.transaction():
        register = await signing_keys.lock_register(conn, tenant)
        changed = revoked(register, key_id, by, now, why)
        await _keep(conn, tenant, register, changed, actor, now)
    return changed


async def _keep(
    conn: Conn, tenant: str, before: Sequence[Entry], after: Sequence[Entry], actor: Actor, now: datetime
) -> None:
    """Write the register as it is now, and put on the tenant's record what is said of which key."""
    await signing_keys.keep_register(conn, tenant, after)
    known = {one.id: one for one in before}
    for one in after:
        if one != known.get(one.id):
            await put_act(conn, tenant, _said(known.get(one.id), one), actor, now)


def _said(before: Entry | None, after: Entry) -> Act:
    """Return what the new entry of a key says that the old one did not."""
    about = {"key_id": after.id, "digest": digest(after.model_dump())}
    if before is None:
        return KeyRegistered(**about)
    if after.revoked and not before.revoked:
        return KeyRevoked(**about, why=after.revoked.why)
    return KeySucceeded(**about) if after.until != before.until else KeyVouched(**about)
