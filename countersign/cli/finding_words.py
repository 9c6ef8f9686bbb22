"""A counted vote of the database as a line of a table."""

from typing import Any

from evidence.export.votes import change_of, decision_of, meaning_of, required_of, rule_of
from runtime.services.bundle_search import CountedVote


def vote_row(vote: CountedVote) -> dict[str, Any]:
    """Return the line of a vote; moments are aware, texts on one line but for the reason."""
    said = (vote.kind, vote.verdict, vote.ticket)
    return {
        "at": vote.at,
        "person": vote.person,
        "name": vote.name,
        "decision": decision_of(*said, is_withdrawn=vote.is_withdrawn),
        "meaning": meaning_of(*said, is_withdrawn=vote.is_withdrawn),
        "reason": vote.reason,
        "verb": vote.verb,
        "target": vote.target,
        "reference": vote.reference,
        "change": change_of((field.name, field.before, field.after) for field in vote.fields),
        "rule": rule_of(vote.rules, vote.purpose),
        "required": required_of(vote.requirement.document()),
        "requested_by": vote.requested_by,
        "run_id": vote.run_id,
        "definition": f"{vote.definition} v{vote.definition_version}",
        "step": vote.step,
        "approval_id": vote.approval_id,
        "account": vote.account,
        "bundle_sha256": vote.sha256,
    }
