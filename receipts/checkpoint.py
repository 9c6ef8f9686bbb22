"""Checkpoints: c2sp.org/tlog-checkpoint, cosigned as in c2sp.org/tlog-cosignature.

A checkpoint is a note whose text is the log's origin, its size, its root hash, and extension lines, if any. The origin
of a log is the name of the keys that sign it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from receipts.errors import CheckpointError, NoteError
from receipts.hashes import EMPTY_ROOT, TreeHead
from receipts.note import (
    Algorithm,
    Note,
    NoteSigner,
    VerifierKey,
    hash_from,
    names,
    number,
    timestamp_of,
    to_base64,
    verified,
)

_LINES = 3


@dataclass(frozen=True)
class Checkpoint:
    """What a log says of itself: who it is, and how large with which root."""

    origin: str
    head: TreeHead
    extensions: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the text of the note."""
        lines = [self.origin, str(self.head.size), to_base64(self.head.root), *self.extensions]
        return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True)
class Cosignature:
    """A witness found the checkpoint consistent with all that it had seen, at a moment in seconds since 1970."""

    key: VerifierKey
    timestamp: int


@dataclass(frozen=True)
class LogKeys:
    """The keys that a log may sign with, at least one, and all under its origin."""

    keys: tuple[VerifierKey, ...]

    def __post_init__(self) -> None:
        """Refuse keys that are not those of one log."""
        if len({key.name for key in self.keys}) != 1:
            raise NoteError("the keys of a log are at least one, and all have its origin as their name")
        if any(key.algorithm is not Algorithm.ED25519 for key in self.keys):
            raise NoteError(f"the keys of the log {self.origin} must be of Ed25519 (01)")

    @property
    def origin(self) -> str:
        """Return the log's origin."""
        return self.keys[0].name


def sign_checkpoint(signer: NoteSigner, head: TreeHead) -> Note:
    """Return the signed checkpoint of the log whose origin is the signer's name."""
    text = Checkpoint(signer.name, head).text()
    return Note(text, (signer.sign(text),))


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint in the text of a note, or raise CheckpointError. Nothing was verified yet."""
    *lines, end = text.split("\n")
    if end or len(lines) < _LINES or not all(lines):
        raise CheckpointError("a checkpoint is at least three lines, none of them empty")
    origin, size_line, root_line, *extensions = lines
    size = number(size_line, "the checkpoint's size", CheckpointError)
    root = hash_from(root_line, "the checkpoint's root", CheckpointError)
    if size == 0 and root != EMPTY_ROOT:
        raise CheckpointError("the checkpoint is of no leaves, and its root is not that of an empty log")
    return Checkpoint(origin, TreeHead(size, root), tuple(extensions))


def open_checkpoint(note: Note, log: LogKeys) -> Checkpoint:
    """Return the checkpoint in a note that the log signed.

    Raise CheckpointError where it is malformed or of another log, and NoteError where no key of the log signed it or a
    signature of one does not hold.
    """
    checkpoint = parse_checkpoint(note.text)
    if checkpoint.origin != log.origin:
        raise CheckpointError(f"the checkpoint is of {checkpoint.origin[:80]!r}, not of {log.origin}")
    if not verified(note, log.keys):
        raise NoteError(f"the checkpoint is not signed by {names(log.keys)}")
    return checkpoint


def cosignatures(note: Note, witnesses: Collection[VerifierKey]) -> list[Cosignature]:
    """Return which witnesses cosigned a checkpoint; raise NoteError where one of their signatures does not hold."""
    for key in witnesses:
        if key.algorithm is not Algorithm.COSIGNATURE_V1:
            raise NoteError(f"the key of the witness {key.name} must be of cosignatures (04)")
    return [Cosignature(key, timestamp_of(signature)) for key, signature in verified(note, witnesses)]
