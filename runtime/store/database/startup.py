"""Waits for a server that is starting."""

import logging
import time
from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.errors import ConnectionTimeout

from runtime.model.json_limits import first_line

PAUSE = 0.25
CONNECT_LIMIT = 5
"""Seconds that one attempt to connect may take."""

log = logging.getLogger(__name__)


def wait_until_up(dsn: str, patience: float, connection: Mapping[str, Any]) -> None:
    """Return when the server takes such a connection; raise OperationalError, with its reason, if it does not.

    A server that starts, or is not there yet, is waited for `patience` seconds; one that refuses us is not.
    """
    bounded = make_conninfo(dsn, connect_timeout=CONNECT_LIMIT)
    until = time.monotonic() + patience
    waiting = is_up = False
    while True:
        try:
            psycopg.connect(bounded, **connection).close()
            return
        except psycopg.OperationalError as error:
            if is_up or time.monotonic() >= until:
                raise
            # it may have come up since: only what it refuses then is refused
            is_up = not (isinstance(error, ConnectionTimeout) or _may_come_up(bounded))
            if not is_up and not waiting:
                log.warning("waiting up to %.0f s for the database: %s", patience, first_line(error))
                waiting = True
        time.sleep(0 if is_up else PAUSE)


def _may_come_up(dsn: str) -> bool:
    """Return whether nothing answers there, or something that is starting; a password that is refused is an answer."""
    return pq.PGconn.ping(dsn.encode()) in (pq.Ping.REJECT, pq.Ping.NO_RESPONSE)
