"""Costly worlds that are played once, and found again by the other tests.

A world that every test of a module begins with, played by the first of them: the others find it as it was left.

What is costly to play and the same for all tests of a run: one process plays it, the others read what it kept.
"""

import fcntl
import os
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from shutil import rmtree
from typing import Any, Generic, TypeVar

import pytest

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
            self._left.append(_Left(rows_of(bench.superuser), bench.clock(), _files(folder), told))
        left = self._left[0]
        bring_back(bench.superuser, left.rows)
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


@dataclass
class Shared:
    """A folder that the processes of a run share while one of them may fill it; `value` is what was kept in it."""

    folder: Path
    value: Any = None

    @property
    def _file(self) -> Path:
        return self.folder / "kept.pickle"

    def read(self) -> None:
        """Read what another process kept, if any did."""
        if self._file.exists():
            self.value = pickle.loads(self._file.read_bytes())  # noqa: S301 - our own tests wrote it in this run

    def keep(self, value: Any) -> None:
        """Keep a value for the others; one of them may read it only as a whole."""
        self.value = value
        self._file.write_bytes(pickle.dumps(value))


@asynccontextmanager
async def shared(factory: pytest.TempPathFactory, name: str) -> AsyncIterator[Shared]:
    """Give what the run shares by this name, to one process at a time."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / f"shared-{name}"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with this process, however it ends
        found = Shared(folder)
        found.read()
        yield found
