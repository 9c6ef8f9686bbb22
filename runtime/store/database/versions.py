"""Tells at which migration a database stands, without the library that migrates."""

import psycopg

NEWEST = "0002"
"""The migration that this program was written for: the last one in `runtime/store/migrations/versions/`."""


def versions(dsn: str) -> tuple[str | None, str]:
    """Return (the database's migration, the newest one)."""
    with psycopg.connect(dsn, prepare_threshold=None) as conn:
        (table,) = conn.execute("SELECT to_regclass('alembic_version')").fetchone() or (None,)
        found = conn.execute("SELECT version_num FROM alembic_version").fetchone() if table else None
    return (found[0] if found else None), NEWEST
