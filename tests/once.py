"""A world that every test of a module begins with, played by the first of them: the others find it as it was left."""

from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import Generic, TypeVar

from tests.begun import Rows, bring_back, rows_of
from tests.bench import Bench

T = TypeVar("T")


@dataclass(frozen=True)
class _Left(Generic[T]):
    """How a world was left: its rows, its moment, its files by path with their modes, and what is told of it."""

    rows: Rows
    moment: datetime
    files: Mapping[Path, tuple[int, bytes]]
    told: T


@dataclass
class Once(Generic[T]):
    """Plays a world on a bench and in a folder, once in a process.

    What `play` returns is told to every test; it holds on to no bench. What the other sides of verbs have in memory is
    there in the first test alone, so no test may ask for it.
    """

    play: Callable[[Bench, Path], Awaitable[T]]
    _left: list[_Left[T]] = field(default_factory=list)

    async def on(self, bench: Bench, folder: Path) -> T:
        """Bring a fresh bench and a folder to where the world was left; return what is told of it.

        The folder is emptied of all else. Leaves name bundles by their path, so a world with bundles wants one folder.
        """
        if not self._left:
            told = await self.play(bench, folder)
            self._left.append(_Left(await rows_of(bench.superuser), bench.clock(), _files(folder), told))
        left = self._left[0]
        await bring_back(bench.superuser, left.rows)
        bench.clock.now = left.moment
        _put(folder, left.files)
        return deepcopy(left.told)


def _files(folder: Path) -> dict[Path, tuple[int, bytes]]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder): (path.stat().st_mode, path.read_bytes()) for path in found}


def _put(folder: Path, files: Mapping[Path, tuple[int, bytes]]) -> None:
    rmtree(folder)
    folder.mkdir()
    for path, (mode, data) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
        (folder / path).chmod(mode)
