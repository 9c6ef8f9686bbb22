"""What of our talk with Slack may stand in the log: no payload, and no address that opens a connection."""

import logging
import re

_TICKET = re.compile(r"(ticket=)[^&\s'\"]+")


class _Discretion(logging.Filter):
    """Takes tickets out of messages, and traces, which quote them, out of records."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Clean the record, and let it pass."""
        record.msg, record.args = _TICKET.sub(r"\1…", record.getMessage()), ()
        record.exc_info = record.exc_text = None
        return True


_DISCRETION = _Discretion()


def slack_logger() -> logging.Logger:
    """Return the logger for Bolt and the SDK. Both write whole payloads at DEBUG, whatever the root logger says."""
    logger = logging.getLogger("bot.slack")
    logger.setLevel(logging.INFO)
    logger.addFilter(_DISCRETION)
    return logger


class Tally:
    """Counts what would fill the log: a line at the first time, the second, the fourth, the eighth and so on."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.count = 0

    def add(self) -> None:
        """Count one more."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            slack_logger().warning("%s: %s so far", self._what, self.count)
