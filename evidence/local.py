"""The local archive: a folder of this machine.

Its files appear whole or not at all, and are never overwritten.
"""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path

from pydantic import ValidationError

from evidence.archive import (
    ArchiveConflictError,
    ArchiveError,
    ArchiveFact,
    ArchiveNotFoundError,
    Stored,
    check_name,
    check_put,
)
from receipts import canonical
from receipts.fields import Exact, Sha256Hex

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


_HELD = "held"
_PROBE = 1024 * 1024
"""Bytes of the file that tells whether there is room."""
_PRIVATE = 0o700
"""What officers saw and what targets answered is for the owner's eyes, and to be changed by nobody."""


class _Sidecar(Exact):
    """What stands in `NAME.json` beside the file NAME."""

    sha256: Sha256Hex
    size: int


class LocalArchive:
    """Files that appear whole or not at all, are their owner's alone, and are never replaced. A location is a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()

    @property
    def root(self) -> str:
        """Return the folder's path, ended."""
        return f"{self._folder}/"

    def put(self, name: str, data: bytes, sha256: str, retain_days: int | None = None) -> Stored:  # noqa: ARG002
        """Write the file, then its sidecar; a crash between the two is mended by putting the same data again."""
        check_put(name, data, sha256)
        path = self._folder / name
        try:
            self._folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
            path.parent.mkdir(_PRIVATE, parents=True, exist_ok=True)
            link_once(path, data)
            link_once(_beside(path), canonical.dumps(_Sidecar(sha256=sha256, size=len(data)).model_dump()))
            sync_folder(path.parent)
        except TakenError as error:
            raise ArchiveConflictError(str(error)) from error
        except OSError as error:
            raise ArchiveError(f"{path} cannot be written: {error}") from error
        return self.head(str(path))

    def replace(self, name: str, data: bytes) -> None:
        """Let the file hold the data from one moment to the next."""
        check_name(name)
        path = self._folder / name
        try:
            path.parent.mkdir(_PRIVATE, parents=True, exist_ok=True)
            draft(path, data).replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise ArchiveError(f"{path} cannot be written: {error}") from error

    def locate(self, name: str) -> str:
        """Return the path of the file."""
        check_name(name)
        return str(self._folder / name)

    def get(self, location: str) -> bytes:
        """Read the file and compare it with its sidecar."""
        data = self._read(Path(location))
        if hashlib.sha256(data).hexdigest() != self.head(location).sha256:
            raise ArchiveError(f"{location} is not what was stored: its SHA-256 differs")
        return data

    def head(self, location: str) -> Stored:
        """Read the sidecar."""
        sidecar = _beside(Path(location))
        try:
            kept = _Sidecar.model_validate(canonical.loads(self._read(sidecar)))
        except (canonical.CanonicalError, ValidationError) as error:
            raise ArchiveError(f"{sidecar} is damaged: {error}") from error
        return Stored(location, None, None, kept.sha256)

    def check_lock(self) -> None:
        """Do nothing: what is held has a name of its own, and outlives the one that it was stored under."""

    def set_hold(self, location: str, *, on: bool) -> None:
        """Give the file a second name in the folder `held`, or take it away: who deletes the first deletes nothing."""
        path = self._inside(Path(location))
        data = self.get(location) if on else b""
        kept = self._folder / _HELD / path.relative_to(self._folder)
        try:
            if not on:
                kept.unlink(missing_ok=True)
            elif not kept.exists() or kept.read_bytes() != data:
                kept.parent.mkdir(_PRIVATE, parents=True, exist_ok=True)
                os.link(path, kept)
        except OSError as error:
            raise ArchiveError(f"{path} cannot be {'held' if on else 'released'}: {error}") from error

    def check(self) -> list[ArchiveFact]:
        """Write and remove a file as large as a small bundle: an empty one is written to a full disk, too."""
        probe = self._folder / f".probe-{secrets.token_hex(8)}"
        try:
            self._folder.mkdir(_PRIVATE, parents=True, exist_ok=True)
            write_once(probe, bytes(_PROBE))
            probe.unlink()
        except OSError as error:
            return [ArchiveFact("writable", ok=False, text=f"{self._folder} cannot be written: {error}")]
        return [
            ArchiveFact("writable", ok=True, text=f"{self._folder} can be written"),
            ArchiveFact(
                "locked", ok=False, text="a local folder keeps no versions and no locks: its owner can delete files"
            ),
        ]

    def _inside(self, path: Path) -> Path:
        if not path.is_relative_to(self._folder) or ".." in path.parts:
            raise ArchiveError(f"{path} is not in {self._folder}")
        return path

    def _read(self, path: Path) -> bytes:
        """Read a file of the archive, and none beyond it."""
        try:
            return self._inside(path).read_bytes()
        except FileNotFoundError as error:
            raise ArchiveNotFoundError(f"{path} does not exist") from error
        except OSError as error:
            raise ArchiveError(f"{path} cannot be read: {error}") from error


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
