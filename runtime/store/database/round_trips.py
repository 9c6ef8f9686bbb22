"""Statements that share a round trip to the database: those that are wanted at the same moment go together."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncCursor, InterfaceError
from psycopg.rows import DictRow

from runtime.store.database.gathered import Gathered

_TURNS = 3
"""Turns of the loop for which the first waits for the others: what comes through a queue (`Batches`) takes two more."""


@dataclass(frozen=True)
class Statement:
    """A statement as psycopg takes it; `gathered` is what it writes, where that is known."""

    query: Any
    params: Any = None
    how: Mapping[str, Any] = field(default_factory=dict)
    gathered: Gathered | None = None


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
