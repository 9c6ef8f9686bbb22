"""What a log and a witness say to each other: `POST /add-checkpoint` of c2sp.org/tlog-witness, request and answers."""

from collections.abc import Collection
from dataclasses import dataclass

from receipts.checkpoint import cosignatures
from receipts.entry_proof import proof_lines
from receipts.errors import NoteError, ProofError
from receipts.note import NOTE_LIMIT, Note, VerifierKey, number, parse_note, parse_signature_line, to_base64, utf8

BODY_LIMIT = NOTE_LIMIT + 4096
"""Bytes that a request may have: a checkpoint, and 63 hashes of 45 bytes."""

SIZE_TYPE = "text/x.tlog.size"
"""The content type of the answer 409 that tells the size that the witness cosigned last."""

_OLD = "old "


@dataclass(frozen=True)
class AddCheckpoint:
    """A checkpoint, the size that the log had when the witness saw it last, and the proof that it has only grown."""

    old_size: int
    proof: tuple[bytes, ...]
    checkpoint: Note

    def __bytes__(self) -> bytes:
        """Return the body of the request."""
        lines = [f"{_OLD}{self.old_size}", *map(to_base64, self.proof), ""]
        return "".join(f"{line}\n" for line in lines).encode() + bytes(self.checkpoint)


def parse_request(body: bytes) -> AddCheckpoint:
    """Return the request in a body, or raise ProofError or NoteError. Nothing of it was verified yet.

    It is a line with the old size, the hashes of the proof on a line each, an empty line, and the checkpoint.
    """
    head, parted, note = utf8(body, BODY_LIMIT, "the body", ProofError).partition("\n\n")
    if not parted:
        raise ProofError("the body has no checkpoint behind an empty line")
    old, *hashes = head.split("\n")
    if not old.startswith(_OLD):
        raise ProofError("the body does not begin with `old` and a size")
    old_size = number(old.removeprefix(_OLD), "the old size", ProofError)
    return AddCheckpoint(old_size, proof_lines(hashes), parse_note(note.encode()))


def parse_size(body: bytes) -> int:
    """Return the size in an answer 409 of the type `text/x.tlog.size`, or raise NoteError."""
    text = utf8(body, 64, "the witness's size", NoteError)
    if not text.endswith("\n"):
        raise NoteError(f"the witness's size is no line: {text!r}")
    return number(text.removesuffix("\n"), "the witness's size", NoteError)


def with_cosignatures(checkpoint: Note, answer: bytes, witnesses: Collection[VerifierKey]) -> Note:
    """Return the checkpoint with the cosignatures in an answer 200 that known witnesses made; others are left out.

    Raise NoteError where the answer is malformed, or where a signature of one of them does not hold.
    """
    text = utf8(answer, NOTE_LIMIT, "the witness's answer", NoteError)
    if not text.endswith("\n"):
        raise NoteError("the witness's answer is not of whole lines")
    lines = map(parse_signature_line, text.removesuffix("\n").split("\n"))
    cosigned = checkpoint.signed_by(*(line for line in lines if any(key.made(line) for key in witnesses)))
    cosignatures(cosigned, witnesses)
    return cosigned
