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


class _Rest(Closed):
    """An envelope without its payload."""

    payload_type: str = Field(alias="payloadType")
    signatures: list[_Signature] = Field(min_length=1, max_length=1)


_HEAD = b'{"payload":"'  # canonical JSON has the members in this order
_LONGEST_REST = 4096
"""Bytes behind the payload, at most."""


@dataclass(frozen=True)
class Opened:
    """What an envelope carried, once its signature was verified; `keyid` is as it stood there, or ""."""

    payload_type: str
    payload: bytes
    keyid: str


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding: the bytes that are signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_envelope(payload_type: str, payload: bytes, key: SigningKey, *, keyid: str = "") -> bytes:
    """Return the canonical JSON of an envelope with one signature; equal input gives equal bytes.

    Every tool derives a key's id in its own way, and some refuse another's: an empty one passes all of them.
    """
    signature = {"keyid": keyid, "sig": _to_base64(key.key.sign(pae(payload_type, payload)))}
    return canonical.dumps(
        {"payload": _to_base64(payload), "payloadType": payload_type, "signatures": [signature]},
    )


def verify_envelope(envelope: bytes, public_key: PublicKey) -> Opened:
    """Return what the envelope carries, or raise unless `sign_envelope` with this key's private half made these bytes.

    The signature is checked with the key that the caller trusts, whatever `keyid` says; a `keyid` of another key is
    an error too, so that no byte of an envelope can be changed unseen. Nothing of the payload is parsed, however large.
    """
    encoded, rest = _split(envelope)
    payload, signature = _from_base64(encoded), rest.signatures[0]
    try:
        public_key.key.verify(_from_base64(signature.sig), pae(rest.payload_type, payload))
    except InvalidSignature as error:
        raise EnvelopeError(f"the signature is not by the key {public_key.key_id}") from error
    if signature.keyid not in ("", public_key.key_id):
        raise EnvelopeError(f"keyid {signature.keyid!r} does not name the key that signed, {public_key.key_id}")
    return Opened(rest.payload_type, payload, signature.keyid)


def _split(envelope: bytes) -> tuple[str, _Rest]:
    """Return the payload as it is encoded, and the rest: base64 has no quotation mark."""
    end = envelope.find(b'",', len(_HEAD))
    if not envelope.startswith(_HEAD) or end < 0 or len(envelope) - end > _LONGEST_REST:
        raise EnvelopeError("not an envelope: a payload, its type and one signature")
    try:
        rest = _Rest.model_validate(canonical.loads(b"{" + envelope[end + 2 :]))
        return envelope[len(_HEAD) : end].decode("ascii"), rest
    except (canonical.CanonicalError, ValidationError, UnicodeDecodeError) as error:
        raise EnvelopeError(f"not an envelope: {error}") from error


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
