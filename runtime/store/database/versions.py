"""Tells at which migration a database stands, without the library that migrates."""

from typing import Any

import psycopg

VERSIONS = "alembic_version"
"""The table that has the database's migration."""

NEWEST = "0001"
"""The migration that this program was written for: the last one in `runtime/store/schema/versions/`."""

UNRELEASED = frozenset({"0002"})
"""Migrations that only unreleased versions had. No step ever gets such a number, so it tells their databases."""


def current_version(conn: psycopg.Connection[Any]) -> str | None:
    """Return the migration of the database, None where it has none."""
    with conn.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
        (table,) = cursor.execute("SELECT to_regclass('alembic_version')").fetchone() or (None,)
        found = cursor.execute("SELECT version_num FROM alembic_version").fetchone() if table else None
    return found[0] if found else None


def versions(dsn: str) -> tuple[str | None, str]:
    """Return (the database's migration, the newest one)."""
    with psycopg.connect(dsn, prepare_threshold=None) as conn:
        return current_version(conn), NEWEST


def remedy(current: str | None) -> str:
    """Return what to do about a database that is not at the newest migration."""
    if current in UNRELEASED:
        return "make a new database; one of an unreleased version cannot be upgraded"
    if current is not None and current > NEWEST:
        return "update this program, or point it at another database: a newer program migrated this one"
    return "run `countersign migrate`"
