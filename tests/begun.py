"""What was played on a bench, brought back: the first bench plays it as the program does, later ones find its rows.

To store and activate a pack's definitions anew is hundreds of statements, and a world that every test of a module
begins with is as many again. All rows are kept, as COPY writes them, and stand in later databases as they stood there.
"""

from collections.abc import Mapping

from psycopg import Connection

from tests.databases import delete_all, filled, of_table, superuser

Rows = Mapping[str, bytes]
"""By table, its rows as COPY writes them, of those in which any stood."""


def rows_of(dsn: str) -> Rows:
    """Return all that is stored in a migrated database, by table."""
    with superuser(dsn) as conn:
        return {table: _copied(conn, table) for table in filled(conn)}


def bring_back(dsn: str, rows: Rows) -> None:
    """Have these rows and no others in a database, past every trigger: they are as the triggers left them."""
    with superuser(dsn) as conn:
        _put(conn, rows)


def begin_with(dsn: str, rows: Rows | None) -> bool:
    """Have these rows, if any, in a database in which no definition was ever stored; return whether it is one."""
    with superuser(dsn) as conn:
        is_untouched = "definitions" not in filled(conn)
        if is_untouched and rows is not None:
            _put(conn, rows)
        return is_untouched


def _put(conn: Connection, rows: Rows) -> None:
    delete_all(conn)
    with conn.transaction():
        for table, copied in rows.items():
            with conn.cursor().copy(of_table("COPY {} FROM STDIN", table)) as copy:
                copy.write(copied)


def _copied(conn: Connection, table: str) -> bytes:
    with conn.cursor().copy(of_table("COPY {} TO STDOUT", table)) as copy:
        return b"".join(bytes(part) for part in copy)
