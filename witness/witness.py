"""What a witness decides: whether a checkpoint continues what it saw of the log before."""

import logging
import threading
from collections.abc import Callable, Iterable

from receipts.log.add_checkpoint import AddCheckpoint, parse_request
from receipts.log.checkpoint import Checkpoint, LogKeys, open_checkpoint, parse_checkpoint
from receipts.log.errors import LogError, NoteError, ProofError
from receipts.log.hashes import TreeHead
from receipts.log.keys import NoteSigner
from receipts.log.note import Note, signature_line
from receipts.log.proofs import verify_consistency
from witness.errors import OtherSizeError, RefusedError
from witness.state import State

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
