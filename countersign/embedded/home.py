"""The home of embedded mode: one system at a time has it, and commands find the running one by it.

Its owner alone can read what is in it. A running `countersign up` leaves what commands need in a file there.
"""

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countersign.foreseen_errors import CountersignError
from countersign.settings import PREFIX, ConfigError, read_settings

PRIVATE = 0o077
"""The umask of all that embedded mode keeps: its owner alone reads it."""

FOLDERS = ("data", "evidence", "keys", "logs", "opa")
_OURS = {*FOLDERS, "demo", "directory.yaml", "running.json", "workspace.yaml"}


class HomeError(CountersignError):
    """The home cannot be used; the message says why, and how to name another."""


@contextmanager
def locked_home(home: Path) -> Iterator[Path]:
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


def is_locked(home: Path) -> bool:
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


_FILE = "running.json"


@dataclass(frozen=True)
class Attached:
    """A system that runs here: the settings that were taken from it, and the stand-ins of its packs."""

    settings: frozenset[str]
    standins: Mapping[str, str]


@contextmanager
def announced(home: Path, env: Mapping[str, str], standins: Mapping[str, str]) -> Iterator[None]:
    """Leave environment and stand-ins of the running system in `home` while the block lasts."""
    file = home / _FILE
    write_private(file, json.dumps({"env": dict(env), "standins": dict(standins)}))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def attach() -> Attached | None:
    """Take on the environment of a system that runs in our home, unless ours names a database; None: nothing runs."""
    settings = read_settings()
    file = settings.home / _FILE
    named = settings.database_url or settings.directory_database_url
    if named is not None or not file.exists() or not is_locked(settings.home):
        return None
    told = _read_running(file)
    # what somebody set stays, and nothing but our own settings is taken from a file
    new = {name: value for name, value in told["env"].items() if name.startswith(PREFIX) and name not in os.environ}
    os.environ.update(new)
    return Attached(frozenset(new), told["standins"])


def _read_running(file: Path) -> dict[str, Any]:
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ConfigError(f"{file} is not a file that its owner, you, alone can read")
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told
