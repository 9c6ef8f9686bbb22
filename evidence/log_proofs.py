"""Proofs from the audit log: that a run's leaves stand in its tenant's log. Bundles have them as members.

They are written and checked here.

A stamp may come after a bundle: it is of a later checkpoint, with the proof that its log is the bundle's, grown. A
later checkpoint is over all that an earlier one is over. So its stamp tells of the earlier one's leaves, too.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from evidence import names
from receipts import canonical
from receipts.chain import Leaf
from receipts.checkpoint import Checkpoint, LogKeys, open_checkpoint, parse_checkpoint
from receipts.errors import ProofError
from receipts.fields import Exact, Sha256Hex
from receipts.hashes import TreeHead
from receipts.note import parse_note
from receipts.proofs import check_inclusion, verify_consistency
from receipts.stamp import StampError


class Span(Exact):
    """So many leaves that follow each other in the chain and in the log: from a leaf on, from an index on."""

    first_seq: int = Field(ge=1)
    count: int = Field(ge=1)
    first_index: int = Field(ge=0)


class Inclusion(Exact):
    """The file that says where the leaves of a run stand, and why that holds."""

    places: list[Span]
    proof: list[Sha256Hex]


class ActPlace(Exact):
    """Where a leaf of the tenant's own chain stands in the log."""

    seq: int = Field(ge=1)
    index: int = Field(ge=0)


class Acts(Exact):
    """The file that says where the acts that votes rest on stand, and why that holds."""

    places: list[ActPlace] = Field(min_length=1)
    proof: list[Sha256Hex]


@dataclass(frozen=True)
class ActsProof:
    """Where acts that votes rest on stand in the log, in the order of their chain, and the proof's hashes."""

    places: Sequence[ActPlace]
    hashes: Sequence[bytes]

    def member(self) -> bytes:
        """Return the member of a bundle that holds it."""
        told = Acts(places=list(self.places), proof=[one.hex() for one in self.hashes])
        return canonical.dumps(told.model_dump())


@dataclass(frozen=True)
class LogProof:
    """A checkpoint (a signed note), where the leaves stand in the order of their chain, and the proof's hashes.

    And, if there is one, the time stamp of the checkpoint (DER of a TimeStampResp, RFC 3161), and the proof of the acts
    of the tenant that votes rest on.
    """

    checkpoint: str
    places: Sequence[Span]
    hashes: Sequence[bytes]
    stamp: bytes | None = None
    acts: ActsProof | None = None

    def members(self) -> dict[str, bytes]:
        """Return the members of a bundle that hold it."""
        told = Inclusion(places=list(self.places), proof=[one.hex() for one in self.hashes])
        stamp = {} if self.stamp is None else {names.STAMP: self.stamp}
        return {
            names.CHECKPOINT: self.checkpoint.encode(),
            names.INCLUSION: canonical.dumps(told.model_dump()),
            **stamp,
            **({} if self.acts is None else {names.ACTS: self.acts.member()}),
        }


def read_inclusion(data: bytes) -> tuple[list[Span], list[bytes]]:
    """Return places and hashes of the member that `LogProof.members` wrote, or raise ProofError."""
    try:
        told = Inclusion.model_validate(canonical.loads(data))
    except (canonical.CanonicalError, ValidationError) as error:
        raise ProofError(f"not an inclusion proof: {error}") from error
    return told.places, [bytes.fromhex(one) for one in told.proof]


def check_leaves(leaves: Sequence[Leaf], places: Sequence[Span], hashes: Sequence[bytes], head: TreeHead) -> None:
    """Raise ProofError unless each leaf of the chain, and no other, stands at its place in the log with this head."""
    found: dict[int, bytes] = {}
    expected = 1
    for span in places:
        if span.first_seq != expected or span.count > len(leaves) - expected + 1:
            raise ProofError(f"leaf {expected} has no place in the log, or the places are not in its order")
        for step in range(span.count):
            found[span.first_index + step] = bytes.fromhex(leaves[expected - 1 + step].hash)
        expected += span.count
    if expected != len(leaves) + 1:
        raise ProofError(f"leaf {expected} has no place in the log")
    if len(found) != len(leaves):
        raise ProofError("two leaves have one place in the log")
    check_inclusion(head, found, hashes)


def check_acts(acts: Mapping[int, str], data: bytes, head: TreeHead) -> None:
    """Raise ProofError unless each act, a leaf's hash by its sequence number, and no other, stands in the log."""
    try:
        told = Acts.model_validate(canonical.loads(data))
    except (canonical.CanonicalError, ValidationError) as error:
        raise ProofError(f"not a proof of acts: {error}") from error
    if [one.seq for one in told.places] != sorted(acts):
        raise ProofError("it is not about the acts that votes rest on, in their order")
    found = {one.index: bytes.fromhex(acts[one.seq]) for one in told.places}
    if len(found) != len(acts):
        raise ProofError("two acts have one place in the log")
    check_inclusion(head, found, [bytes.fromhex(one) for one in told.proof])


FILE_LIMIT = 1024 * 1024
"""Bytes that such a file may have: a note of 256 kB, a stamp of 64 kB in base64, and 63 hashes."""


class _LaterFile(Exact):
    checkpoint: str
    stamp: str
    growth: list[Sha256Hex]


@dataclass(frozen=True)
class LaterStamp:
    """A checkpoint (a signed note), the stamp of it, and the consistency proof from the bundle's checkpoint to it."""

    checkpoint: bytes
    stamp: bytes
    growth: Sequence[bytes]

    def __bytes__(self) -> bytes:
        """Return the file: canonical JSON."""
        stamp, growth = base64.b64encode(self.stamp).decode(), [one.hex() for one in self.growth]
        return canonical.dumps(_LaterFile(checkpoint=self.checkpoint.decode(), stamp=stamp, growth=growth).model_dump())

    def check_growth(self, old: Checkpoint, keys: LogKeys | None) -> None:
        """Raise LogError unless the checkpoint is of this log, grown, and signed by its keys where they are given."""
        note = parse_note(self.checkpoint)
        new = open_checkpoint(note, keys) if keys else parse_checkpoint(note.text)
        if new.origin != old.origin:
            raise ProofError(f"a checkpoint of {new.origin}, not of {old.origin}")
        verify_consistency(old.head, new.head, self.growth)


def read_later(file: Path) -> LaterStamp:
    """Read such a file, or raise StampError."""
    try:
        with file.open("rb") as stream:
            data = stream.read(FILE_LIMIT + 1)
    except OSError as error:
        raise StampError(f"{file} cannot be read: {error.strerror}") from error
    if len(data) > FILE_LIMIT:
        raise StampError(f"{file} has more than {FILE_LIMIT} bytes")
    try:
        told = _LaterFile.model_validate(canonical.loads(data))
        stamp = base64.b64decode(told.stamp, validate=True)
    except (canonical.CanonicalError, ValidationError, binascii.Error) as error:
        raise StampError(f"{file} is not the stamp of a later checkpoint: {error}") from error
    return LaterStamp(told.checkpoint.encode(), stamp, [bytes.fromhex(one) for one in told.growth])
