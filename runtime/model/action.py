"""The canonical action: what an effect is, in the one form that is digested, asked about, shown and put on record.

Values that must not be seen are replaced by a keyed commitment before anything is hashed: a change behind it changes
the digest, and nobody without the run's salt can test a guess.
"""

import copy
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from receipts.canonical import digest, dumps
from receipts.privacy import redact_everywhere
from receipts.redaction import parse_pointer, value_at


class Tier(StrEnum):
    """The declared risk of a write; policy may raise it."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True)
class Action:
    """An effect's public form. `redacted` lists the JSON pointers, into `fields`, of what stands hidden."""

    connector: str
    operation: str
    target: str
    fields: Mapping[str, Any]
    redacted: tuple[str, ...]
    digest: str


@dataclass(frozen=True, kw_only=True)
class Acting:
    """What an effect does to the world: the members that its digest covers."""

    connector: str  # the part of the verb's handler before `::`
    operation: str  # and after it
    target: str  # what is acted on, for people, policy and caps: `register:5493…`
    fields: Mapping[str, Any]  # what the connector gets, secrets and all
    tier: Tier
    reversible_by: str | None  # the verb that undoes it
    redact: Sequence[str]  # JSON pointers, into `fields`, of what nobody may see
    idempotency_key: str  # under which the other side, and we, do it once
    forgotten: Sequence[str] | None  # JSON pointers of what was hidden, once `fields` hold no secrets any more

    def action(self, salt: str) -> Action:
        """Return the canonical action; `redact` and names like secrets' are hidden, bound by `salt`."""
        if self.forgotten is not None:
            return self._action(self.fields, tuple(self.forgotten))
        hidden = redact_everywhere(dict(self.fields), self.redact)
        public = hidden.value
        for path in hidden.paths:
            public = _replaced(public, parse_pointer(path), _stand_in(value_at(self.fields, parse_pointer(path)), salt))
        return self._action(public, hidden.paths)

    def _action(self, public: Mapping[str, Any], hidden: tuple[str, ...]) -> Action:
        body = {
            "connector": self.connector,
            "operation": self.operation,
            "target": self.target,
            "fields": public,
            "idempotency_key": self.idempotency_key,
            "tier": self.tier,
            "reversible_by": self.reversible_by,
        }
        return Action(self.connector, self.operation, self.target, public, hidden, digest(body))


def dedupe_key(*parts: str) -> str:
    """Return 128 bits of SHA-256 of (definition, run, step, command), hexadecimal.

    The same plan, made twice, is one effect (seed 5).
    """
    return digest(list(parts))[:32]


def commitment(value: Any, salt: str) -> str:
    """Return what binds a value without telling it: keyed by the tenant's salt, so that a guess cannot be tested."""
    return hmac.new(salt.encode(), dumps(value), hashlib.sha256).hexdigest()[:32]


def _stand_in(value: Any, salt: str) -> str:
    return f"[redacted:{commitment(value, salt)}]"


def _replaced(value: Any, tokens: Sequence[str], new: Any) -> Any:
    if not tokens:
        return new
    changed = copy.copy(value)
    key: Any = int(tokens[0]) if isinstance(value, list) else tokens[0]
    changed[key] = _replaced(value[key], tokens[1:], new)
    return changed
