"""The canonical action: what an effect is, in the one form that is digested, asked about, shown and put on record.

Values that must not be seen are replaced by a keyed commitment before anything is hashed: a change behind it changes
the digest, and nobody without the run's salt can test a guess.
"""

import copy
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.canonical import digest, dumps
from receipts.redaction import parse_pointer, redact


@dataclass(frozen=True)
class Action:
    """An effect's public form. `redacted` lists the JSON pointers, into `fields`, of what stands hidden."""

    connector: str
    operation: str
    target: str
    fields: Mapping[str, Any]
    redacted: tuple[str, ...]
    digest: str


def make_action(
    *,
    connector: str,
    operation: str,
    target: str,
    fields: Mapping[str, Any],
    idempotency_key: str,
    tier: str,
    reversible_by: str | None,
    pointers: Sequence[str],
    salt: str,
) -> Action:
    """Return the canonical action; `pointers` are declared redactions, and names like secrets' are hidden too."""
    hidden = redact(dict(fields), pointers)
    public = hidden.value
    for path in hidden.paths:
        public = _replaced(public, parse_pointer(path), _stand_in(_at(fields, parse_pointer(path)), salt))
    body = {
        "connector": connector,
        "operation": operation,
        "target": target,
        "fields": public,
        "idempotency_key": idempotency_key,
        "tier": tier,
        "reversible_by": reversible_by,
    }
    return Action(connector, operation, target, public, hidden.paths, digest(body))


def dedupe_key(*parts: str) -> str:
    """Return SHA-256 of (definition, run, step, command): the same plan, made twice, is one effect (seed 5)."""
    return digest(list(parts))


def commitment(value: Any, salt: str) -> str:
    """Return what binds a value without telling it: keyed by the tenant's salt, so that a guess cannot be tested."""
    return hmac.new(salt.encode(), dumps(value), hashlib.sha256).hexdigest()[:32]


def _stand_in(value: Any, salt: str) -> str:
    return f"[redacted:{commitment(value, salt)}]"


def _at(value: Any, tokens: Sequence[str]) -> Any:
    for token in tokens:
        value = value[int(token)] if isinstance(value, list | tuple) else value[token]
    return value


def _replaced(value: Any, tokens: Sequence[str], new: Any) -> Any:
    if not tokens:
        return new
    changed = copy.copy(value)
    key: Any = int(tokens[0]) if isinstance(value, list) else tokens[0]
    changed[key] = _replaced(value[key], tokens[1:], new)
    return changed
