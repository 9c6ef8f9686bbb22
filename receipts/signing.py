"""Signing: Ed25519 keys in PEM files, the private half readable by its owner alone, the public half beside it.

Signed envelopes (DSSE v1): what is signed are exact bytes together with their type.
"""

import base64
import binascii
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes, PublicKeyTypes
from pydantic import Field, ValidationError

from receipts import canonical
from receipts.errors import ReceiptsError
from receipts.fields import Exact

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOOKS, _PAUSE = 10, 0.02
"""How often, and after how many seconds, the two files are looked at until they belong together."""


class KeyFileError(ReceiptsError):
    """A key file cannot be used; the message names it and says why."""


@dataclass(frozen=True)
class PublicKey:
    """Whom a signature is checked against. `key_id` is the SHA-256 (hex) of the DER SubjectPublicKeyInfo."""

    key: Ed25519PublicKey

    @property
    def key_id(self) -> str:
        """Name the key; a hint for people, never a reason to trust."""
        return hashlib.sha256(self.der()).hexdigest()

    def der(self) -> bytes:
        """Return the DER SubjectPublicKeyInfo."""
        return self._encoded(serialization.Encoding.DER)

    def pem(self) -> bytes:
        """Return the key as it stands in its file."""
        return self._encoded(serialization.Encoding.PEM)

    def _encoded(self, encoding: serialization.Encoding) -> bytes:
        return self.key.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)


@dataclass(frozen=True)
class SigningKey:
    """The private half."""

    key: Ed25519PrivateKey

    @property
    def public(self) -> PublicKey:
        """Return the public half."""
        return PublicKey(self.key.public_key())


def public_path(path: Path) -> Path:
    """Return where the public half of the private key file `path` stands."""
    return path.with_name(f"{path.stem}.pub.pem")


def load_or_create(path: Path) -> SigningKey:
    """Return the key in the PEM file `path`, made if absent, and see that its public half stands beside it.

    The first of several processes to make the file wins, and all use its key. A rotation replaces both files, one after
    the other: who reads in between looks again.
    """
    for _ in range(_LOOKS):
        with key_file_errors(path):
            if not path.exists():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                create_file(path, private_pem(Ed25519PrivateKey.generate()), 0o600)
            key = SigningKey(_load_private(path))
            if _has_half(public_path(path), key):
                return key
        time.sleep(_PAUSE)
    raise KeyFileError(f"{public_path(path)} is not the public half of {path}")


@contextmanager
def key_file_errors(path: Path) -> Iterator[None]:
    """Raise KeyFileError where the folder of a key, or a file in it, cannot be made."""
    try:
        yield
    except OSError as error:
        raise KeyFileError(
            f"{path} cannot be made: {error.strerror}; name another place, or let this process write to its folder"
        ) from error


def _has_half(beside: Path, key: SigningKey) -> bool:
    """See that there is a public half, and return whether it is that of the key."""
    if not beside.exists():
        with key_file_errors(beside):
            create_file(beside, key.public.pem(), 0o644)
    try:
        return load_public(beside).key_id == key.public.key_id
    except KeyFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False  # it is being replaced
        raise


def load(path: Path) -> SigningKey:
    """Return the key in a PEM file."""
    return SigningKey(_load_private(path))


def prepare(path: Path) -> SigningKey:
    """Return the key that is to follow the one in `path`. Made once, it stands beside it until `replace` takes it."""
    with key_file_errors(path):
        if not _next(path).exists():
            create_file(_next(path), private_pem(Ed25519PrivateKey.generate()), 0o600)
        return SigningKey(_load_private(_next(path)))


def replace(path: Path) -> SigningKey:
    """Replace the key in `path` with the one that is prepared, and return it; the old one is gone, if nobody kept it.

    Wherever this is cut off, one key stands in the file, and its public half beside it or missing, to be made again.
    """
    key, beside = prepare(path), public_path(path)
    with key_file_errors(path):
        public = _draft(beside, key.public.pem(), 0o644)
        beside.unlink(missing_ok=True)
        _next(path).replace(path)
        public.replace(beside)
    return key


def _next(path: Path) -> Path:
    return path.with_name(f"{path.stem}.next{path.suffix}")


def load_public(path: Path) -> PublicKey:
    """Return the Ed25519 public key in a PEM file."""
    key = read_public(path)
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError(f"{path} is not an Ed25519 public key")
    return PublicKey(key)


def read_public(path: Path) -> PublicKeyTypes:
    """Return the public key of any kind in a PEM file, or raise KeyFileError."""
    try:
        pem = path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return serialization.load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        is_private = b"PRIVATE KEY-----" in pem
        what = "is a private key, and the public one is needed" if is_private else "is no public key in PEM"
        raise KeyFileError(f"{path} {what}") from error


def private_pem(key: PrivateKeyTypes) -> bytes:
    """Return a private key as it stands in its file."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _load_private(path: Path) -> Ed25519PrivateKey:
    key = read_private(path)
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(f"{path} is not an Ed25519 private key")
    return key


def read_private(path: Path) -> PrivateKeyTypes:
    """Return the private key of any kind in the very file whose permissions were looked at, or raise KeyFileError."""
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & _OTHERS:
                raise KeyFileError(f"{path} can be used by others than its owner; run: chmod 600 {path}")
            return serialization.load_pem_private_key(file.read(), password=None)
    except (OSError, ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise KeyFileError(f"{path} cannot be read as an unencrypted private key in PEM: {error}") from error


def create_file(path: Path, data: bytes, mode: int) -> None:
    """Let `path` appear at once with all of `data`; where it already exists, leave it."""
    draft = _draft(path, data, mode)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def _draft(path: Path, data: bytes, mode: int) -> Path:
    """Write the data to a new file beside `path`, for good, and return it."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return draft


class EnvelopeError(ReceiptsError):
    """An envelope is malformed or not signed by the given key."""


class _Signature(Exact):
    keyid: str
    sig: str


class _Rest(Exact):
    """An envelope without its payload."""

    payload_type: str = Field(alias="payloadType")
    signatures: list[_Signature] = Field(min_length=1, max_length=1)


_HEAD = b'{"payload":"'  # canonical JSON has the members in this order
_LONGEST_REST = 4096
"""Bytes behind the payload, at most."""


@dataclass(frozen=True)
class Opened:
    """What an envelope carried, once its signature was verified; `keyid` is as it stood there, or ""."""

    payload_type: str
    payload: bytes
    keyid: str


def pae(payload_type: str, payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding: the bytes that are signed."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sign_envelope(payload_type: str, payload: bytes, key: SigningKey, *, keyid: str = "") -> bytes:
    """Return the canonical JSON of an envelope with one signature; equal input gives equal bytes.

    Every tool derives a key's id in its own way, and some refuse another's: an empty one passes all of them.
    """
    signature = {"keyid": keyid, "sig": _to_base64(key.key.sign(pae(payload_type, payload)))}
    return canonical.dumps(
        {"payload": _to_base64(payload), "payloadType": payload_type, "signatures": [signature]},
    )


def verify_envelope(envelope: bytes, public_key: PublicKey) -> Opened:
    """Return what the envelope carries, or raise unless `sign_envelope` with this key's private half made these bytes.

    The signature is checked with the key that the caller trusts, whatever `keyid` says; a `keyid` of another key is
    an error too, so that no byte of an envelope can be changed unseen. Nothing of the payload is parsed, however large.
    """
    encoded, rest = _split(envelope)
    payload, signature = _from_base64(encoded), rest.signatures[0]
    try:
        public_key.key.verify(_from_base64(signature.sig), pae(rest.payload_type, payload))
    except InvalidSignature as error:
        raise EnvelopeError(f"the signature is not by the key {public_key.key_id}") from error
    if signature.keyid not in ("", public_key.key_id):
        raise EnvelopeError(f"keyid {signature.keyid!r} does not name the key that signed, {public_key.key_id}")
    return Opened(rest.payload_type, payload, signature.keyid)


def _split(envelope: bytes) -> tuple[str, _Rest]:
    """Return the payload as it is encoded, and the rest: base64 has no quotation mark."""
    end = envelope.find(b'",', len(_HEAD))
    if not envelope.startswith(_HEAD) or end < 0 or len(envelope) - end > _LONGEST_REST:
        raise EnvelopeError("not an envelope: a payload, its type and one signature")
    try:
        rest = _Rest.model_validate(canonical.loads(b"{" + envelope[end + 2 :]))
        return envelope[len(_HEAD) : end].decode("ascii"), rest
    except (canonical.CanonicalError, ValidationError, UnicodeDecodeError) as error:
        raise EnvelopeError(f"not an envelope: {error}") from error


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_base64(text: str) -> bytes:
    """Decode the one standard spelling: padded, without spaces, unused bits zero."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise EnvelopeError(f"not base64: {error}") from error
    if _to_base64(data) != text:
        raise EnvelopeError("base64 in another than its standard spelling")
    return data
