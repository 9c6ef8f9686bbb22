"""How commands find a running `countersign up`: it leaves what they need in a file that its owner alone can read."""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countersign.embedded.home import is_held, write_private
from countersign.settings import PREFIX, ConfigError, read_settings

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
    if named is not None or not file.exists() or not is_held(settings.home):
        return None
    told = _read(file)
    # what somebody set stays, and nothing but our own settings is taken from a file
    new = {name: value for name, value in told["env"].items() if name.startswith(PREFIX) and name not in os.environ}
    os.environ.update(new)
    return Attached(frozenset(new), told["standins"])


def _read(file: Path) -> dict[str, Any]:
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ConfigError(f"{file} is not a file that its owner, you, alone can read")
    told: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return told
