"""The keys of policies: ECDSA on P-256 (ES256), in PEM files like the other keys, with the public half beside.

OPA takes an Ed25519 key only on its command line, in recent versions, and only one there. ES256 is known to every OPA,
also in its configuration, which can name the old key and the new one at once.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from receipts.signing import (
    KeyFileError,
    create_file,
    key_file_errors,
    private_pem,
    public_path,
    read_private,
    read_public,
)

ALGORITHM = "ES256"
_HALF = 32
"""Bytes of each of the two numbers of a signature."""


@dataclass(frozen=True)
class VerificationKey:
    """A public key for bundles. `key_id` is the SHA-256 (hex) of its DER SubjectPublicKeyInfo."""

    key: ec.EllipticCurvePublicKey

    @property
    def key_id(self) -> str:
        """Return the id by which signatures name the key."""
        return hashlib.sha256(self._encoded(serialization.Encoding.DER)).hexdigest()

    def pem(self) -> bytes:
        """Return the key in PEM."""
        return self._encoded(serialization.Encoding.PEM)

    def has_signed(self, signature: bytes, data: bytes) -> bool:
        """Return whether the signature (JWS form) over the data is by this key."""
        if len(signature) != 2 * _HALF:
            return False
        numbers = int.from_bytes(signature[:_HALF], "big"), int.from_bytes(signature[_HALF:], "big")
        try:
            self.key.verify(encode_dss_signature(*numbers), data, ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            return False
        return True

    def _encoded(self, encoding: serialization.Encoding) -> bytes:
        return self.key.public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)


@dataclass(frozen=True)
class PolicyKey:
    """The private half."""

    key: ec.EllipticCurvePrivateKey

    @property
    def public(self) -> VerificationKey:
        """Return the public half."""
        return VerificationKey(self.key.public_key())

    def sign(self, data: bytes) -> bytes:
        """Return a signature in the form of a JWS; equal data gives equal bytes (RFC 6979)."""
        signed = self.key.sign(data, ec.ECDSA(hashes.SHA256(), deterministic_signing=True))
        return b"".join(number.to_bytes(_HALF, "big") for number in decode_dss_signature(signed))


def load_or_create(path: Path) -> PolicyKey:
    """Return the key in the PEM file `path`, made if absent, and see that its public half stands beside it."""
    with key_file_errors(path):
        if not path.exists():
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            create_file(path, private_pem(ec.generate_private_key(ec.SECP256R1())), 0o600)
        key = _load(path)
        beside = public_path(path)
        if not beside.exists():
            create_file(beside, key.public.pem(), 0o644)
    if load_verification_key(beside) != key.public:
        raise KeyFileError(f"{beside} is not the public half of {path}")
    return key


def load_verification_key(path: Path) -> VerificationKey:
    """Return the public key in a PEM file, or raise KeyFileError."""
    key = read_public(path)
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise KeyFileError(f"{path} is not a public key on P-256")
    return VerificationKey(key)


def _load(path: Path) -> PolicyKey:
    key = read_private(path)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise KeyFileError(f"{path} is not a private key on P-256")
    return PolicyKey(key)
