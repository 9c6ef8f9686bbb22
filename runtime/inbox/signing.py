"""Votes that are signed with a passkey: whether one has to be, and whether the signature on it holds."""

from receipts.passkey_signatures import Said
from runtime.approvals.passkeys import PasskeyError, check_assertion, document_of
from runtime.model.actor import Person
from runtime.model.approval import Approval
from runtime.model.notification_people import VotePayload
from runtime.model.passkeys import Key, Passkey, Signature
from runtime.model.votes import Refusal, RefusalCode, VoteVerdict
from runtime.store import passkeys
from runtime.store.database.round_trips import at_once
from runtime.store.run_tx import RunTx


async def key_of(tx: RunTx, payload: VotePayload) -> Key:
    """Return the passkey with which a vote is signed, locked, and the acts about it; None and nothing of a click."""
    if payload.assertion is None:
        return None, []
    passkey, acts = await at_once(
        passkeys.lock_passkey(tx.conn, tx.tenant, payload.assertion.credential_id),
        passkeys.acts_about(tx.conn, tx.tenant, payload.assertion.credential_id),
    )
    return passkey, acts


async def signature_on(
    tx: RunTx, approval: Approval, person: Person, payload: VotePayload, key: Key
) -> Signature | Refusal | None:
    """Return what a vote is signed with, by its `key_of`, None where a click will do; or why it does not count.

    1. Where policy asks for a passkey, a vote to approve has an assertion.
    2. Its passkey is the person's own, and nobody has revoked it.
    3. It is over this approval as it is, this verdict, reason, name and link; of a broken glass, over the ticket, too.
    4. The authenticator's counter has gone on, where it has one.
    """
    assertion = payload.assertion
    if assertion is None:
        is_wanted = approval.requirement.sign_with and payload.verdict is VoteVerdict.APPROVE
        return Refusal(RefusalCode.PASSKEY_NEEDED) if is_wanted else None  # 1
    passkey, acts = key
    refusal = _refuse(passkey, person)  # 2
    if passkey is None or refusal is not None:
        return refusal
    try:
        said = await said_of(tx, person.name, payload.reason, payload.ticket)
        document = document_of(approval, payload.verdict, assertion.nonce, said)
        count = check_assertion(passkey, assertion, document)  # 3, 4
    except PasskeyError:
        return Refusal(RefusalCode.PASSKEY_WRONG)
    passkeys.count_signature(tx.conn, tx.tenant, assertion.credential_id, count)
    return Signature(assertion, acts)


async def said_of(tx: RunTx, person_name: str, reason: str, ticket: str) -> Said:
    """Return what a person says, as it is put on record and signed."""
    privacy = await tx.privacy()
    return Said(person_name, privacy.text(reason.strip()), privacy.text(ticket.strip()))


def _refuse(passkey: Passkey | None, person: Person) -> Refusal | None:
    if passkey is None or passkey.person != person.id:
        return Refusal(RefusalCode.PASSKEY_UNKNOWN)
    return Refusal(RefusalCode.PASSKEY_REVOKED) if passkey.revoked_at else None
