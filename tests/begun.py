"""What was played on a bench, brought back: the first bench plays it as the program does, later ones find its rows.

To store and activate a pack's definitions anew is hundreds of statements, and a world that every test of a module
begins with is as many again. All rows are kept, as COPY writes them, and stand in later databases as they stood there.
"""

from collections.abc import Mapping

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed, Identifier

Rows = Mapping[str, bytes]
"""By table, its rows as COPY writes them; a table without any may stand in it or not."""

_TABLES = """
    SELECT relname FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
    AND pg_relation_size(oid) > 0 ORDER BY relname
"""
"""Those in which anything ever stood: in a fresh database hardly any, and to delete from each takes a while."""


async def rows_of(dsn: str) -> Rows:
    """Return all that is stored in a migrated database, by table."""
    async with await AsyncConnection.connect(dsn) as conn:
        return {table: await _copied(conn, table) for table in await _tables(conn)}


async def bring_back(dsn: str, rows: Rows) -> None:
    """Have these rows and no others in a database, past every trigger: they are as the triggers left them."""
    async with await AsyncConnection.connect(dsn) as conn:
        await _put(conn, rows)


async def begin_with(dsn: str, rows: Rows | None) -> bool:
    """Have these rows, if any, in a database in which no definition was ever stored; return whether it is one."""
    async with await AsyncConnection.connect(dsn) as conn:
        is_untouched = await (await conn.execute("SELECT FROM definitions LIMIT 1")).fetchone() is None
        if is_untouched and rows is not None:
            await _put(conn, rows)
        return is_untouched


async def _put(conn: AsyncConnection, rows: Rows) -> None:
    await conn.execute("SET session_replication_role = replica")
    for table in await _tables(conn):
        await conn.execute(_of("DELETE FROM {}", table))
    for table, copied in rows.items():
        if copied:
            async with conn.cursor().copy(_of("COPY {} FROM STDIN", table)) as copy:
                await copy.write(copied)


async def _tables(conn: AsyncConnection) -> list[str]:
    return [str(table) for (table,) in await (await conn.execute(_TABLES)).fetchall()]


async def _copied(conn: AsyncConnection, table: str) -> bytes:
    async with conn.cursor().copy(_of("COPY {} TO STDOUT", table)) as copy:
        return b"".join([bytes(part) async for part in copy])


def _of(statement: str, table: str) -> Composed:
    return SQL(statement).format(Identifier(table))
