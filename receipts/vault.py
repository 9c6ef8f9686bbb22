"""Keys that keep secrets encrypted at rest: AES-256-GCM, each text bound to what it is about."""

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from receipts.errors import ReceiptsError

_KEY, _NONCE = 32, 12
"""Bytes."""


class VaultError(ReceiptsError):
    """What is encrypted cannot be read: no key of ours fits, or it was changed, or it is about something else."""


@dataclass(frozen=True)
class Sealed:
    """A text under a key. `key_id` begins the SHA-256 of the key; `data` is the nonce and what follows it."""

    key_id: str
    data: bytes = field(repr=False)


def parse_key(text: str) -> bytes:
    """Return the key that base64 of 32 bytes says, or raise ValueError."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if len(key) != _KEY:
        raise ValueError(f"is base64 of {len(key)} bytes, not of {_KEY}")
    return key


def new_key() -> str:
    """Return a fresh key as text."""
    return base64.b64encode(secrets.token_bytes(_KEY)).decode()


class Vault:
    """Encrypts with the first of its keys, and reads what any of them has encrypted."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {hashlib.sha256(key).hexdigest()[:16]: AESGCM(key) for key in keys}
        self.key_id = next(iter(self._keys))

    def seal(self, text: bytes, about: str) -> Sealed:
        """Encrypt a text that is about something, and can be read only as that."""
        nonce = secrets.token_bytes(_NONCE)
        return Sealed(self.key_id, nonce + self._keys[self.key_id].encrypt(nonce, text, about.encode()))

    def open(self, sealed: Sealed, about: str) -> bytes:
        """Return the text, or raise VaultError."""
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise VaultError(f"there is no key {sealed.key_id} for {about}")
        try:
            return key.decrypt(sealed.data[:_NONCE], sealed.data[_NONCE:], about.encode())
        except InvalidTag:
            raise VaultError(f"what is encrypted of {about} was changed, or is not of it") from None
