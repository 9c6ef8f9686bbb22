"""The home of embedded mode: one system at a time has it, and its owner alone can read what is in it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from countersign.errors import CountersignError

PRIVATE = 0o077
"""The umask of all that embedded mode keeps: its owner alone reads it."""

FOLDERS = ("data", "evidence", "keys", "logs", "opa")
_OURS = {*FOLDERS, "demo", "directory.yaml", "running.json", "workspace.yaml"}


class HomeError(CountersignError):
    """The home cannot be used; the message says why, and how to name another."""


@contextmanager
def held(home: Path) -> Iterator[Path]:
    """Hold the home for one system while the block lasts; whatever this process makes meanwhile is private."""
    home, before = home.resolve(), os.umask(PRIVATE)
    try:
        handle = _prepare(home)
        try:
            _lock(handle, home)
            yield home
        finally:
            os.close(handle)
    finally:
        os.umask(before)


def is_held(home: Path) -> bool:
    """Return whether a system has the home now."""
    try:
        handle = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def write_private(file: Path, text: str) -> None:
    """Let the file appear whole, readable by its owner alone."""
    draft = file.with_name(f".{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(
        os.open(draft, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(text)
    draft.replace(file)


def _prepare(home: Path) -> int:
    """Make the home and its folders private; return a handle of it."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        if {entry.name for entry in home.iterdir()} <= _OURS:  # a folder that holds other things, too, is not ours
            home.chmod(0o700)
        for folder in (home / name for name in FOLDERS):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o700)
        return os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise HomeError(
            f"{error.filename or home} cannot be written ({error.strerror}): name another home with COUNTERSIGN_HOME"
        ) from error


def _lock(handle: int, home: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise HomeError(
            f"another `countersign up` or `demo` runs in {home}: use that one, end it, or name another home"
            " with COUNTERSIGN_HOME"
        ) from error
