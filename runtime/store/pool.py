"""Connections to PostgreSQL for the hot path: autocommit, rows as dicts, transactions only where written."""

from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

Conn = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Conn]


def make_pool(dsn: str, *, size: int = 10, **connection: Any) -> Pool:
    """Return an unopened pool of `size` connections to `dsn`; open it with ``async with``."""
    kwargs: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, **connection}
    return AsyncConnectionPool(dsn, min_size=1, max_size=size, kwargs=kwargs, open=False, timeout=10)
