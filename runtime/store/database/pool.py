"""Connections to PostgreSQL for the hot path: autocommit, rows as dicts, transactions only where written."""

from typing import Any

from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from runtime.store.database.commits import TellingConnection

# A process that stands still in the middle of a transaction must not hold a run, and with it every sweep, for good.
_PATIENCE = {
    "options": "-c idle_in_transaction_session_timeout=15s -c lock_timeout=10s",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}

Conn = TellingConnection
Pool = AsyncConnectionPool[Conn]


def make_pool(dsn: str, *, size: int = 10, **connection: Any) -> Pool:
    """Return an unopened pool of `size` connections to `dsn`; open it with ``async with``."""
    kwargs: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, **_PATIENCE, **connection}
    return AsyncConnectionPool(
        dsn, connection_class=Conn, min_size=1, max_size=size, kwargs=kwargs, open=False, timeout=10
    )
