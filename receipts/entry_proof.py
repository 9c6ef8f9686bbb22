"""Proofs to keep beside an entry: c2sp.org/tlog-proof@v1. With the log's key alone they verify offline.

Such a file is the entry's index, the hashes of its inclusion proof, and the checkpoint with whatever signatures and
cosignatures it has.
"""

from collections.abc import Collection
from dataclasses import dataclass

from receipts.checkpoint import Checkpoint, Cosignature, LogKeys, cosignatures, open_checkpoint
from receipts.errors import ProofError
from receipts.note import NOTE_LIMIT, Note, VerifierKey, from_base64, hash_from, number, parse_note, to_base64, utf8
from receipts.proofs import MAX_PATH, verify_inclusion

_HEADER = "c2sp.org/tlog-proof@v1"
_EXTRA = "extra "
_INDEX = "index "
PROOF_LIMIT = 2 * NOTE_LIMIT
"""Bytes that a proof with its checkpoint may have."""


@dataclass(frozen=True)
class EntryProof:
    """That an entry stands in a log, as a log and its witnesses signed. `extra` is data that nobody vouches for."""

    index: int
    path: tuple[bytes, ...]
    checkpoint: Note
    extra: bytes | None = None

    def __bytes__(self) -> bytes:
        """Return the file."""
        extra = [] if self.extra is None else [f"{_EXTRA}{to_base64(self.extra)}"]
        lines = [_HEADER, *extra, f"{_INDEX}{self.index}", *map(to_base64, self.path), ""]
        return "".join(f"{line}\n" for line in lines).encode() + bytes(self.checkpoint)


@dataclass(frozen=True)
class Proven:
    """What a proof showed: the log as it was, and which of the known witnesses had seen it. How many must is policy."""

    checkpoint: Checkpoint
    cosignatures: tuple[Cosignature, ...]


def parse_entry_proof(data: bytes) -> EntryProof:
    """Return the proof in a file, or raise ProofError or NoteError. Nothing was verified yet."""
    head, parted, note = utf8(data, PROOF_LIMIT, "the proof", ProofError).partition("\n\n")
    if not parted:
        raise ProofError("the proof has no checkpoint behind an empty line")
    header, *lines = head.split("\n")
    if header != _HEADER:
        raise ProofError(f"the proof does not begin with {_HEADER}")
    extra = None
    if lines and lines[0].startswith(_EXTRA):
        extra = from_base64(lines.pop(0).removeprefix(_EXTRA), "the proof's extra data", ProofError)
    if not lines or not lines[0].startswith(_INDEX):
        raise ProofError("the proof does not say the index of its entry")
    index = number(lines.pop(0).removeprefix(_INDEX), "the proof's index", ProofError)
    return EntryProof(index, proof_lines(lines), parse_note(note.encode()), extra)


def proof_lines(lines: list[str]) -> tuple[bytes, ...]:
    """Return the hashes of a proof, which are given one to a line, or raise ProofError."""
    if len(lines) >= MAX_PATH:
        raise ProofError(f"the proof has {len(lines)} hashes, and may have {MAX_PATH - 1}")
    return tuple(hash_from(line, f"hash {place} of the proof", ProofError) for place, line in enumerate(lines))


def verify_entry_proof(proof: EntryProof, leaf_hash: bytes, log: LogKeys, witnesses: Collection[VerifierKey]) -> Proven:
    """Raise LogError unless the log signed a checkpoint over a tree in which this leaf stands at the proof's index."""
    checkpoint = open_checkpoint(proof.checkpoint, log)
    seen = cosignatures(proof.checkpoint, witnesses)
    verify_inclusion(checkpoint.head, proof.index, leaf_hash, proof.path)
    return Proven(checkpoint, tuple(seen))
