"""Opens an export: nothing but its statement is read before the statement's signature holds."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path

from evidence.export.approvals_table import read_rows
from evidence.export.completeness import LogTold, read_log
from evidence.export.index import (
    APPROVALS,
    BUNDLES,
    CHECKPOINT,
    EXCEPTIONS,
    INDEX,
    REFUSED,
    RUNS,
    STATEMENT,
    ExportStatement,
    Index,
)
from evidence.export.refused_table import read_refused
from evidence.statement import PAYLOAD_TYPE, largest, written_before_release
from evidence.verify.contents import BrokenError, parse
from evidence.verify.trust import Trust
from receipts.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint
from receipts.errors import LogError
from receipts.note import Note, parse_note
from receipts.signing import EnvelopeError, Opened, PublicKey, verify_envelope

NEEDED = frozenset({INDEX, RUNS, APPROVALS})
"""What every export has."""
FILES = NEEDED | {REFUSED, EXCEPTIONS, CHECKPOINT}
"""What a statement may sign."""


class UnreadError(BrokenError):
    """A file cannot be read, which says nothing about what it holds."""


class UnsignedError(BrokenError):
    """None of the keys signed it."""


@dataclass(frozen=True)
class Contents:
    """An export whose statement is signed: its folder, the digest of the statement, the key; the log, where given."""

    folder: Path
    sha256: str
    statement: ExportStatement
    key_id: str
    trust: Trust
    log: Path | None

    @property
    def signed(self) -> Mapping[str, str]:
        """Return the digests that were signed, by file."""
        return {subject.name: subject.digest.sha256 for subject in self.statement.subject}

    @cached_property
    def index(self) -> Index:
        """Return the index."""
        return parse(Index, INDEX, self.read(INDEX))

    @cached_property
    def rows(self) -> list[dict[str, str]]:
        """Return the lines of approvals.csv."""
        return read_rows(self.read(APPROVALS))

    @cached_property
    def refused(self) -> list[dict[str, str]] | None:
        """Return the lines of refused.csv; None in an export of format 1, which has none."""
        is_told = self.statement.tells_refused
        if is_told != (REFUSED in self.signed):
            raise BrokenError(REFUSED, "is not there" if is_told else "is there, and format 1 of exports has none")
        return read_refused(self.read(REFUSED)) if is_told else None

    @cached_property
    def checkpoint(self) -> tuple[Note, Checkpoint] | None:
        """Return the checkpoint, signed by the log's key where that is given; None where there is none."""
        keys = self.trust.log
        if CHECKPOINT not in self.signed:
            if keys is not None:
                raise BrokenError(CHECKPOINT, "is not there, and the log's key is given")
            return None
        try:
            note = parse_note(self.read(CHECKPOINT))
            return note, open_checkpoint(note, keys) if keys else parse_checkpoint(note.text)
        except LogError as error:
            raise BrokenError(CHECKPOINT, str(error)) from error

    @cached_property
    def known(self) -> int:
        """Return how many leaves of the log the export must know."""
        signed = self.checkpoint[1].head.size if self.checkpoint else 0
        return max(signed, self.index.log.size)

    @cached_property
    def logged(self) -> LogTold | None:
        """Return what the log tells as it is published; None where it is not given."""
        if self.log is None:
            return None
        if self.checkpoint is None:
            raise BrokenError(CHECKPOINT, "is not there, and the log is given")
        listed = {run.run_id: run.leaves for run in self.index.entries}
        return read_log(self.log, self.checkpoint[1].head, self.trust.log, self.known, listed)

    @cached_property
    def present(self) -> list[str]:
        """Return the files that are there, with those of the bundles, in order."""
        try:
            inside = [path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if not path.is_dir()]
        except OSError as error:
            raise UnreadError("", f"{self.folder} cannot be read: {error.strerror}") from error
        return sorted(inside)

    def read(self, name: str) -> bytes:
        """Return a file's bytes."""
        return _read(self.folder, name)

    def digest(self, name: str) -> str:
        """Return a regular file's SHA-256, however large it is."""
        with _opened(self.folder, name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def open_export(folder: Path, trust: Trust, log: Path | None) -> Contents:
    """Return an export whose statement one of the trusted keys signed; raise BrokenError."""
    if not folder.is_dir():
        raise UnreadError("", f"{folder} is not a folder")
    data = _read(folder, STATEMENT, most=largest([*FILES, BUNDLES]))
    opened, key = _verified(data, trust)
    if opened.payload_type != PAYLOAD_TYPE:
        raise BrokenError(STATEMENT, f"carries {opened.payload_type!r}, not {PAYLOAD_TYPE}")
    if earlier := written_before_release(opened.payload):
        raise BrokenError("", earlier)
    statement = parse(ExportStatement, STATEMENT, opened.payload)
    if statement.predicate.key_id != key.key_id:
        raise BrokenError(STATEMENT, f"does not name the key {key.key_id}, which signed it")
    return Contents(folder, hashlib.sha256(data).hexdigest(), statement, key.key_id, trust, log)


def _verified(data: bytes, trust: Trust) -> tuple[Opened, PublicKey]:
    first = None
    for key in trust.keys:
        try:
            return verify_envelope(data, key), key
        except EnvelopeError as error:
            first = first or error
    raise UnsignedError(STATEMENT, str(first))


def _read(folder: Path, name: str, most: int = -1) -> bytes:
    """Return a regular file's bytes, no more than `most` and one."""
    with _opened(folder, name) as file:
        return file.read(most if most < 0 else most + 1)


@contextmanager
def _opened(folder: Path, name: str) -> Iterator[BufferedReader]:
    """Open a regular file; raise UnreadError. Others, such as a device, may have no end."""
    path = folder / name
    try:
        if not path.is_file():
            raise UnreadError(name, "is no file" if path.exists() else "is not there")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UnreadError(name, f"cannot be read: {error.strerror}") from error
