"""The queue in front of work that is cheaper in sets."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from runtime.store.database.pool import AWAY

T = TypeVar("T")
R = TypeVar("R")


Found = Sequence[R | Exception | Coroutine[Any, Any, R | Exception]]

log = logging.getLogger(__name__)


def apart(do: Callable[[Sequence[T]], Awaitable[Found[R]]]) -> Callable[[Sequence[T]], Awaitable[Found[R]]]:
    """Return what does the same, but takes a set apart that fails: each piece is then done, and fails, by itself."""

    async def one(piece: T) -> R | Exception:
        (found,) = await do([piece])
        return await found if asyncio.iscoroutine(found) else found

    async def together(pieces: Sequence[T]) -> Found[R]:
        try:
            return await do(pieces)
        except AWAY:
            raise
        except Exception:
            if len(pieces) == 1:
                raise
            log.debug("a set of %d is taken apart", len(pieces), exc_info=True)  # each then raises for itself
            return [one(piece) for piece in pieces]

    return together


class Batches(Generic[T, R]):
    """Does pieces of work in sets of at most `most`, with at most `at_once` sets under way.

    `do` returns, in order, for each piece its result, the exception that it ended with, or a coroutine that gives one
    of them: a piece that takes longer, for which the next set does not wait. What `do` raises is that of all.
    """

    def __init__(
        self,
        do: Callable[[Sequence[T]], Awaitable[Found[R]]],
        *,
        most: int,
        at_once: int,
    ) -> None:
        self._do = do
        self._most = most
        self._free = at_once
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._under_way: set[asyncio.Task[None]] = set()

    async def __call__(self, piece: T) -> R:
        """Do a piece of work together with others that wait; return its result, or raise what it ended with."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((piece, future))
        if self._free:
            self._free -= 1
            self._beside(self._work())
        return await future

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _work(self) -> None:
        try:
            await asyncio.sleep(0)  # whoever is ready in this turn of the loop goes along
            while self._waiting:
                size = min(self._most, len(self._waiting))
                await self._one([self._waiting.popleft() for _ in range(size)])
        finally:
            self._free += 1

    async def _one(self, pieces: Sequence[tuple[T, asyncio.Future[R]]]) -> None:
        found: Found[R]
        try:
            found = await self._do([piece for piece, _ in pieces])
        except Exception as error:  # noqa: BLE001 - it is for those who wait
            found = [error] * len(pieces)
        for (_, future), result in zip(pieces, found, strict=True):
            if asyncio.iscoroutine(result):
                self._beside(_later(future, result))
            else:
                _end(future, result)


async def _later(future: asyncio.Future[R], work: Coroutine[Any, Any, R | Exception]) -> None:
    try:
        _end(future, await work)
    except Exception as error:  # noqa: BLE001 - it is for whoever waits
        _end(future, error)


def _end(future: asyncio.Future[R], result: Any) -> None:
    if future.done():
        return  # whoever waited has gone
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
