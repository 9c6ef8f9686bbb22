"""Keys that sign notes, and their text form (vkey): c2sp.org/signed-note and c2sp.org/tlog-cosignature.

A key is a name, an algorithm and an Ed25519 key. Its hash, which signatures carry, is the first 4 bytes of
SHA-256(name || 0x0A || algorithm || public key); its text is `name+hash+base64(algorithm || public key)`.
"""

import enum
import hashlib
import re
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from receipts.log.errors import NoteError
from receipts.log.text import from_base64, to_base64
from receipts.signing import SigningKey

_ED25519_KEY_BYTES = 32
_MAX_TIME = 2**63 - 1
_TIME_BYTES = 8


class Algorithm(enum.IntEnum):
    """The first byte of a key, which says what is signed."""

    ED25519 = 0x01
    """The note's text."""
    COSIGNATURE_V1 = 0x04
    """The text of a checkpoint with the time at which a witness found it consistent."""


@dataclass(frozen=True)
class Signature:
    """A line under a note: who signed, the hash of the key, and the bytes that the algorithm gave."""

    name: str
    key_hash: bytes
    data: bytes


@dataclass(frozen=True)
class VerifierKey:
    """Whom a signature on a note is checked against."""

    name: str
    algorithm: Algorithm
    public: bytes

    def __post_init__(self) -> None:
        """Refuse a name that could not stand in a note."""
        check_name(self.name)

    @property
    def hash(self) -> bytes:
        """Return the 4 bytes that signatures of this key begin with."""
        hashed = self.name.encode() + b"\n" + bytes([self.algorithm]) + self.public
        return hashlib.sha256(hashed).digest()[:4]

    def __str__(self) -> str:
        """Return the text form."""
        return f"{self.name}+{self.hash.hex()}+{to_base64(bytes([self.algorithm]) + self.public)}"

    def made(self, signature: Signature) -> bool:
        """Return whether a signature says that it is of this key."""
        return signature.name == self.name and signature.key_hash == self.hash

    def verify(self, text: str, signature: Signature) -> None:
        """Raise NoteError unless this key made the signature over the text of the note."""
        signed, data = text.encode(), signature.data
        if self.algorithm is Algorithm.COSIGNATURE_V1:
            signed, data = cosigned_text(text, timestamp_of(signature)), data[_TIME_BYTES:]
        try:
            Ed25519PublicKey.from_public_bytes(self.public).verify(data, signed)
        except InvalidSignature as error:
            raise NoteError(f"the signature of {self.name}+{self.hash.hex()} does not hold") from error


@dataclass(frozen=True)
class NoteSigner:
    """A key under the name by which it signs."""

    name: str
    key: SigningKey

    def verifier(self, algorithm: Algorithm) -> VerifierKey:
        """Return the public half, for one kind of signature."""
        public = self.key.public.key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        return VerifierKey(self.name, algorithm, public)

    def sign(self, text: str) -> Signature:
        """Sign the text of a note."""
        return Signature(self.name, self.verifier(Algorithm.ED25519).hash, self.key.key.sign(text.encode()))

    def cosign(self, text: str, timestamp: int) -> Signature:
        """Sign the text of a checkpoint as a witness, at a moment in seconds since 1970."""
        key_hash = self.verifier(Algorithm.COSIGNATURE_V1).hash
        signed = self.key.key.sign(cosigned_text(text, timestamp))
        return Signature(self.name, key_hash, struct.pack(">Q", timestamp) + signed)


def parse_verifier_key(text: str) -> VerifierKey:
    """Return the key in its text form, or raise NoteError."""
    name, plus, rest = text.partition("+")
    key_hash, second, encoded = rest.partition("+")
    if not (plus and second and re.fullmatch("[0-9a-f]{8}", key_hash)):
        raise NoteError(f"a verifier key is name+hash+key, the hash 8 digits of lowercase hex; this is {text[:80]!r}")
    data = from_base64(encoded, f"the verifier key of {name[:80]!r}", NoteError)
    if data[:1] not in {bytes([one]) for one in Algorithm}:
        raise NoteError(f"the verifier key of {name[:80]!r} is not of Ed25519 (01) or its cosignatures (04)")
    if len(data) != 1 + _ED25519_KEY_BYTES:
        raise NoteError(f"the verifier key of {name[:80]!r} has {len(data) - 1} bytes, not {_ED25519_KEY_BYTES}")
    key = VerifierKey(name, Algorithm(data[0]), data[1:])
    if key.hash.hex() != key_hash:
        raise NoteError(f"the verifier key of {name[:80]!r} has the hash {key.hash.hex()}, but says {key_hash}")
    return key


def check_name(name: str) -> None:
    """Raise NoteError unless a key may have this name: not empty, and no space, plus or control character."""
    if not name or "+" in name or any(one.isspace() or one < " " for one in name):
        raise NoteError(f"a key's name is not empty and has no space, plus or control character; this is {name[:80]!r}")


def timestamp_of(signature: Signature) -> int:
    """Return when a cosignature was made, in seconds since 1970, or raise NoteError. Nothing was verified yet."""
    if len(signature.data) <= _TIME_BYTES:
        raise NoteError(f"the cosignature of {signature.name} has no timestamp and signature")
    (seconds,) = struct.unpack(">Q", signature.data[:_TIME_BYTES])
    if seconds > _MAX_TIME:
        raise NoteError(f"the cosignature of {signature.name} is of a time beyond 2**63 - 1")
    return int(seconds)


def cosigned_text(text: str, timestamp: int) -> bytes:
    """Return what a witness signs: c2sp.org/tlog-cosignature, Ed25519 signed message."""
    return f"cosignature/v1\ntime {timestamp}\n{text}".encode()
