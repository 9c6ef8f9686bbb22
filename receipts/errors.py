"""Errors: the base of all that this package raises.

About a log, it is a proof, a note, a checkpoint or a tile that does not hold.
"""


class ReceiptsError(Exception):
    """Something could not be put on record, or a record does not hold; the message says what and where."""


class LogError(ReceiptsError):
    """Something of a log cannot be made or does not hold; the message says what."""


class ProofError(LogError):
    """An inclusion or consistency proof does not hold, or cannot be made of this log."""


class NoteError(LogError):
    """A note or a verifier key is malformed, or a note is not signed as it must be."""


class CheckpointError(LogError):
    """A checkpoint is malformed, or is of another log."""


class TileError(LogError):
    """A tile or an entry bundle is not what its place in the log says."""
