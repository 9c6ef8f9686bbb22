"""Whether a passkey was made, or has signed, as it was asked to: WebAuthn with the user verified. Values in and out."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    decode_credential_public_key,
    decoded_public_key_to_cryptography,
)
from webauthn.helpers.cose import COSEAlgorithmIdentifier
from webauthn.helpers.exceptions import WebAuthnException

from receipts.passkey_records import SignedWords, challenge_of, rp_id_of, signed_document
from runtime.model.approval import Approval
from runtime.model.passkey import Assertion, Attestation, Passkey
from runtime.model.votes import VoteVerdict

ALGORITHMS = (
    COSEAlgorithmIdentifier.ECDSA_SHA_256,
    COSEAlgorithmIdentifier.EDDSA,
    COSEAlgorithmIdentifier.RSASSA_PKCS1_v1_5_SHA_256,
)
"""What both verifiers of evidence can check."""

_MALFORMED = (WebAuthnException, ValueError, KeyError, TypeError, IndexError, OverflowError)
"""What the library raises over what is no answer of an authenticator's."""


class PasskeyError(Exception):
    """It is not what was asked for; the message says why."""


def document_of(approval: Approval, verdict: VoteVerdict, nonce: str, said: SignedWords) -> dict[str, str]:
    """Return what a person signs who says this to an approval as it is."""
    return signed_document(
        approval_id=approval.approval_id,
        digest=approval.digest,
        stamp=approval.stamp,
        requirement=approval.requirement.document(),
        verdict=str(verdict),
        nonce=nonce,
        said=said,
    )


def check_assertion(passkey: Passkey, assertion: Assertion, document: Mapping[str, str]) -> int:
    """Return how often the authenticator has signed by now, or raise PasskeyError unless it has signed the document."""
    if _spki(passkey.cose_key) != passkey.public_key:
        raise PasskeyError("the passkey is not the one on record")
    said = {"authenticatorData": assertion.authenticator_data, "signature": assertion.signature}
    try:
        verified = verify_authentication_response(
            credential=_credential(assertion.credential_id, assertion.client_data, said),
            expected_challenge=challenge_of(document),
            expected_rp_id=passkey.rp_id,
            expected_origin=passkey.origin,
            credential_public_key=passkey.cose_key,
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except _MALFORMED as error:
        raise PasskeyError(str(error)) from error
    _check_page(assertion.client_data, passkey.origin)
    return verified.new_sign_count


def new_passkey(
    attestation: Attestation, *, person: str, origin: str, invited_by: str, reason: str, now: datetime
) -> Passkey:
    """Return the passkey that an authenticator has made for an origin, or raise PasskeyError."""
    said = {"attestationObject": attestation.attestation_object}
    try:
        made = verify_registration_response(
            credential=_credential(attestation.credential_id, attestation.client_data, said),
            expected_challenge=bytes.fromhex(attestation.nonce),
            expected_rp_id=rp_id_of(origin),
            expected_origin=origin,
            require_user_verification=True,
            supported_pub_key_algs=list(ALGORITHMS),
        )
        _check_page(attestation.client_data, origin)
        cose_key = made.credential_public_key
        return Passkey(
            credential_id=bytes_to_base64url(made.credential_id),
            person=person,
            public_key=_spki(cose_key),
            cose_key=cose_key,
            algorithm=int(decode_credential_public_key(cose_key).alg),
            origin=origin,
            sign_count=made.sign_count,
            invited_by=invited_by,
            reason=reason,
            registered_at=now,
            revoked_at=None,
        )
    except _MALFORMED as error:
        raise PasskeyError(str(error)) from error


def _check_page(client_data: str, origin: str) -> None:
    """Raise PasskeyError where a passkey was used in a frame of a page of somebody else, who shows what they like."""
    said = json.loads(base64url_to_bytes(client_data))
    if not any(said.get("crossOrigin") is own for own in (None, False)) or said.get("topOrigin") not in (None, origin):
        raise PasskeyError("it was made in a frame of another page")


def _credential(credential_id: str, client_data: str, response: Mapping[str, str]) -> str:
    credential: dict[str, Any] = {
        "id": credential_id,
        "rawId": credential_id,
        "type": "public-key",
        "response": {**response, "clientDataJSON": client_data},
    }
    return json.dumps(credential)


def _spki(cose_key: bytes) -> str:
    """Return the public key as both verifiers read it."""
    key = decoded_public_key_to_cryptography(decode_credential_public_key(cose_key))
    return bytes_to_base64url(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
