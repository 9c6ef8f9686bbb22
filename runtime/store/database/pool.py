"""The connection pool: autocommit, rows as dicts, transactions only where written; waiting for a starting server."""

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo
from psycopg.errors import ConnectionTimeout
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from runtime.model.limits import first_line
from runtime.store.database.buffered_connection import BufferedConnection

# A process that stands still in the middle of a transaction must not hold a run, and with it every sweep, for good.
_LIMITS = {"idle_in_transaction_session_timeout": "15s", "lock_timeout": "10s"}
# A statement of ours touches a few rows by their keys, and a plan that reads a whole table, or is made anew for each
# execution, costs more than the rest of it: without an index PostgreSQL reads the table all the same.
_PLANS = {
    **dict.fromkeys(("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"), "off"),
    "plan_cache_mode": "force_generic_plan",
}
_KEEPALIVES = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3}

PATIENCE = 10.0
"""Seconds that somebody waits for a connection of the pool."""

AT_HAND, REST = 4, 1000
"""Connections that are kept at hand; and of so many uses, one after which the connection goes back to the others."""

AWAY = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)
"""What is raised while PostgreSQL cannot be reached, or takes no writes: the same may be written a moment later."""

Conn = BufferedConnection


class _Remembered(BufferedConnection):
    """A connection whose class knows why the last one could not be made; each pool has a class of its own."""

    why: ClassVar[str] = ""

    @classmethod
    async def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
        """Connect, and remember what was said where that fails."""
        try:
            conn = await super().connect(conninfo, **kwargs)
        except psycopg.Error as error:
            cls.why = first_line(error)
            raise
        cls.why = ""
        return conn


class _Shared(_Remembered):
    """A connection that a pooler shares out by transaction: each begins with the limits that our own session has."""

    begins = ("BEGIN", *(f"SET LOCAL {name} = '{value}'" for name, value in _LIMITS.items()))


class Pool(AsyncConnectionPool[Conn]):
    """A pool that gives what was given back last, and says why it has no connection to give.

    The library gives the one that has rested longest, so that where little happens each statement meets a connection
    that has not prepared it. A few are therefore kept at hand; in between they go back, to be looked at for their age.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._at_hand: list[Conn] = []
        self._uses = 0
        self._wanting = 0  # that wait for the library

    async def getconn(self, timeout: float | None = None) -> Conn:  # noqa: ASYNC109 - psycopg's signature
        """Return a connection, or raise PoolTimeout with the reason."""
        self._uses += 1
        while self._at_hand:
            if not (conn := self._at_hand.pop()).closed:
                return conn
            await super().putconn(conn)
        self._wanting += 1
        try:
            return await self._wait_for_one(timeout)
        except PoolTimeout as error:
            why = getattr(self.connection_class, "why", "") or f"all {self.max_size} are in use"
            raise PoolTimeout(f"{error}: {why}") from error
        finally:
            self._wanting -= 1

    async def _wait_for_one(self, timeout: float | None) -> Conn:  # noqa: ASYNC109 - psycopg's signature
        """Return a connection of the library's, unless the task was canceled: `wait_for`, which that uses, loses it."""
        task = asyncio.current_task()
        before = task.cancelling() if task else 0
        conn = await super().getconn(timeout)
        if task and task.cancelling() > before:
            await super().putconn(conn)
            raise asyncio.CancelledError
        return conn

    async def putconn(self, conn: Conn) -> None:
        """Take a connection back."""
        is_idle = conn.pgconn.transaction_status == TransactionStatus.IDLE
        if is_idle and not self._wanting and not self.closed and len(self._at_hand) < AT_HAND and self._uses % REST:
            self._at_hand.append(conn)
        else:
            await super().putconn(conn)

    async def close(self, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - psycopg's signature
        """Close every connection."""
        at_hand, self._at_hand = self._at_hand, []
        await super().close(timeout)
        for conn in at_hand:
            await super().putconn(conn)


def make_pool(dsn: str, *, size: int, behind_pooler: bool, **connection: Any) -> Pool:
    """Return an unopened pool of `size` connections to `dsn`; open it with ``async with``."""
    base = _Shared if behind_pooler else _Remembered
    kwargs: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, **limits(behind_pooler), **connection}
    own: type[_Remembered] = type("Connection", (base,), {})
    return Pool(dsn, connection_class=own, min_size=1, max_size=size, kwargs=kwargs, open=False, timeout=PATIENCE)


def limits(behind_pooler: bool) -> dict[str, Any]:  # noqa: FBT001 - says itself what it means
    """Return what each connection is made with: limits and plans, or where a pooler forbids them nothing prepared."""
    if behind_pooler:
        return {**_KEEPALIVES, "prepare_threshold": None}
    own = {**_LIMITS, **_PLANS}
    options = " ".join(f"-c {name}={value}" for name, value in own.items())
    return {**_KEEPALIVES, "prepare_threshold": 1, "options": options}  # each connection learns by itself, so early


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
