"""Saved lists of runs: a name, filters, and the ids that these found; a list that was deleted is found no more."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.errors import UniqueViolation

from runtime.store.database.pool import Conn


class NameTakenError(Exception):
    """Another list of the tenant has the name."""


@dataclass(frozen=True)
class NewRunList:
    """A list that a person saves; `run_ids` are those found now, the newest run first."""

    list_id: str
    name: str
    filters: Mapping[str, str]
    run_ids: Sequence[str]
    saved_by: str
    saved_at: datetime


_SHOWN = """
    SELECT l.list_id, l.name, l.filters, json_array_length(l.run_ids) AS runs, l.saved_by, l.saved_at,
           coalesce((SELECT nullif(p.name, '') FROM actors p WHERE p.tenant = l.tenant AND p.actor_id = l.saved_by),
                    l.saved_by) AS saver_name
"""


async def add_list(conn: Conn, tenant: str, new: NewRunList) -> None:
    """Write a list; raise NameTakenError, after which the transaction is over."""
    query = """
        INSERT INTO run_lists (list_id, tenant, name, filters, run_ids, saved_by, saved_at)
        VALUES (%s, %s, %s, %s, %s, %s, %s)
    """
    filters, ids = json.dumps(dict(new.filters)), json.dumps(list(new.run_ids))
    try:
        await conn.execute(query, (new.list_id, tenant, new.name, filters, ids, new.saved_by, new.saved_at))
    except UniqueViolation as error:
        raise NameTakenError from error


async def delete_list(conn: Conn, tenant: str, list_id: str, by: str, at: datetime) -> str | None:
    """Delete a list; return its name, or None where there is no such list."""
    query = """
        UPDATE run_lists SET deleted_by = %s, deleted_at = %s
         WHERE tenant = %s AND list_id = %s AND deleted_at IS NULL RETURNING name
    """
    row = await conn.row(query, (by, at, tenant, list_id))
    return str(row["name"]) if row else None


async def list_lists(conn: Conn, tenant: str, limit: int) -> list[dict[str, Any]]:
    """Return the tenant's lists without their ids, the newest first."""
    query = f"{_SHOWN} FROM run_lists l WHERE l.tenant = %s AND l.deleted_at IS NULL ORDER BY l.saved_at DESC LIMIT %s"
    return await conn.rows(query, (tenant, limit))


async def find_list(conn: Conn, tenant: str, list_id: str) -> dict[str, Any] | None:
    """Return a list with its ids, or None."""
    query = f"{_SHOWN}, l.run_ids FROM run_lists l WHERE l.tenant = %s AND l.list_id = %s AND l.deleted_at IS NULL"
    return await conn.row(query, (tenant, list_id))


async def count_lists(conn: Conn, tenant: str) -> int:
    """Return how many lists the tenant has."""
    row = await conn.row("SELECT count(*) FROM run_lists WHERE tenant = %s AND deleted_at IS NULL", (tenant,))
    return int(row["count"]) if row else 0
