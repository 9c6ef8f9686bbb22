"""Signed notes: c2sp.org/signed-note. A text, an empty line, and a line for each signature."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from receipts.log.errors import NoteError
from receipts.log.keys import Signature, VerifierKey, check_name
from receipts.log.text import from_base64, to_base64, utf8

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
