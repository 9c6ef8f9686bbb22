"""What people are asked and what they say: approvals, requirements, votes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class AskKind(StrEnum):
    """What a card asks a person: to authorize an effect, to do a review, or to say what became of an attempt."""

    EFFECT = "effect"
    TASK = "task"
    IN_DOUBT = "in_doubt"


class ApprovalStatus(StrEnum):
    """The approval state machine (design, section 5)."""

    REQUESTED = "requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELED = "canceled"


class VoteVerdict(StrEnum):
    """What one person says."""

    APPROVE = "approve"
    REJECT = "reject"


@dataclass(frozen=True)
class Refusal:
    """Why a click does not count. `code` is stable and goes into the audit; `text` is said to the person in private."""

    code: str
    text: str


@dataclass(frozen=True)
class Requirement:
    """What an authorization must fulfil; `groups` are any-of, or all-of with `all_groups`."""

    quorum: int
    groups: tuple[str, ...]
    all_groups: bool
    exclude: tuple[str, ...]
    reason_required: bool
    escalate_to: tuple[str, ...]
    expires_in: str

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Requirement":
        """Read a stored requirement."""
        return cls(
            quorum=document["quorum"],
            groups=tuple(document["groups"]),
            all_groups=document["all_groups"],
            exclude=tuple(document["exclude"]),
            reason_required=document["reason_required"],
            escalate_to=tuple(document["escalate_to"]),
            expires_in=document["expires_in"],
        )

    def electorate(self, *, escalated: bool) -> tuple[str, ...]:
        """Return the groups whose members may vote; those next in line only once time has run short."""
        return (*self.groups, *self.escalate_to) if escalated else self.groups


@dataclass(frozen=True)
class Approval:
    """A row of approvals, as far as the rules need it."""

    approval_id: str
    run_id: str
    effect_id: str
    step: str
    kind: str
    digest: str
    tier: str
    requirement: Mapping[str, Any]
    status: str
    revision: int
    escalated: bool
    channel: str | None
    card_ts: str | None
    expires_at: datetime
    consumed_at: datetime | None


@dataclass(frozen=True)
class Vote:
    """One person's verdict."""

    person: str
    person_name: str
    groups: Sequence[str]
    verdict: str
    reason: str
    team: str
    account: str
    at: datetime
