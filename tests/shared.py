"""What is costly to play and the same for all tests of a run: one process plays it, the others read what it kept."""

import fcntl
import os
import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


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
