"""A vote as a line of a table: what it meant, by which rule it was asked for, and what it changed."""

import json
from typing import Any

from evidence.reading.words import ALONE, MEANINGS, NO_MORE, WITHDRAWN, by_glass, verdict
from runtime.desk.bundles.finding import CountedVote
from runtime.desk.model import FieldView

VOTE_COLUMNS = (
    *("at", "person", "name", "decision", "meaning", "reason", "verb", "target", "reference", "change", "rule"),
    *("required", "requested_by", "run_id", "definition", "step", "approval_id", "account", "bundle_sha256"),
)

_LONGEST = 120
"""Characters of a value in one line; the bundle has all of it."""


def vote_row(vote: CountedVote) -> dict[str, Any]:
    """Return the line of a vote; moments are aware, texts on one line but for the reason."""
    return {
        "at": vote.at,
        "person": vote.person,
        "name": vote.name,
        "decision": verdict(vote.kind, vote.verdict) + by_glass(vote.ticket) + (WITHDRAWN if vote.is_withdrawn else ""),
        "meaning": NO_MORE if vote.is_withdrawn else _meaning(vote),
        "reason": vote.reason,
        "verb": vote.verb,
        "target": vote.target,
        "reference": vote.reference,
        "change": "; ".join(map(_change, vote.fields)),
        "rule": _rule(vote),
        "required": _required(vote),
        "requested_by": vote.requested_by,
        "run_id": vote.run_id,
        "definition": f"{vote.definition} v{vote.definition_version}",
        "step": vote.step,
        "approval_id": vote.approval_id,
        "account": vote.account,
        "bundle_sha256": vote.sha256,
    }


def _meaning(vote: CountedVote) -> str:
    return MEANINGS[vote.kind, vote.verdict] + (ALONE if vote.ticket else "")


def _change(field: FieldView) -> str:
    after = _shown(field.after)
    return f"{field.name}: {after}" if field.before is None else f"{field.name}: {_shown(field.before)} → {after}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _rule(vote: CountedVote) -> str:
    """Return policy's rules in its words, or else what the runbook asks for."""
    return "; ".join(f"{code}: {msg}" for code, msg in vote.rules) or vote.purpose


def _required(vote: CountedVote) -> str:
    groups = (" and " if vote.requirement.all_groups else " or ").join(vote.requirement.groups)
    return f"{vote.requirement.quorum} of {groups}"
