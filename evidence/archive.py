"""Where sealed bundles are kept: what every archive promises."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from evidence.errors import EvidenceError
from evidence.names import is_safe_path


class ArchiveError(EvidenceError):
    """The archive did not do it: out of reach, refused or damaged. The message says what; trying again may help."""


class ArchiveConflictError(ArchiveError):
    """Something else already stands under the name, at `location`, and nothing is ever overwritten."""

    def __init__(self, location: str) -> None:
        super().__init__(f"{location} already holds something else")
        self.location = location


class UnlockedError(ArchiveError):
    """The archive locks nothing, and what is asked of it needs a lock."""


class ArchiveNotFoundError(ArchiveError):
    """Nothing stands at the location."""


@dataclass(frozen=True)
class Stored:
    """Where a bundle is. `version_id` and `retention_until` are None where the archive has no such thing."""

    location: str
    version_id: str | None
    retention_until: datetime | None
    sha256: str


@dataclass(frozen=True)
class ArchiveFact:
    """One thing that a doctor wants to know about an archive."""

    name: str
    ok: bool
    text: str


class Archive(Protocol):
    """Keeps bundles for good. All calls block; asynchronous callers run them in a thread."""

    @property
    def root(self) -> str:
        """Return what every location in this archive begins with, and no other archive's does."""
        ...

    def put(self, name: str, data: bytes, sha256: str, retain_days: int | None = None) -> Stored:
        """Keep `data` under `name`. The same data again is the same object; other data raises ArchiveConflictError.

        It has to stay for `retain_days` where the archive can see to that, else for as long as the archive says.
        """
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Have `data` stand under `name` in the place of what was there: for what says which of the rest is newest."""
        ...

    def locate(self, name: str) -> str:
        """Return the location of what stands under `name`; where there are versions of it, of the newest."""
        ...

    def get(self, location: str) -> bytes:
        """Return what stands at a location that `put` returned, with its SHA-256 checked."""
        ...

    def head(self, location: str) -> Stored:
        """Return what is known about it without fetching it."""
        ...

    def check_lock(self) -> None:
        """Raise UnlockedError where nothing keeps what is stored from being deleted."""
        ...

    def set_hold(self, location: str, *, on: bool) -> None:
        """Keep what stands at the location from being deleted, whatever its retention, or no longer; and look."""
        ...

    def check(self) -> list[ArchiveFact]:
        """Find out whether the archive can be written to, keeps versions, and is locked."""
        ...


def check_put(name: str, data: bytes, sha256: str) -> None:
    """Raise unless the name is a plain relative path and the digest is that of the data."""
    check_name(name)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ArchiveError(f"{name}: the data does not have the SHA-256 {sha256}")


def check_name(name: str) -> None:
    """Raise unless the name is a plain relative path."""
    if not is_safe_path(name):
        raise ArchiveError(f"{name!r} is not a plain relative path")


def get_stored(archive: Archive, location: str, sha256: str) -> bytes:
    """Return what was stored there under this SHA-256; raise ArchiveError where it is something else."""
    data = archive.get(location)
    if (found := hashlib.sha256(data).hexdigest()) != sha256:
        raise ArchiveError(f"{location} is not the bundle that was stored: its sha256 is {found}, and was {sha256}")
    return data
