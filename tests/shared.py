"""What one session of tests shares among its processes: a folder, and who may write in it."""

import asyncio
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the whole session: a worker of pytest-xdist has its own folder in it."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@asynccontextmanager
async def alone(folder: Path) -> AsyncIterator[None]:
    """Have a folder, made on first use, for this process alone until the block ends."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("wb") as lock:
        await asyncio.to_thread(fcntl.flock, lock, fcntl.LOCK_EX)
        yield


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there either whole or not at all."""
    part = path.with_suffix(".part")
    part.write_bytes(data)
    part.replace(path)
