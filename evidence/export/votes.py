"""A vote as a line of a table: what it meant, by which rule it was asked for, and what it changed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evidence.reading.words import ALONE, MEANINGS, NO_MORE, WITHDRAWN, by_glass, verdict
from receipts import canonical

VOTE_COLUMNS = (
    *("at", "person", "name", "decision", "meaning", "reason", "verb", "target", "reference", "change", "rule"),
    *("required", "requested_by", "run_id", "definition", "step", "approval_id", "account", "bundle_sha256"),
)

_LONGEST = 120
"""Characters of a value in one line; the bundle has all of it."""

Change = tuple[str, Any, Any]
"""The name of a field, its value before (None where that is not known), and its value after."""


def decision_of(kind: str, code: str, ticket: str, *, is_withdrawn: bool) -> str:
    """Return what a person decided, in words."""
    return verdict(kind, code) + by_glass(ticket) + (WITHDRAWN if is_withdrawn else "")


def meaning_of(kind: str, code: str, ticket: str, *, is_withdrawn: bool) -> str:
    """Return what the signature means, after the name of who signed."""
    return NO_MORE if is_withdrawn else MEANINGS.get((kind, code), "") + (ALONE if ticket else "")


def required_of(requirement: Mapping[str, Any]) -> str:
    """Return how many had to sign, of which groups."""
    groups = (" and " if requirement.get("all_groups") else " or ").join(requirement.get("groups", ()))
    return f"{requirement.get('quorum')} of {groups}"


def rule_of(rules: Sequence[tuple[str, str]], purpose: str) -> str:
    """Return policy's rules in its words, or else what the runbook asks for."""
    return "; ".join(f"{code}: {msg}" for code, msg in rules) or purpose


def change_of(changes: Iterable[Change]) -> str:
    """Return what would change, in the order of the fields' names."""
    return "; ".join(map(_change, sorted(changes, key=lambda change: change[0])))


def _change(change: Change) -> str:
    name, before, after = change
    return f"{name}: {_shown(after)}" if before is None else f"{name}: {_shown(before)} → {_shown(after)}"


def _shown(value: Any) -> str:
    """Return a value in one line, the same however it was stored."""
    text = value if isinstance(value, str) else _json(value)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _json(value: Any) -> str:
    return json.dumps(canonical.loads(canonical.dumps(value)), ensure_ascii=False)
