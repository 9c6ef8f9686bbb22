"""Files that appear whole or not at all, and are never overwritten."""

import contextlib
import os
import secrets
from pathlib import Path

READ_ONLY = 0o400


class TakenError(Exception):
    """The file is there already, and holds something else."""


def write_once(path: Path, data: bytes, mode: int = READ_ONLY) -> None:
    """Let `path` appear with all of `data`, on disk for good; where it exists and holds the same, leave it.

    Raise TakenError where it holds something else, and OSError.
    """
    link_once(path, data, mode)
    sync_folder(path.parent)


def link_once(path: Path, data: bytes, mode: int = READ_ONLY) -> None:
    """Do the same, but for the name, which is on disk for good once its folder is."""
    new = draft(path, data, mode)
    try:
        os.link(new, path)
    except FileExistsError as error:
        if path.read_bytes() != data:
            raise TakenError(str(path)) from error
    finally:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()


def draft(path: Path, data: bytes, mode: int = READ_ONLY) -> Path:
    """Write the data to a new file beside `path`, on disk for good, and return it; nothing is left where that fails."""
    new = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        new.unlink(missing_ok=True)
        raise
    return new


def sync_folder(folder: Path) -> None:
    """Make a new name survive a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
