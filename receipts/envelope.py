"""Signed envelopes (DSSE v1): what is signed are exact bytes together with their type."""

import base64
import binascii
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from pydantic import Field, ValidationError

from receipts import canonical
from receipts.errors import ReceiptsError
from receipts.fields import Closed
from receipts.signing import PublicKey, SigningKey


class EnvelopeError(ReceiptsError):
    """An envelope is malformed or not signed by the given key."""


class _Signature(Closed):
    keyid: str
    sig: str


class _Envelope(Closed):
    payload: str
    payload_type: str = Field(alias="payloadType")
    signatures: list[_Signature] = Field(min_length=1, max_length=1)


@dataclass(frozen=True)
class Opened:
    """What an envelope carried, once its signature was verified."""

    payload_type: str
    payload: bytes


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding: the bytes that are signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_envelope(payload_type: str, payload: bytes, key: SigningKey) -> bytes:
    """Return the canonical JSON of an envelope with one signature; equal input gives equal bytes."""
    signature = {"keyid": key.public.key_id, "sig": _to_base64(key.key.sign(pae(payload_type, payload)))}
    return canonical.dumps(
        {"payload": _to_base64(payload), "payloadType": payload_type, "signatures": [signature]},
    )


def verify_envelope(envelope: bytes, public_key: PublicKey) -> Opened:
    """Return what the envelope carries, or raise unless `sign_envelope` with this key's private half made these bytes.

    The signature is checked with the key that the caller trusts, whatever `keyid` says; a `keyid` of another key is
    an error too, so that no byte of an envelope can be changed unseen.
    """
    try:
        parsed = _Envelope.model_validate(canonical.loads(envelope))
    except (canonical.CanonicalError, ValidationError) as error:
        raise EnvelopeError(f"not an envelope: {error}") from error
    payload, signature = _from_base64(parsed.payload), parsed.signatures[0]
    try:
        public_key.key.verify(_from_base64(signature.sig), pae(parsed.payload_type, payload))
    except InvalidSignature as error:
        raise EnvelopeError(f"the signature is not by the key {public_key.key_id}") from error
    if signature.keyid != public_key.key_id:
        raise EnvelopeError(f"keyid {signature.keyid!r} does not name the key that signed, {public_key.key_id}")
    return Opened(parsed.payload_type, payload)


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_base64(text: str) -> bytes:
    """Decode the one standard spelling: padded, without spaces, unused bits zero."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EnvelopeError(f"not base64: {error}") from error
    if _to_base64(data) != text:
        raise EnvelopeError("base64 in another than its standard spelling")
    return data
