"""An authenticator in software: it makes passkeys and signs with them, as WebAuthn has it, down to CBOR and COSE."""

import hashlib
import json
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, encode_cbor

from runtime.model.passkey import Assertion, Attestation

USER_PRESENT, USER_VERIFIED, WITH_CREDENTIAL = 0x01, 0x04, 0x40
PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


def new_key(algorithm: int) -> PrivateKey:
    """Make a key of a COSE algorithm."""
    if algorithm == -7:
        return ec.generate_private_key(ec.SECP256R1())
    return ed25519.Ed25519PrivateKey.generate() if algorithm == -8 else rsa.generate_private_key(65537, 2048)


def cose_of(key: PrivateKey) -> bytes:
    """Return the public key as authenticators write it."""
    if isinstance(key, ec.EllipticCurvePrivateKey):
        point = key.public_key().public_numbers()
        return encode_cbor({1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")})
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return encode_cbor({1: 1, 3: -8, -1: 6, -2: key.public_key().public_bytes_raw()})
    numbers = key.public_key().public_numbers()
    return encode_cbor({1: 3, 3: -257, -1: numbers.n.to_bytes(256, "big"), -2: numbers.e.to_bytes(3, "big")})


def sign(key: PrivateKey, data: bytes) -> bytes:
    """Sign as WebAuthn has it for that kind of key."""
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(data, ec.ECDSA(SHA256()))
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    return key.sign(data, padding.PKCS1v15(), SHA256())


@dataclass
class Authenticator:
    """One passkey, for one origin; `count` is how often it has signed, None for one that does not count."""

    origin: str
    rp_id: str
    algorithm: int = -7
    count: int | None = 0
    flags: int = USER_PRESENT | USER_VERIFIED
    page: dict[str, Any] = field(default_factory=dict)  # what the client data say otherwise
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a process must know to be this authenticator."""
        pem = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return {**vars(self), "key": pem}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Be the authenticator that this describes."""
        vars(self).update(state, key=load_pem_private_key(state["key"], None))

    @cached_property
    def key(self) -> PrivateKey:
        return new_key(self.algorithm)

    @property
    def id(self) -> str:
        return bytes_to_base64url(self.credential_id)

    def make(self, challenge: str) -> Attestation:
        """Answer `navigator.credentials.create`."""
        cose = cose_of(self.key)
        credential = bytes(16) + len(self.credential_id).to_bytes(2, "big") + self.credential_id + cose
        data = self._data(self.flags | WITH_CREDENTIAL) + credential
        made = encode_cbor({"fmt": "none", "attStmt": {}, "authData": data})
        client_data = bytes_to_base64url(self._client_data("webauthn.create", challenge))
        return Attestation(
            credential_id=self.id, attestation_object=bytes_to_base64url(made), client_data=client_data, nonce=""
        )

    def sign(self, challenge: str, **changes: Any) -> Assertion:
        """Answer `navigator.credentials.get`; `changes` are members of the client data that are told otherwise."""
        if self.count is not None:
            self.count += 1
        data, client_data = self._data(self.flags), self._client_data("webauthn.get", challenge, **changes)
        return Assertion(
            credential_id=self.id,
            authenticator_data=bytes_to_base64url(data),
            client_data=bytes_to_base64url(client_data),
            signature=bytes_to_base64url(sign(self.key, data + hashlib.sha256(client_data).digest())),
            nonce="",
        )

    def _data(self, flags: int) -> bytes:
        counted = (self.count or 0).to_bytes(4, "big")
        return hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags]) + counted

    def _client_data(self, kind: str, challenge: str, **changes: Any) -> bytes:
        assert base64url_to_bytes(challenge)
        said = {
            "type": kind,
            "challenge": challenge,
            "origin": self.origin,
            "crossOrigin": False,
            **self.page,
            **changes,
        }
        return json.dumps(said, separators=(",", ":")).encode()
