"""Passkeys: people are invited by others whom policy lets, register them, have them revoked; each act on record."""

import secrets
from typing import Any

from policy.operator_contract import Authorization, PasskeyInput
from receipts.acts import Allowed
from receipts.fields import timestamp
from receipts.passkey_records import PasskeyRegistered, PasskeyRevoked
from runtime.approvals.webauthn import PasskeyError, new_passkey
from runtime.engine import Engine
from runtime.inbox.notification_context import NotificationContext
from runtime.inbox.operator_acts import denial, judge, policy_of
from runtime.model.commands import InvitePasskeyPayload, PasskeyCommand, RegisterPasskeyPayload, RevokePasskeyPayload
from runtime.model.notification import Addressed, ApplyResult
from runtime.model.passkey import INVITATION_LASTS, Link, LinkPurpose
from runtime.model.states import NotificationStatus
from runtime.store import directory, passkeys
from runtime.store.tenants import put_act


async def authorize_passkey_act(
    engine: Engine, found: Addressed, payload: InvitePasskeyPayload | RevokePasskeyPayload
) -> Addressed:
    """Return a notification with what policy says of it; raise PolicyUnavailableError."""
    if isinstance(payload, InvitePasskeyPayload):
        about = PasskeyInput(person=payload.person, credential_id="")
    else:
        async with engine.pool.connection() as conn:
            passkey = await passkeys.find_passkey(conn, engine.tenant, payload.credential_id)
        if passkey is None:
            return found
        about = PasskeyInput(person=passkey.person, credential_id=passkey.credential_id)
    return await judge(engine, found, payload.kind, passkey=about)


async def apply_passkey_act(matter: NotificationContext, payload: PasskeyCommand) -> ApplyResult:
    """Invite, register or revoke, or refuse that."""
    match payload:
        case InvitePasskeyPayload():
            return await _invite(matter, payload)
        case RegisterPasskeyPayload():
            return await _register(matter, payload)
        case RevokePasskeyPayload():
            return await _revoke(matter, payload)


async def _invite(matter: NotificationContext, payload: InvitePasskeyPayload) -> ApplyResult:
    """Let the link that the person is sent be one; the act is on record with what comes of it."""
    tenant, now, by = matter.notification.tenant, matter.engine.clock(), matter.notification.actor
    person = await directory.actor(matter.conn, tenant, payload.person)
    if person is None or person["kind"] != "person":
        return _refused(f"the directory has no person {payload.person}")
    ruling = _allowed(matter)
    if isinstance(ruling, ApplyResult):
        return ruling
    link = Link(
        link_id=payload.link_id,
        person=payload.person,
        purpose=LinkPurpose.REGISTER,
        nonce=secrets.token_hex(32),
        expires_at=now + INVITATION_LASTS,
        reason=matter.engine.privacy.text(payload.reason),
        invited_by=by.id,
        policy=policy_of(ruling),
    )
    await passkeys.add_link(matter.conn, tenant, link, now)
    return _done(expires_at=timestamp(link.expires_at))


async def _register(matter: NotificationContext, payload: RegisterPasskeyPayload) -> ApplyResult:
    """Register what the invited person has made; whoever recorded it has seen that the link had not expired."""
    tenant, now, by = matter.notification.tenant, matter.engine.clock(), matter.notification.actor
    link = await passkeys.find_link(matter.conn, tenant, payload.link_id)
    if link is None or link.purpose is not LinkPurpose.REGISTER or link.policy is None or link.person != by.id:
        return _refused("there is no such invitation")
    if payload.attestation.nonce != link.nonce:
        return _refused("it was made for another invitation")
    try:
        made = new_passkey(
            payload.attestation,
            person=by.id,
            origin=payload.origin,
            invited_by=link.invited_by,
            reason=link.reason,
            now=now,
        )
    except PasskeyError as error:
        return _refused(f"it is no passkey that can be used here: {error}")
    if not await passkeys.add_passkey(matter.conn, tenant, made):
        return _refused("this passkey is registered already")
    await put_act(matter.conn, tenant, PasskeyRegistered(**made.said(), policy=Allowed(**link.policy)), by, now)
    return _done(credential_id=made.credential_id)


async def _revoke(matter: NotificationContext, payload: RevokePasskeyPayload) -> ApplyResult:
    """Let a passkey sign no more from now on."""
    tenant, now, by = matter.notification.tenant, matter.engine.clock(), matter.notification.actor
    passkey = await passkeys.find_passkey(matter.conn, tenant, payload.credential_id)
    if passkey is None:
        return _refused(f"there is no passkey {payload.credential_id}")
    ruling = _allowed(matter)
    if isinstance(ruling, ApplyResult):
        return ruling
    reason = matter.engine.privacy.text(payload.reason)
    said = {"credential_id": passkey.credential_id, "person": passkey.person, "reason": reason}
    if not await put_act(matter.conn, tenant, PasskeyRevoked(**said, policy=Allowed(**policy_of(ruling))), by, now):
        return _refused("somebody has revoked it before")
    await passkeys.revoke_passkey(matter.conn, tenant, passkey.credential_id, by.id, reason, now)
    return _done(credential_id=passkey.credential_id)


def _allowed(matter: NotificationContext) -> Authorization | ApplyResult:
    """Return the ruling that allows it, or what becomes of the notification where there is none."""
    ruling = matter.judged.ruling if matter.judged else None
    if ruling is None:
        return ApplyResult(NotificationStatus.STALE, {"reason": "policy was not asked about the passkey as it is now"})
    return _refused(why) if (why := denial(ruling)) else ruling


def _refused(reason: str) -> ApplyResult:
    return ApplyResult(NotificationStatus.REFUSED, {"reason": reason})


def _done(**facts: Any) -> ApplyResult:
    return ApplyResult(NotificationStatus.APPLIED, facts)
