"""The key ring: the private keys that seal.

One signs now; bundles which were begun still need earlier ones.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from receipts.signing import SigningKey, key_file_errors, load, load_or_create, replace

_RETIRED = "retired"


@dataclass(frozen=True)
class Keys:
    """The keys at one moment."""

    current: SigningKey
    retired: tuple[SigningKey, ...]

    def of(self, key_id: str) -> SigningKey:
        """Return the key with this id, which is one of `ids`."""
        return next(key for key in (self.current, *self.retired) if key.public.key_id == key_id)

    @property
    def ids(self) -> list[str]:
        """Return the ids of all."""
        return [key.public.key_id for key in (self.current, *self.retired)]


class KeyRing:
    """The keys in the PEM file `path`, and in the folder `retired` beside it. Read anew when the files have changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[object, ...] | None = None
        self._keys: Keys | None = None

    def keys(self) -> Keys:
        """Return the keys; the current one is made on first use."""
        seen = self._look()
        if self._keys is None or seen != self._seen:
            with self._locked(fcntl.LOCK_SH):
                seen, current = self._look(), load_or_create(self._path)
                others = [load(file) for file in sorted(self._retired.glob("*.pem"))]
            kept = tuple(key for key in others if key.public.key_id != current.public.key_id)
            self._seen, self._keys = seen, Keys(current, kept)
        return self._keys

    def rotate(self) -> SigningKey:
        """Put a new key in the place of the current one, which stays among the retired; return the new one.

        Whatever moment this is cut off at, no private key is lost and one key is current.
        """
        with key_file_errors(self._path), self._locked(fcntl.LOCK_EX):
            old = load_or_create(self._path)
            self._retired.mkdir(mode=0o700, exist_ok=True)
            kept = self._retired / f"{old.public.key_id[:16]}.pem"
            if not kept.exists():
                os.link(self._path, kept)
            return replace(self._path)

    @property
    def _retired(self) -> Path:
        return self._path.parent / _RETIRED

    def _look(self) -> tuple[object, ...]:
        files = [self._path, *sorted(self._retired.glob("*.pem"))]
        return tuple((file, file.stat().st_mtime_ns, file.stat().st_ino) for file in files if file.exists())

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Keep rotations apart from each other and from whoever reads; where nothing can be written, there are none."""
        with ExitStack() as stack:
            with suppress(OSError):
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                lock = stack.enter_context((self._path.parent / ".rotating").open("w"))
                fcntl.flock(lock, how)
            yield
