"""Signed notes: c2sp.org/signed-note. A text, an empty line, and a line for each signature.

Keys sign notes; their text form is a vkey (c2sp.org/signed-note and c2sp.org/tlog-cosignature). A key is a name, an
algorithm and an Ed25519 key. Its hash, which signatures carry, is the first 4 bytes of SHA-256(name || 0x0A ||
algorithm || public key); its text is `name+hash+base64(algorithm || public key)`.

The text formats of C2SP share lines, numbers and base64, each of which has one spelling.
"""

import base64
import binascii
import enum
import hashlib
import re
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from receipts.errors import LogError, NoteError
from receipts.hashes import HASH_BYTES, MAX_SIZE
from receipts.signing import SigningKey

_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")


def number(text: str, what: str, error: type[LogError]) -> int:
    """Return a number up to 2**63 - 1 in ASCII digits without leading zeroes, or raise `error`."""
    if not _NUMBER.fullmatch(text) or int(text) > MAX_SIZE:
        raise error(f"{what} is no number up to 2**63 - 1 without leading zeroes: {text[:40]!r}")
    return int(text)


def from_base64(text: str, what: str, error: type[LogError]) -> bytes:
    """Return the bytes of standard base64 in its one canonical spelling, or raise `error`."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as cause:
        raise error(f"{what} is not base64: {text[:40]!r}") from cause
    if to_base64(data) != text:
        raise error(f"{what} is base64, but not in its canonical spelling: {text[:40]!r}")
    return data


def to_base64(data: bytes) -> str:
    """Return standard base64."""
    return base64.b64encode(data).decode("ascii")


def hash_from(line: str, what: str, error: type[LogError]) -> bytes:
    """Return the hash in a line of base64, or raise `error`."""
    data = from_base64(line, what, error)
    if len(data) != HASH_BYTES:
        raise error(f"{what} has {len(data)} bytes, not {HASH_BYTES}")
    return data


def utf8(data: bytes, limit: int, what: str, error: type[LogError]) -> str:
    """Return text of at most `limit` bytes, without control characters but line breaks, or raise `error`."""
    if len(data) > limit:
        raise error(f"{what} has {len(data)} bytes, and may have {limit}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as cause:
        raise error(f"{what} is not UTF-8 at byte {cause.start}") from cause
    if found := re.search(r"[\x00-\x09\x0b-\x1f]", text):
        raise error(f"{what} holds the control character U+{ord(found[0]):04X}")
    return text


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


NOTE_LIMIT = 256 * 1024
"""Bytes that a note may have: 16 signatures of nearly 5 kB, as anybody must accept, and as much again."""
MAX_SIGNATURES = 64

_DASH = "— "
_HASH_BYTES = 4


@dataclass(frozen=True)
class Note:
    """A text, which ends its last line, and signatures of whoever they may be."""

    text: str
    signatures: tuple[Signature, ...]

    def __bytes__(self) -> bytes:
        """Return the note as it is sent and stored."""
        return f"{self.text}\n{''.join(map(signature_line, self.signatures))}".encode()

    def signed_by(self, *more: Signature) -> "Note":
        """Return the note with more signatures below those that it has."""
        return Note(self.text, (*self.signatures, *more))


def parse_note(data: bytes) -> Note:
    """Return the note in these bytes, or raise NoteError. It says nothing yet about who signed.

    1. It is UTF-8 without control characters other than line breaks, and of bounded size.
    2. The last empty line parts the text from the signatures, of which there is at least one.
    3. Each line of them is a dash, the key's name, and the key's hash and the signature in base64.
    """
    whole = utf8(data, NOTE_LIMIT, "the note", NoteError)  # 1
    before, parted, lines = whole.rpartition("\n\n")  # 2
    if not parted or not lines.endswith("\n"):
        raise NoteError("the note has no text that an empty line parts from signature lines")
    signatures = tuple(map(parse_signature_line, lines.removesuffix("\n").split("\n")))
    if len(signatures) > MAX_SIGNATURES:
        raise NoteError(f"the note has {len(signatures)} signatures, and may have {MAX_SIGNATURES}")
    return Note(before + "\n", signatures)


def parse_signature_line(line: str) -> Signature:
    """Return the signature in a line of a note, which is given without its line break, or raise NoteError."""
    name, parted, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not parted:
        raise NoteError(f"a signature line is a dash, a key's name and base64; this is {line[:80]!r}")
    check_name(name)
    data = from_base64(encoded, f"the signature of {name[:80]!r}", NoteError)
    if len(data) <= _HASH_BYTES:
        raise NoteError(f"the signature of {name[:80]!r} is no key hash and signature")
    return Signature(name, data[:_HASH_BYTES], data[_HASH_BYTES:])


def signature_line(signature: Signature) -> str:
    """Return the line of a signature, with its line break."""
    return f"{_DASH}{signature.name} {to_base64(signature.key_hash + signature.data)}\n"


def verified(note: Note, keys: Collection[VerifierKey]) -> list[tuple[VerifierKey, Signature]]:
    """Return the signatures of the keys that are known, or raise NoteError where one of them does not hold.

    Signatures of other keys are ignored, even where name or hash alone is that of a known one.
    """
    found = [(key, signature) for signature in note.signatures for key in keys if key.made(signature)]
    for key, signature in found:
        key.verify(note.text, signature)
    return found


def names(keys: Iterable[VerifierKey]) -> str:
    """Return what keys are called, for a message."""
    return ", ".join(f"{key.name}+{key.hash.hex()}" for key in keys)
