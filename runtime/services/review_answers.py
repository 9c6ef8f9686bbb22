"""Review answers: what a person says about a review otherwise than in Slack, as it goes into the inbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.model.limits import error_text
from runtime.model.payloads import ClaimPayload, VotePayload
from runtime.model.states import ApprovalStatus
from runtime.model.votes import ClaimAct, Refusal, RefusalCode, Via, VoteVerdict


@dataclass(frozen=True)
class ReviewAnswer:
    """What a person says about a review. `stamp` is that of the review as they saw it, "" for a claim."""

    task_id: str
    person: str
    says: VoteVerdict | ClaimAct
    reason: str = ""
    stamp: str = ""


def answer_payload(said: ReviewAnswer, via: Via, brought_by: str = "") -> VotePayload | ClaimPayload:
    """Return what goes into the inbox."""
    who = {
        "approval_id": said.task_id,
        "team": "",
        "user": "",
        "person_id": said.person,
        "refusal": None,
        "via": via,
        "brought_by": brought_by,
    }
    if isinstance(said.says, ClaimAct):
        return ClaimPayload(**who, act=said.says)
    return VotePayload(**who, stamp=said.stamp, verdict=said.says, reason=error_text(said.reason))


def outcome_of(facts: Mapping[str, Any]) -> tuple[Refusal | None, ApprovalStatus | None]:
    """Return why what a person said did not count, or None, and where the review stands after it."""
    refusal = None if facts["counted"] else Refusal(RefusalCode(facts["code"]), tuple(facts.get("about", ())))
    return refusal, ApprovalStatus(facts["approval"]) if facts["approval"] else None
