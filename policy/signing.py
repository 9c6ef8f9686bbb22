"""Signs bundles in the form of `opa sign`, so that every OPA can verify them.

`.signatures.json` holds one JWS over the list of the bundle's files and their SHA-256. OPA hashes a file of data, and
the manifest, not by their bytes but by what they say: names sorted, without spaces, and numbers as they are written.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from policy.bundle import CONFIG_FILE, MANIFEST, Bundle, archive, bundle_files, strict_json
from policy.contract import PolicyText
from policy.keys import ALGORITHM, PolicyKey

SIGNATURES = ".signatures.json"
_HASH = "SHA-256"
_BY_MEANING = (MANIFEST, PurePosixPath(CONFIG_FILE).name)
_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})
"""OPA writes these two escaped, and Python as they are."""


def sign_bundle(text: PolicyText, key: PolicyKey, said: Mapping[str, str] | None = None) -> Bundle:
    """Return the signed bundle of a policy; equal text and key give equal bytes.

    `said` is signed with it: author and comment of a version.
    """
    files = bundle_files(text, said)
    signatures = _json({"signatures": [_signed(signed_payload(files, key.public.key_id), key)]})
    return Bundle(text, archive({**files, SIGNATURES: signatures}))


def signed_payload(files: Mapping[str, str], key_id: str) -> bytes:
    """Return what is signed: the files with their hashes, and the key's name, by which OPA finds it among several."""
    listed = [{"name": name, "hash": file_hash(name, text), "algorithm": _HASH} for name, text in sorted(files.items())]
    return _json({"files": listed, "keyid": key_id}).encode()


def file_hash(name: str, text: str) -> str:
    """Return OPA's SHA-256 (hex) of a file in a bundle; raise ValueError if a data file is not JSON."""
    said = _meaning(text) if PurePosixPath(name).name in _BY_MEANING else text
    return hashlib.sha256(said.encode()).hexdigest()


def _signed(payload: bytes, key: PolicyKey) -> str:
    header = _json({"alg": ALGORITHM, "typ": "JWT"}).encode()
    signed = b".".join(map(_base64url, (header, payload)))
    return b".".join((signed, _base64url(key.sign(signed)))).decode()


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _meaning(text: str) -> str:
    """Return the canonical JSON that OPA hashes for a data file."""
    return _written(strict_json(text, number=_Number))


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{','.join(f'{_quoted(name)}:{_written(one)}' for name, one in sorted(value.items()))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, str):
        return value if isinstance(value, _Number) else _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).translate(_SEPARATORS)
