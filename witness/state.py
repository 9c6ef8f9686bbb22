"""What a witness must never forget: of each log the last checkpoint that it cosigned, in a folder of its own.

A file holds the checkpoint as the log signed it. It is replaced whole, and is on disk before its name is: whatever ends
the process, the folder tells the last checkpoint that may have been cosigned, or a later one.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from receipts.log.checkpoint import LogKeys, parse_checkpoint
from receipts.log.errors import LogError
from receipts.log.hashes import EMPTY_ROOT, TreeHead
from receipts.log.note import Note, parse_note, verified
from witness.errors import WitnessError

NOTHING_SEEN = TreeHead(0, EMPTY_ROOT)


class State:
    """The last checkpoints, by origin. Only who has the folder's lock may make one: see `open_state`."""

    def __init__(self, folder: Path, logs: Iterable[LogKeys]) -> None:
        self._folder = folder
        self._heads = {log.origin: self._read(log) for log in logs}

    def last(self, origin: str) -> TreeHead:
        """Return size and root of the last checkpoint, or of an empty log where there was none."""
        return self._heads[origin]

    def keep(self, origin: str, head: TreeHead, note: Note) -> None:
        """Record the checkpoint; when this returns it outlasts a power cut. Raise OSError where it is not recorded."""
        file = _file(self._folder, origin)
        draft = file.with_suffix(".draft")
        with draft.open("wb") as sink:
            sink.write(bytes(note))
            sink.flush()
            os.fsync(sink.fileno())
        draft.replace(file)
        _sync_folder(self._folder)
        self._heads[origin] = head

    def _read(self, log: LogKeys) -> TreeHead:
        """Return what the file of a log says; without one, the log was never seen."""
        file = _file(self._folder, log.origin)
        try:
            note = parse_note(file.read_bytes())
            checkpoint = parse_checkpoint(note.text)
            verified(note, log.keys)
        except FileNotFoundError:
            return NOTHING_SEEN
        except (OSError, LogError) as error:
            raise WitnessError(f"{file} does not tell the last checkpoint of {log.origin}: {error}") from error
        if checkpoint.origin != log.origin:
            raise WitnessError(f"{file} holds a checkpoint of {checkpoint.origin}, not of {log.origin}")
        return checkpoint.head


@contextmanager
def open_state(folder: Path, logs: Iterable[LogKeys]) -> Iterator[State]:
    """Give what the folder holds, which is made if absent; until the block ends no other process may use it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise WitnessError(f"{folder} cannot be used: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WitnessError(f"another witness uses {folder}: end it first, or name another folder") from error
        yield State(folder, logs)
    finally:
        os.close(lock)


def _file(folder: Path, origin: str) -> Path:
    """Return the file of a log; an origin may hold what no file name may."""
    return folder / f"{hashlib.sha256(origin.encode()).hexdigest()}.checkpoint"


def _sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
