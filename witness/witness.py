"""The witness: decides whether a checkpoint continues what it saw of the log before, and never forgets that.

Of each log it keeps the last checkpoint that it cosigned, in a folder of its own. A file holds the checkpoint as the
log signed it. It is replaced whole, and is on disk before its name is: whatever ends the process, the folder tells the
last checkpoint that may have been cosigned, or a later one.
"""

import fcntl
import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from receipts.add_checkpoint import AddCheckpoint, parse_request
from receipts.checkpoint import Checkpoint, LogKeys, open_checkpoint, parse_checkpoint
from receipts.errors import LogError, NoteError, ProofError
from receipts.hashes import EMPTY_ROOT, TreeHead
from receipts.note import Note, NoteSigner, parse_note, signature_line, verified
from receipts.proofs import verify_consistency
from witness.errors import OtherSizeError, RefusedError, WitnessError

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


Now = Callable[[], int]
"""Gives the present moment in seconds since 1970."""

_SAMPLED = {"sampled": True}
"""Whoever has such a checkpoint may send it again and again."""

log = logging.getLogger(__name__)


class Witness:
    """Cosigns the checkpoints of the logs that it knows. It may be called from many threads at once."""

    def __init__(self, signer: NoteSigner, logs: Iterable[LogKeys], state: State, now: Now) -> None:
        self._signer = signer
        self._logs = {one.origin: one for one in logs}
        self._locks = {origin: threading.Lock() for origin in self._logs}
        self._state = state
        self._now = now

    def add_checkpoint(self, body: bytes) -> str:
        """Return the line of the cosignature, or raise RefusedError; OSError where it could not be recorded.

        The order is that of c2sp.org/tlog-witness.

        1. The body has its form.
        2. The log is known by its origin.
        3. A key of the log signed the checkpoint, and no signature of one is wrong.
        4. The old size is not above the new one.
        5. It is the one that was last cosigned, and the same size has the same root.
        6. The proof shows that the log has only grown.
        7. The checkpoint is recorded before it is cosigned. From 5 on the log is held: no other request comes between.
        """
        request, checkpoint = _parsed(body)  # 1
        origin, head, note = checkpoint.origin, checkpoint.head, request.checkpoint
        known = self._logs.get(origin)
        if known is None:  # 2
            raise RefusedError(404, "the log is not known here")
        _check_signed(note, known)  # 3
        if request.old_size > head.size:  # 4
            raise RefusedError(400, f"the old size {request.old_size} is above the checkpoint's size {head.size}")
        with self._locks[origin]:
            last = self._state.last(origin)
            _check_continues(request, checkpoint, last)  # 5, 6
            if head != last:
                self._state.keep(origin, head, note)  # 7
            return signature_line(self._signer.cosign(note.text, self._now()))


def _parsed(body: bytes) -> tuple[AddCheckpoint, Checkpoint]:
    try:
        request = parse_request(body)
        return request, parse_checkpoint(request.checkpoint.text)
    except LogError as error:
        raise RefusedError(400, str(error)) from error


def _check_signed(note: Note, known: LogKeys) -> None:
    try:
        open_checkpoint(note, known)
    except NoteError as error:
        raise RefusedError(403, str(error)) from error


def _check_continues(request: AddCheckpoint, checkpoint: Checkpoint, last: TreeHead) -> None:
    head = checkpoint.head
    if request.old_size != last.size:
        raise OtherSizeError(last.size)
    if head.size == last.size and head.root != last.root:
        # Two signed roots of one size are proof that the log forked: the other one stands in our folder.
        text = checkpoint.text()
        log.error("a log has forked, it signed another root than we cosigned:\n%s", text, extra=_SAMPLED)
        raise RefusedError(409, f"another root of {last.size} leaves was cosigned")
    try:
        verify_consistency(last, head, request.proof)
    except ProofError as error:
        log.warning("not cosigned, of %s: %s", checkpoint.origin, error, extra=_SAMPLED)
        raise RefusedError(422, str(error)) from error
