"""The key that signs the audit log: the private one in a file, and beside it the public halves of earlier ones.

A key file that cannot be used is named by its setting.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from countersign.settings import ConfigError, Settings, variable
from receipts.checkpoint import LogKeys
from receipts.note import Algorithm, NoteSigner, VerifierKey
from receipts.signing import (
    KeyFileError,
    PublicKey,
    key_file_errors,
    load_or_create,
    load_public,
    prepare,
    public_path,
    replace,
)


@contextmanager
def naming_key_setting(setting: str) -> Iterator[None]:
    """Raise ConfigError, which names the setting, in place of a KeyFileError."""
    try:
        yield
    except KeyFileError as error:
        raise ConfigError(f"{variable(setting)}: {error}") from error


_EARLIER = "log-earlier"


def make_signer(settings: Settings) -> NoteSigner:
    """Return what signs the log; its key is made where there is none. Raise ConfigError where it cannot be used."""
    with naming_key_setting("log_key"):
        return NoteSigner(settings.origin, load_or_create(settings.log_key_path))


def log_keys(settings: Settings) -> LogKeys:
    """Return the keys that checkpoints are verified with, the one that signs now first."""
    current = make_signer(settings).verifier(Algorithm.ED25519)
    files = sorted(_earlier_keys_folder(settings).glob("*.pem"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    earlier = [_verifier(settings, load_public(file)) for file in files]
    return LogKeys((current, *(key for key in earlier if key != current)))


def rotate_log_key(settings: Settings, record: Callable[[VerifierKey], object] = lambda _: None) -> LogKeys:
    """Replace the key that signs, and keep only the public half of the old one; return all keys.

    Whatever moment this is cut off at, one key is current, and no public half of one that has signed is lost. `record`
    is told of the new key before it is in place: where it raises, or all ends there, the old one signs on, and the next
    rotation goes on with the same new key.
    """
    path = settings.log_key_path
    with naming_key_setting("log_key"), key_file_errors(path), _locked(path.parent):
        old = load_or_create(path)
        _earlier_keys_folder(settings).mkdir(mode=0o700, exist_ok=True)
        kept = _earlier_keys_folder(settings) / f"{old.public.key_id[:16]}.pub.pem"
        if not kept.exists():
            os.link(public_path(path), kept)
        record(_verifier(settings, prepare(path).public))
        replace(path)
    return log_keys(settings)


def _earlier_keys_folder(settings: Settings) -> Path:
    return settings.log_key_path.parent / _EARLIER


def _verifier(settings: Settings, key: PublicKey) -> VerifierKey:
    return VerifierKey(settings.origin, Algorithm.ED25519, key.key.public_bytes(Encoding.Raw, PublicFormat.Raw))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep rotations apart from each other."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / ".rotating").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
