"""How commands find a running `countersign up`: it leaves its environment in a file that its owner alone can read."""

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from countersign.config.settings import PREFIX, ConfigError, read_settings

_FILE = "running.json"


@contextmanager
def announced(home: Path, env: Mapping[str, str]) -> Iterator[None]:
    """Leave the environment of the running system in `home` while the block lasts."""
    file = home / _FILE
    write_private(file, json.dumps(dict(env)))
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def attach() -> set[str]:
    """Take on the environment of a system that runs in our home, unless ours names a database; return what is new."""
    settings = read_settings()
    file = settings.home / _FILE
    if settings.database_url is not None or not file.exists():
        return set()
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ConfigError(f"{file} is not a file that its owner, you, alone can read")
    env: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    # what somebody set stays, and nothing but our own settings is taken from a file
    new = {name: value for name, value in env.items() if name.startswith(PREFIX) and name not in os.environ}
    os.environ.update(new)
    return set(new)


def write_private(file: Path, text: str) -> None:
    """Let the file appear whole, readable by its owner alone."""
    draft = file.with_name(f".{file.name}.new")
    draft.unlink(missing_ok=True)
    with os.fdopen(
        os.open(draft, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY, 0o600), "w", encoding="utf-8"
    ) as out:
        out.write(text)
    draft.replace(file)
