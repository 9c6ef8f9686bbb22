"""Verifies signed bundles as OPA does, and more strictly: what is not wholly a bundle of ours is refused.

1. It is an archive of files, each there once, within limits.
2. One of the keys has signed the list of files.
3. Each file is listed and each that is listed is there, with its hash.
4. The revision is the digest of the text, so that decisions under it name this very text.
"""

import base64
import binascii
import io
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from policy.bundle import CONFIG_FILE, MANIFEST, policy_text, strict_json
from policy.contract import PolicyText
from policy.errors import PolicyError
from policy.keys import VerificationKey
from policy.signing import SIGNATURES, file_hash

LARGEST = 16 * 1024 * 1024
"""Bytes of all files together: what the client takes of a policy's text."""
_MOST_FILES = 2000
_PARTS = 3

_Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Signatures(_Exact):
    signatures: list[str] = Field(min_length=1, max_length=1)


class _Header(_Exact):
    alg: Literal["ES256"]
    typ: Literal["JWT"] | None = None
    kid: str | None = None


class _File(_Exact):
    name: str
    hash: _Hash
    algorithm: Literal["SHA-256"]


class _Payload(_Exact):
    files: list[_File]
    keyid: _Hash


class _Metadata(_Exact):
    author: str
    comment: str


class _Manifest(_Exact):
    revision: _Hash
    roots: list[Literal[""]] = Field(min_length=1, max_length=1)
    rego_version: Literal[1]
    metadata: _Metadata | None = None


@dataclass(frozen=True)
class VerifiedBundle:
    """What a bundle holds, and the key that signed it; of a version also its author and comment, else None."""

    text: PolicyText
    key: VerificationKey
    author: str | None = None
    comment: str | None = None


def verify_bundle(data: bytes, keys: Sequence[VerificationKey]) -> VerifiedBundle:
    """Return what a bundle holds that one of the keys has signed, or raise PolicyError."""
    try:
        files = _unpacked(data)
        signatures = _Signatures.model_validate(strict_json(files.pop(SIGNATURES, "{}")))
        payload, key = _opened(signatures.signatures[0], keys)
        _check_files(files, payload.files)
        manifest = _Manifest.model_validate(strict_json(files.pop(MANIFEST, "{}")))
        said = manifest.metadata.model_dump() if manifest.metadata else {}
        return VerifiedBundle(_text(files, manifest), key, **said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise PolicyError(f"the bundle is not in the signed form: {place}: {first['msg']}") from error
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"the bundle is not in the signed form: {error}") from error


def _unpacked(data: bytes) -> dict[str, str]:
    """Return the files of an archive by name."""
    files: dict[str, str] = {}
    for name, content in _members(_inflated(data)):
        if name in files:
            raise PolicyError(f"the bundle has {name} twice")
        files[name] = content.decode()
    if SIGNATURES not in files:
        raise PolicyError(f"the bundle is not signed: it has no {SIGNATURES}")
    return files


def _inflated(data: bytes) -> bytes:
    """Return what one gzip stream holds, whole and within the limit."""
    stream = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        inflated = stream.decompress(data, LARGEST)
    except zlib.error as error:
        raise PolicyError(f"the bundle is no gzip stream: {error}") from error
    if not stream.eof or stream.unused_data:
        raise PolicyError("the bundle is cut off, too large, or goes on behind its end")
    return inflated


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as tar:
            for count, member in enumerate(tar):
                content = tar.extractfile(member) if member.isreg() else None
                if content is None or count >= _MOST_FILES:
                    raise PolicyError(f"the bundle holds {member.name}, which is no file, or one too many")
                yield member.name, content.read()
    except (tarfile.TarError, EOFError) as error:
        raise PolicyError(f"the bundle is no archive: {error}") from error


def _opened(token: str, keys: Sequence[VerificationKey]) -> tuple[_Payload, VerificationKey]:
    """Return what a JWS says, and the key that signed it."""
    parts = token.split(".")
    if len(parts) != _PARTS:
        raise PolicyError("the bundle's signature is no JWS")
    header, body, signature = map(_decoded, parts)
    _Header.model_validate(strict_json(header))
    payload = _Payload.model_validate(strict_json(body))
    key = next((key for key in keys if key.key_id == payload.keyid), None)
    if key is None:
        raise PolicyError(f"the bundle is signed by the key {payload.keyid[:16]}, which is none that is trusted")
    if not key.has_signed(signature, token.rpartition(".")[0].encode()):
        raise PolicyError(f"the bundle's signature is not by the key {payload.keyid[:16]} that it names")
    return payload, key


def _decoded(part: str) -> bytes:
    """Decode the one spelling of base64url: without padding, unused bits zero."""
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise PolicyError(f"the bundle's signature is no base64url: {error}") from error
    if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != part:
        raise PolicyError("the bundle's signature is base64url in another than its one spelling")
    return data


def _check_files(files: dict[str, str], listed: Sequence[_File]) -> None:
    hashes = {one.name: one.hash for one in listed}
    if len(hashes) != len(listed):
        raise PolicyError("the bundle's signature lists a file twice")
    for name in sorted(files.keys() ^ hashes.keys()):
        what = "has not been signed" if name in files else "was signed, and is missing"
        raise PolicyError(f"the bundle was changed: {name} {what}")
    for name, text in files.items():
        if file_hash(name, text) != hashes[name]:
            raise PolicyError(f"the bundle was changed: {name} is not what was signed")


def _text(files: dict[str, str], manifest: _Manifest) -> PolicyText:
    """Return the text, whose digest is the bundle's revision."""
    config: Any = strict_json(files.pop(CONFIG_FILE, ""))
    if not isinstance(config, dict) or not all(name.endswith(".rego") for name in files):
        raise PolicyError(f"the bundle holds more than modules and {CONFIG_FILE}")
    text = policy_text(files, config)
    if text.digest != manifest.revision:
        raise PolicyError(f"the bundle's revision {manifest.revision} is not the digest of its text, {text.digest}")
    return text
