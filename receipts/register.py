"""The register of signing keys: which key signed from when until when, each entry vouched for by a later key.

Whoever has the newest key from somebody they trust needs no other: each earlier key is believed as far as a later one,
which is believed itself, says so. A key that was revoked vouches for nobody.
"""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_der_public_key
from pydantic import ConfigDict, Field, ValidationError

from receipts import canonical
from receipts.errors import ReceiptsError
from receipts.fields import Exact, NonEmpty, Sha256Hex, Timestamp, timestamp
from receipts.signing import PublicKey, SigningKey, pae

PAYLOAD_TYPE = "application/vnd.countersign.signing-key+json"

CLOCKS = timedelta(hours=1)
"""By how much the clocks of those who seal may differ from that of the register."""


class RegisterError(ReceiptsError):
    """A register cannot be used, or does not say of a key what has to be known; the message says why."""


class Revocation(Exact):
    """From when a key counts no more, and why."""

    at: Timestamp
    why: NonEmpty


class Entry(Exact):
    """One key. `public_key` is its DER SubjectPublicKeyInfo, and `signature` (Ed25519) a later key's, both in base64.

    The signature is over DSSE's pre-authentication encoding of the canonical JSON of the members before `signed_by`.
    The newest key has none.
    """

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    id: Sha256Hex
    public_key: str
    since: Timestamp = Field(alias="from")
    until: Timestamp | None = None
    revoked: Revocation | None = None
    signed_by: Sha256Hex | None = None
    signature: str | None = None

    @property
    def key(self) -> PublicKey:
        """Return the key, or raise RegisterError unless it is an Ed25519 key with this id."""
        try:
            found = load_der_public_key(_from_base64(self.public_key))
        except (ValueError, UnsupportedAlgorithm) as error:
            raise RegisterError(f"key {self.id} cannot be read: {error}") from error
        if not isinstance(found, Ed25519PublicKey) or PublicKey(found).key_id != self.id:
            raise RegisterError(f"key {self.id} is not the Ed25519 key with that id")
        return PublicKey(found)


class Register(Exact):
    """All keys of a tenant, the oldest first."""

    keys: list[Entry]


def entry(key: PublicKey, since: datetime) -> Entry:
    """Return the entry of a new key."""
    return Entry(id=key.key_id, public_key=base64.b64encode(key.der()).decode(), since=timestamp(since))


def vouched(one: Entry, by: SigningKey) -> Entry:
    """Return the entry with a later key's signature."""
    signature = by.key.sign(_signed(one))
    return one.model_copy(
        update={"signed_by": by.public.key_id, "signature": base64.b64encode(signature).decode()},
    )


def succeeded(register: Sequence[Entry], by: SigningKey, at: datetime) -> list[Entry]:
    """Return the register with a new key: the one before it signs no more, and the new one vouches for it."""
    *earlier, last = register
    ended = vouched(last.model_copy(update={"until": timestamp(at)}), by)
    return [*earlier, ended, entry(by.public, at)]


def revoked(register: Sequence[Entry], key_id: str, by: SigningKey, at: datetime, why: str) -> list[Entry]:
    """Return the register in which a key counts no more from now on; the newest vouches anew for whom it vouched for.

    Raise RegisterError where there is no such key, it is the newest, or `by` is not the newest.
    """
    ids = [one.id for one in register]
    if key_id not in ids:
        raise RegisterError(f"there is no key {key_id}")
    if key_id == ids[-1]:
        raise RegisterError(f"{key_id} is the key that signs: rotate first")
    if by.public.key_id != ids[-1]:
        raise RegisterError(f"only the newest key, {ids[-1]}, can vouch for a revocation")
    mark = {"revoked": Revocation(at=timestamp(at), why=why)}
    changed = [one.model_copy(update=mark) if one.id == key_id and one.revoked is None else one for one in register]
    return [vouched(one, by) if key_id in (one.id, one.signed_by) else one for one in changed]


def read_register(data: bytes) -> Register:
    """Return the register in a file that `write_register` wrote, or raise RegisterError."""
    try:
        register = Register.model_validate(canonical.loads(data))
    except (canonical.CanonicalError, ValidationError) as error:
        raise RegisterError(f"not a register of keys: {error}") from error
    ids = [one.id for one in register.keys]
    if len(set(ids)) < len(ids):
        raise RegisterError("a register of keys that names a key twice")
    return register


def write_register(register: Sequence[Entry]) -> bytes:
    """Return the register as it stands in a file: canonical JSON."""
    return canonical.dumps(Register(keys=list(register)).model_dump())


def believed(register: Register, trusted: PublicKey) -> dict[str, Entry]:
    """Return the entries that whoever trusts a key may believe, by id; raise RegisterError where one is forged.

    Of later keys nothing is believed; what is said of the trusted key itself can only count against it.
    """
    ids = [one.id for one in register.keys]
    if trusted.key_id not in ids:
        raise RegisterError(f"the register does not have the key that is trusted, {trusted.key_id}")
    end = ids.index(trusted.key_id)
    found = {trusted.key_id: register.keys[end]}
    for one in reversed(register.keys[:end]):
        if by := found.get(one.signed_by or ""):
            _check_signature(one, by)
            found[one.id] = one
    return found


def _check_signature(one: Entry, by: Entry) -> None:
    """Raise unless a later key, which was not revoked, vouches for an entry."""
    if by.revoked is not None:
        raise RegisterError(f"key {one.id} is vouched for by {by.id}, which was revoked")
    try:
        by.key.key.verify(_from_base64(one.signature or ""), _signed(one))
    except (InvalidSignature, ValueError) as error:
        raise RegisterError(f"what is said of key {one.id} is not signed by {by.id}") from error


def check_signed_at(one: Entry, at: str) -> None:
    """Raise RegisterError unless the key counted at this moment (RFC 3339)."""
    moment = datetime.fromisoformat(at)
    if moment < datetime.fromisoformat(one.since) - CLOCKS:
        raise RegisterError(f"key {one.id} signed only from {one.since}, and this is of {at}")
    if one.until is not None and moment > datetime.fromisoformat(one.until) + CLOCKS:
        raise RegisterError(f"key {one.id} signed until {one.until}, and this is of {at}")
    if one.revoked is not None and moment >= datetime.fromisoformat(one.revoked.at):
        raise RegisterError(f"key {one.id} was revoked at {one.revoked.at}: {one.revoked.why}")


def _signed(one: Entry) -> bytes:
    """Return the bytes that whoever vouches for an entry signs."""
    return pae(PAYLOAD_TYPE, canonical.dumps(one.model_dump(exclude={"signed_by", "signature"})))


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
