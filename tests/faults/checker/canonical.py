"""Canonical JSON and its digests, written anew: what the program says of itself is derived by somebody else."""

import hashlib
import json
from typing import Any


def canonical(value: Any) -> bytes:
    """Return the bytes of RFC 8785, for what stands in records: text, whole numbers, plain fractions."""
    return _text(value).encode()


def _text(value: Any) -> str:
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: str(name).encode("utf-16-be"))
        return "{" + ",".join(f"{_text(name)}:{_text(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical bytes, as records name each other."""
    return hashlib.sha256(canonical(value)).hexdigest()


def leaf_hash(leaf: dict[str, Any]) -> str:
    """Return the hash of a leaf of the audit chain: RFC 6962, over the leaf without its own hash."""
    body = {name: value for name, value in leaf.items() if name != "hash"}
    return hashlib.sha256(b"\x00" + canonical(body)).hexdigest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node of a Merkle log: RFC 6962."""
    return hashlib.sha256(b"\x01" + left + right).digest()
