"""What a client or a stand-in did, as lines of JSON that survive whoever wrote them."""

import json
import os
import resource
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class History:
    """A file that is appended to. A line is on disk before `add` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, kind: str, **facts: Any) -> None:
        """Write down a fact, with the machine's true time in seconds."""
        line = json.dumps({"kind": kind, "at": true_time(), **facts}, sort_keys=True)
        with _room():
            os.write(self._file, f"{line}\n".encode())
            os.fdatasync(self._file)


@contextmanager
def _room() -> Iterator[None]:
    """Let files grow: a disk that is full for what is under test has room for its history, and for whole lines."""
    full, room = resource.getrlimit(resource.RLIMIT_FSIZE)
    if full == room:
        yield
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (full, room))


def true_time() -> float:
    """Return Unix seconds, whatever a program of the world is told that the time is."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def read(folder: Path, of: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the lines of the histories in a folder, or of some of them, oldest first; `who` is whose each is."""
    files = [path for path in sorted(folder.glob("*.jsonl")) if not of or path.stem in of]
    found = [{"who": path.stem, **line} for path in files for line in _lines(path)]
    return sorted(found, key=lambda line: line["at"])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the whole lines: a writer that was killed may have left half of one."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield json.loads(line)
