"""A stamp that came after a bundle: of a later checkpoint, with the proof that its log is the bundle's, grown.

A later checkpoint is over all that an earlier one is over. So its stamp tells of the earlier one's leaves, too.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from receipts import canonical
from receipts.fields import Closed, Sha256Hex
from receipts.log.checkpoint import Checkpoint, LogKeys, open_checkpoint, parse_checkpoint
from receipts.log.errors import ProofError
from receipts.log.note import parse_note
from receipts.log.proofs import verify_consistency
from receipts.stamp import StampError

FILE_LIMIT = 1024 * 1024
"""Bytes that such a file may have: a note of 256 kB, a stamp of 64 kB in base64, and 63 hashes."""


class _Told(Closed):
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
        return canonical.dumps(_Told(checkpoint=self.checkpoint.decode(), stamp=stamp, growth=growth).model_dump())

    def write(self, to: Path) -> None:
        """Write the file, which must not be there yet, or raise StampError."""
        try:
            with to.open("xb") as file:
                file.write(bytes(self))
        except OSError as error:
            raise StampError(f"{to} cannot be written: {error.strerror}") from error

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
        told = _Told.model_validate(canonical.loads(data))
        stamp = base64.b64decode(told.stamp, validate=True)
    except (canonical.CanonicalError, ValidationError, binascii.Error) as error:
        raise StampError(f"{file} is not the stamp of a later checkpoint: {error}") from error
    return LaterStamp(told.checkpoint.encode(), stamp, [bytes.fromhex(one) for one in told.growth])
