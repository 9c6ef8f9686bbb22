"""What strangers can cause at will is counted, not repeated: one line a minute of each kind; and its count."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

PERIOD = 60.0
"""Seconds in which one kind is written once."""

# They speak of what anybody may send; what is an error of ours is never left out.
_STRANGERS = frozenset({"uvicorn.error"})


@dataclass
class _Kind:
    """The last record of a kind, when its period began, and how many came in it that were not written."""

    record: logging.LogRecord
    since: float
    more: int = 0


class SamplingHandler(logging.StreamHandler[TextIO]):
    """Writes a sampled record at once, and those like it as one line with their count, `more`, when a minute is over.

    A record is sampled when it says so, by `extra={"sampled": True}`, or when its logger speaks of strangers. Its kind
    is its logger and its text before values are put in.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write what is due, and the record unless one like it was written a moment ago."""
        for late in self._due(record.created):
            super().emit(late)
        if not _is_sampled(record) or self._is_first(record):
            super().emit(record)

    def close(self) -> None:
        """Write the counts that are not written yet."""
        for late in self._due(float("inf")):
            super().emit(late)
        super().close()

    def _is_first(self, record: logging.LogRecord) -> bool:
        kind = self._kinds.setdefault((record.name, str(record.msg)), _Kind(record, record.created))
        if kind.record is record:
            return True
        kind.record, kind.more = record, kind.more + 1
        return False

    def _due(self, now: float) -> Iterator[logging.LogRecord]:
        for key, kind in list(self._kinds.items()):
            if now - kind.since >= PERIOD:
                del self._kinds[key]
                if kind.more:
                    yield logging.makeLogRecord({**kind.record.__dict__, "more": kind.more})


def _is_sampled(record: logging.LogRecord) -> bool:
    wished = getattr(record, "sampled", False) or record.name in _STRANGERS
    return wished and record.levelno <= logging.WARNING
