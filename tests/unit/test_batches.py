"""Work in sets: whoever waits when the last set is done goes into the next, and gets what is its own."""

import asyncio
from collections.abc import Sequence

import pytest

from runtime.store.batched_reads import Batcher


class Doubling:
    """Doubles numbers, and refuses what is not one; keeps the sets that it was given."""

    def __init__(self) -> None:
        self.sets: list[list[int]] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, pieces: Sequence[int]) -> Sequence[int | Exception]:
        self.sets.append(list(pieces))
        await self.go_on.wait()
        return [ValueError("negative") if piece < 0 else 2 * piece for piece in pieces]


async def test_what_comes_at_one_moment_goes_together_and_in_order() -> None:
    work = Doubling()
    doubled = Batcher(work, most=3, at_once=1)
    assert await asyncio.gather(*map(doubled, range(7))) == [0, 2, 4, 6, 8, 10, 12]
    assert work.sets == [[0, 1, 2], [3, 4, 5], [6]]


async def test_whoever_comes_while_a_set_is_under_way_goes_into_the_next() -> None:
    work = Doubling()
    doubled = Batcher(work, most=10, at_once=1)
    work.go_on.clear()
    first = asyncio.create_task(doubled(1))
    while not work.sets:
        await asyncio.sleep(0)
    later = [asyncio.create_task(doubled(piece)) for piece in (2, 3)]
    await asyncio.sleep(0)
    assert work.sets == [[1]]
    work.go_on.set()
    assert [await one for one in (first, *later)] == [2, 4, 6]
    assert work.sets == [[1], [2, 3]]


async def test_as_many_sets_are_under_way_as_may_be() -> None:
    work = Doubling()
    doubled = Batcher(work, most=1, at_once=2)
    work.go_on.clear()
    tasks = [asyncio.create_task(doubled(piece)) for piece in (1, 2, 3)]
    while len(work.sets) < 2:
        await asyncio.sleep(0)
    for _ in range(5):
        await asyncio.sleep(0)
    assert work.sets == [[1], [2]]
    work.go_on.set()
    assert [await task for task in tasks] == [2, 4, 6]


async def test_what_one_piece_ends_with_is_its_own() -> None:
    doubled = Batcher(Doubling(), most=3, at_once=1)
    found = await asyncio.gather(*map(doubled, (1, -1, 2)), return_exceptions=True)
    assert [one for one in found if not isinstance(one, ValueError)] == [2, 4]
    assert isinstance(found[1], ValueError)


async def test_what_the_work_raises_is_everybodys_and_the_next_set_is_done() -> None:
    asked: list[int] = []

    async def fails_once(pieces: Sequence[int]) -> Sequence[int]:
        asked.append(len(pieces))
        if len(asked) == 1:
            raise OSError("away")
        return pieces

    work = Batcher(fails_once, most=2, at_once=1)
    found = await asyncio.gather(*map(work, (1, 2)), return_exceptions=True)
    assert [type(one) for one in found] == [OSError, OSError]
    assert await work(3) == 3


async def test_somebody_who_has_gone_holds_up_nobody() -> None:
    work = Doubling()
    doubled = Batcher(work, most=2, at_once=1)
    work.go_on.clear()
    gone, stays = asyncio.create_task(doubled(1)), asyncio.create_task(doubled(2))
    while not work.sets:
        await asyncio.sleep(0)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    work.go_on.set()
    assert await stays == 4
