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
class Seat:
    """The place of a statement in the company; whoever has the first one makes it fly."""

    statement: Statement
    result: asyncio.Future[AsyncCursor[DictRow]]
    is_first: bool


class Company:
    """Statements that were given at the same moment of the loop."""

    def __init__(self) -> None:
        self._seats: list[Seat] = []

    def take_seat(self, statement: Statement) -> Seat:
        """Have a statement go with the others."""
        seat = Seat(statement, asyncio.get_running_loop().create_future(), is_first=not self._seats)
        self._seats.append(seat)
        return seat

    async def fly(self, send: Callable[[Sequence[Statement]], Awaitable[Sequence[AsyncCursor[DictRow]]]]) -> None:
        """Send all that take a seat at this moment; each seat gets its result, or the error of all."""
        seats = self._seats
        try:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            self._seats = []
            for seat, cursor in zip(seats, await send([seat.statement for seat in seats]), strict=True):
                if not seat.result.done():  # whoever wanted it may have gone
                    seat.result.set_result(cursor)
        except Exception as error:  # noqa: BLE001 - it is for those who wait
            for seat in seats:
                if not seat.result.done():
                    seat.result.set_exception(error)
        except asyncio.CancelledError:
            self._seats = self._seats if self._seats is not seats else []
            for seat in seats:
                if not (seat.is_first or seat.result.done()):
                    seat.result.set_exception(InterfaceError("a statement was given up with the one it went with"))
            raise


async def at_once(*reads: Awaitable[Any]) -> Sequence[Any]:
    """Return what several reads on one connection give, in order; when this raises, none of them goes on."""
    found = await asyncio.gather(*reads, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found
