"""Buffered connections: they know when a transaction is committed, and take few round trips to the database.

A round trip costs what the way to PostgreSQL costs, so what can wait for others does: BEGIN goes with a transaction's
first statement, what is buffered or put with the next statement of another sort, COMMIT with the last write, and reads
that are wanted at the same moment go together. Statements reach PostgreSQL in the order in which they were given.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from psycopg import AsyncConnection, AsyncCursor, Error, InterfaceError, ProgrammingError
from psycopg.errors import InFailedSqlTransaction, InvalidTextRepresentation, UniqueViolation
from psycopg.rows import DictRow
from psycopg.types.json import set_json_loads

from runtime.store.database import write_buffer
from runtime.store.database.write_buffer import WriteBuffer, WriteKind

_TURNS = 3
"""Turns of the loop for which the first waits for the others: what comes through a queue (`Batcher`) takes two more."""


@dataclass(frozen=True)
class Statement:
    """A statement as psycopg takes it; `gathered` is what it writes, where that is known."""

    query: Any
    params: Any = None
    how: Mapping[str, Any] = field(default_factory=dict)
    gathered: WriteBuffer | None = None


@dataclass(frozen=True)
class Pending:
    """A statement that waits for the others; who gave the first one sends them all."""

    statement: Statement
    result: asyncio.Future[AsyncCursor[DictRow]]
    is_first: bool


class SharedTrip:
    """Statements that were given at the same moment of the loop."""

    def __init__(self) -> None:
        self._pending: list[Pending] = []

    def add(self, statement: Statement) -> Pending:
        """Have a statement go with the others."""
        new = Pending(statement, asyncio.get_running_loop().create_future(), is_first=not self._pending)
        self._pending.append(new)
        return new

    async def send(self, send_all: Callable[[Sequence[Statement]], Awaitable[Sequence[AsyncCursor[DictRow]]]]) -> None:
        """Send all that are added at this moment; each gets its result, or the error of all."""
        pending = self._pending
        try:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            self._pending = []
            cursors = await send_all([one.statement for one in pending])
            for one, cursor in zip(pending, cursors, strict=True):
                if not one.result.done():  # its task may have been canceled
                    one.result.set_result(cursor)
        except Exception as error:  # noqa: BLE001 - it is for those who wait
            for one in pending:
                if not one.result.done():
                    one.result.set_exception(error)
        except asyncio.CancelledError:
            self._pending = self._pending if self._pending is not pending else []
            for one in pending:
                if not (one.is_first or one.result.done()):
                    one.result.set_exception(InterfaceError("a statement was given up with the one it went with"))
            raise


async def at_once(*reads: Awaitable[Any]) -> Sequence[Any]:
    """Return what several reads on one connection give, in order; when this raises, none of them goes on."""
    found = await asyncio.gather(*reads, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found


Params = Mapping[str, Any] | Sequence[Any]

log = logging.getLogger(__name__)


class BufferedConnection(AsyncConnection[DictRow]):
    """Does what `on_commit` is given once the outermost transaction is committed; forgets it if it is rolled back.

    What is gathered is written by one statement before the commit, or before the next statement of another sort, so
    that nobody on this connection can tell the difference.
    """

    begins: ClassVar[Sequence[str]] = ("BEGIN",)

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        set_json_loads(write_buffer.read_json, self)
        self._waiting: list[Callable[[], None]] = []
        self._gathered = WriteBuffer()
        self._unsent: list[Statement] = []  # goes before the next statement
        self._shared = SharedTrip()
        self._sending = asyncio.Lock()
        self._in_transaction = self._has_begun = False
        self._executions: dict[int, int] = {}  # of statements, by their hash

    def on_commit(self, tell: Callable[[], None]) -> None:
        """Do this after the commit."""
        self._waiting.append(tell)

    async def gather(self, kind: WriteKind, row: Sequence[Any]) -> None:
        """Have a row written together with others of this transaction, without which nobody would ever write it."""
        if not self._in_transaction:
            raise ProgrammingError(f"a row of {kind.table} was gathered outside a transaction")
        if self._gathered.holds(kind, row):
            self._queue()
        self._gathered.add(kind, row)

    def amend(self, kind: WriteKind, key: Sequence[Any], **values: Any) -> bool:
        """Have columns of a gathered row written otherwise; False where there is no such row, or it is written."""
        return self._gathered.amend(kind, key, values)

    async def write(self) -> None:
        """Write what is gathered and unsent; raise what a kind says of a row that took no effect."""
        async with self._sending:
            self._queue()
            await self._send_all()

    def _queue(self) -> None:
        """Have what is gathered written before whatever comes next."""
        if self._gathered.rows:
            gathered, self._gathered = self._gathered, WriteBuffer()
            query, values = gathered.take()
            self._unsent.append(Statement(query.encode(), values, gathered=gathered))

    def put(self, query: str, values: Mapping[str, Any]) -> None:
        """Have something written before whatever comes next, which raises its error; its result is not to be had."""
        if not self._in_transaction:
            raise ProgrammingError("a statement was put off outside a transaction")
        self._queue()
        self._unsent.append(Statement(query.encode(), values))

    async def execute(self, query: Any, params: Any = None, **named: Any) -> AsyncCursor[DictRow]:
        """Do as psycopg does, after what is gathered."""
        async with self._sending:
            self._queue()
            (cursor,) = await self._send_all(Statement(query, params, named))
        return cursor

    async def rows(self, query: str, params: Params | None = None, *, binary: bool = False) -> list[DictRow]:
        """Return the rows that a statement gives, after what is gathered."""
        return await (await self.execute(query.encode(), params, binary=binary)).fetchall()

    async def row(self, query: str, params: Params | None = None) -> DictRow | None:
        """Return the first row that a statement gives, None where it gives none, after what is gathered."""
        return await (await self.execute(query.encode(), params)).fetchone()

    async def execute_many(self, query: str, rows: Sequence[Any]) -> None:
        """Execute a statement once for each of the rows, after what is gathered."""
        async with self._sending:
            self._queue()
            await self._send_all()
            await self.cursor().executemany(query.encode(), rows)

    async def look(self, query: str, values: Mapping[str, Any], *, table: str, keys: Collection[str]) -> list[DictRow]:
        """Return rows, read past what is gathered, unless that changes rows of `table` with one of `keys` as first key.

        Those who look at the same moment share a round trip.
        """
        if self._gathered.changes(table, keys):
            self._queue()
        return await (await self._read(query, values)).fetchall()

    async def read(self, query: str, values: Params) -> list[DictRow]:
        """Return rows, read after what is gathered; those who read at the same moment share a round trip."""
        self._queue()
        return await (await self._read(query, values)).fetchall()

    async def read_row(self, query: str, values: Params) -> DictRow | None:
        """Return the first of the rows that `read` returns, None where there is none."""
        return next(iter(await self.read(query, values)), None)

    async def _read(self, query: str, values: Params) -> AsyncCursor[DictRow]:
        pending = self._shared.add(Statement(query.encode(), values))
        if pending.is_first:
            await self._shared.send(self._send_together)
        return await pending.result

    async def _send_together(self, statements: Sequence[Statement]) -> Sequence[AsyncCursor[DictRow]]:
        async with self._sending:
            return await self._send_all(*statements)

    async def _send_all(self, *statements: Statement) -> Sequence[AsyncCursor[DictRow]]:
        """Send what is unsent, and then these, in one round trip; return the cursors of these."""
        before, self._unsent = self._unsent, []
        sent = [*before, *statements]
        self._has_begun = self._has_begun or (self._in_transaction and bool(sent))
        prepared = sum(map(self._is_prepared_now, sent))
        try:
            if len(sent) > 1 or prepared:
                async with self.pipeline():
                    cursors = [await self._send(one) for one in sent]
            else:
                cursors = [await self._send(one) for one in sent]
        except Error as error:
            self._unprepare()
            if not isinstance(error, UniqueViolation | InvalidTextRepresentation):
                raise
            refused = (one.gathered.refusal(error) for one in sent if one.gathered)
            raise next(filter(None, refused), error) from error
        return cursors[len(before) :]

    def _unprepare(self) -> None:
        """Have nothing taken for prepared after an error: what came behind it in its round trip is not.

        A transaction is rolled back after one, with which psycopg does so itself; there is nothing public to call.
        """
        if not self._in_transaction:
            self._executions.clear()
            self._prepared.clear()

    def _is_prepared_now(self, one: Statement) -> bool:
        """Return whether psycopg prepares a statement now, which is one more to send: at its second execution."""
        key = hash(one.query)
        self._executions[key] = self._executions.get(key, 0) + 1
        return self._executions[key] == self.prepare_threshold + 1 if self.prepare_threshold else False

    async def _send(self, one: Statement) -> AsyncCursor[DictRow]:
        return await super().execute(one.query, one.params, **one.how)

    @asynccontextmanager
    async def transaction(  # type: ignore[override]  # ours begins with its first statement, and gives nothing
        self,
        savepoint_name: str | None = None,
        force_rollback: bool = False,  # noqa: FBT001, FBT002 - psycopg's
    ) -> AsyncIterator[None]:
        """Do what the block does in a transaction, or in a savepoint of one, and then tell."""
        if self._in_transaction:
            async with self._savepoint(savepoint_name, force_rollback):
                yield
            return
        self._waiting.clear()
        self._unsent = [Statement(text) for text in self.begins]
        self._in_transaction, self._has_begun = True, False
        try:
            yield
            await (self._undo() if force_rollback else self._commit())
        except BaseException:
            await self._undo()
            raise
        finally:
            self._in_transaction = False
            self._forget()
        waiting, self._waiting = self._waiting, []
        for tell in waiting if not force_rollback else ():
            tell()

    @asynccontextmanager
    async def _savepoint(self, name: str | None, force_rollback: bool) -> AsyncIterator[None]:  # noqa: FBT001 - psycopg's
        """Write what is gathered before and in the block; where it fails, nothing of the block is written after all."""
        await self.write()
        async with super().transaction(name, force_rollback):
            try:
                yield
                await self.write()
            finally:
                self._forget()

    async def _commit(self) -> None:
        """Commit together with the last write, which fails, and the commit with it, where that took no effect.

        Behind a pooler a transaction begins with more than BEGIN, and none is sent as one statement.
        """
        async with self._sending:
            self._queue()
            writes = self._unsent[len(self.begins) :]
            if not self._has_begun and not writes:
                return  # nothing was asked of the database
            if not self._has_begun and len(writes) == len(self.begins) == 1:
                self._unsent, self._in_transaction = writes, False  # one statement is a transaction by itself
                await self._send_all()
                return
            (ended,) = await self._send_all(Statement("COMMIT"))
        if ended.statusmessage != "COMMIT":  # an error was caught on the way, so PostgreSQL has rolled back
            raise InFailedSqlTransaction("a transaction in which a statement had failed was rolled back")

    async def _undo(self) -> None:
        """Roll back; an error of that is not what the caller has to hear of."""
        self._forget()
        try:
            async with self._sending:
                self._executions.clear()  # with which psycopg forgets what it has prepared
                await self.rollback()
        except Error as error:
            log.warning("a transaction was not rolled back, and its connection is given up: %s", type(error).__name__)

    def _forget(self) -> None:
        """Forget what is not written: the next statement must not write it after all."""
        self._gathered, self._unsent = WriteBuffer(), []
