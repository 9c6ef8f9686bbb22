"""Connections that know when a transaction is committed: what waits for that is written, and told, then."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncConnection, AsyncCursor, AsyncTransaction, ProgrammingError
from psycopg.errors import UniqueViolation
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow
from psycopg.types.json import set_json_loads

from runtime.store.database import documents
from runtime.store.database.gathered import Gathered, Kind


class TellingConnection(AsyncConnection[DictRow]):
    """Does what `on_commit` is given once the outermost transaction is committed; forgets it if it is rolled back.

    What is gathered is written by one statement before the commit, or before the next statement of another sort, so
    that nobody on this connection can tell the difference.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        set_json_loads(documents.read, self)
        self._waiting: list[Callable[[], None]] = []
        self._gathered = Gathered()

    def on_commit(self, tell: Callable[[], None]) -> None:
        """Do this after the commit."""
        self._waiting.append(tell)

    async def gather(self, kind: Kind, row: Sequence[Any]) -> None:
        """Have a row written together with others of this transaction, without which nobody would ever write it."""
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            raise ProgrammingError(f"a row of {kind.table} was gathered outside a transaction")
        if self._gathered.holds(kind, row):
            await self.write()
        self._gathered.add(kind, row)

    def amend(self, kind: Kind, key: Sequence[Any], **values: Any) -> bool:
        """Have columns of a gathered row written otherwise; False where there is no such row, or it is written."""
        return self._gathered.amend(kind, key, values)

    async def write(self) -> None:
        """Write what is gathered; raise what a kind says of a row that took no effect."""
        if not self._gathered.rows:
            return
        gathered, self._gathered = self._gathered, Gathered()
        query, values = gathered.take()
        try:
            found = await (await super().execute(query.encode(), values)).fetchone()
        except UniqueViolation as error:
            raise gathered.taken(error.diag.constraint_name) or error from error
        if lost := gathered.lost(found or {}):
            raise lost

    async def execute(self, *arguments: Any, **named: Any) -> AsyncCursor[DictRow]:
        """Do as psycopg does, after what is gathered."""
        await self.write()
        return await super().execute(*arguments, **named)

    async def look(
        self, query: str, values: Mapping[str, Any], *, table: str, keys: Collection[str]
    ) -> AsyncCursor[DictRow]:
        """Read past what is gathered, unless it is to change rows of `table` whose first key is one of `keys`."""
        if self._gathered.changes(table, keys):
            await self.write()
        return await super().execute(query.encode(), values)

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Write what the block gathers; where it fails, forget it: the next statement must not write it after all."""
        try:
            yield
            await self.write()
        finally:
            self._gathered = Gathered()

    @asynccontextmanager
    async def transaction(
        self,
        savepoint_name: str | None = None,
        force_rollback: bool = False,  # noqa: FBT001, FBT002 - psycopg's
    ) -> AsyncIterator[AsyncTransaction]:
        """Do as psycopg does, and then tell."""
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            await self.write()
            async with super().transaction(savepoint_name, force_rollback) as tx, self._writing():
                yield tx
            return
        self._waiting.clear()
        async with super().transaction(savepoint_name, force_rollback) as tx, self._writing():
            yield tx
        waiting, self._waiting = self._waiting, []
        for tell in waiting if not force_rollback else ():
            tell()
