"""What a worker takes on with the commits of others in its process: nobody has to look for it and lease it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from runtime.engine import Engine
from runtime.model.effect import Effect, NewEffect, Vacancy


class Hiring:
    """Gives a vacancy to whoever applies a notification, and `take`s what was leased in it once that is committed."""

    def __init__(self, engine: Engine, fits: Callable[[NewEffect], bool], take: Callable[[Effect], None]) -> None:
        self._engine = engine
        self._fits = fits
        self._take = take
        self._open: dict[Vacancy, asyncio.Future[None]] = {}

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Have it so while the block runs."""
        wakeup, before = self._engine.wakeup, self._engine.wakeup.vacancy
        wakeup.vacancy = self._vacancy
        try:
            yield
        finally:
            wakeup.vacancy = before

    @property
    def hired(self) -> list[Effect]:
        """Return what will be taken, if it is committed."""
        return [vacancy.heir.effect for vacancy in self._open if vacancy.heir is not None]

    @property
    def ends(self) -> set[asyncio.Future[None]]:
        """Return what ends when nothing can be taken any more by who has a vacancy now."""
        return set(self._open.values())

    @contextmanager
    def _vacancy(self) -> Iterator[Vacancy]:
        vacancy = Vacancy(self._engine.worker, self._fits)
        self._open[vacancy] = end = asyncio.get_running_loop().create_future()
        try:
            yield vacancy
            if vacancy.heir is not None:
                self._take(vacancy.heir.effect)
        finally:
            del self._open[vacancy]
            end.set_result(None)
