"""The checkpoint of a bundle: what was signed of the log in which its leaves stand."""

from evidence import names
from evidence.verify.contents import BrokenError, Contents
from receipts.log.checkpoint import Checkpoint, open_checkpoint, parse_checkpoint
from receipts.log.errors import LogError
from receipts.log.note import parse_note


def read_checkpoint(contents: Contents) -> Checkpoint:
    """Return the bundle's checkpoint, or raise BrokenError where it has none or one that does not count."""
    log = contents.trust.log
    try:
        note = parse_note(contents.member(names.CHECKPOINT))
        return open_checkpoint(note, log) if log else parse_checkpoint(note.text)
    except LogError as error:
        raise BrokenError(names.CHECKPOINT, str(error)) from error


def checkpoint_of(contents: Contents) -> Checkpoint | None:
    """Return the checkpoint of a bundle, or None where it has none and no key of a log is given."""
    if names.CHECKPOINT not in contents.members and contents.trust.log is None:
        return None
    return read_checkpoint(contents)
