"""Passage facts: what the gate must know beside an effect, read at once when its passage begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.approval import Change
from runtime.model.requirement import ExecuteWhen
from runtime.model.states import ApprovalStatus, StepStatus
from runtime.model.votes import VoteVerdict


@dataclass(frozen=True)
class VoteFacts:
    """A counted vote, with the groups for which it counts now, and the delegation by which it was given, if by one.

    `is_signed` says that it was signed with a passkey, `is_from_console` that it was given there.
    """

    person: str
    groups: tuple[str, ...]
    verdict: VoteVerdict
    at: datetime
    delegation: Mapping[str, Any] | None
    break_glass: Mapping[str, Any] | None
    is_signed: bool
    is_from_console: bool = False


@dataclass(frozen=True)
class ApprovalFacts:
    """The newest approval of the effect. `consumed_at` is when an attempt used it up.

    `execute` says when it is carried out, where its requirement does. `is_awaited` says that the run still waits for
    its decision: votes that grant an approval end that wait.
    """

    status: ApprovalStatus
    digest: str
    requested_at: datetime
    expires_at: datetime
    consumed_at: datetime | None
    votes: tuple[VoteFacts, ...]
    execute: ExecuteWhen | None = None
    is_awaited: bool = False

    @property
    def granted_at(self) -> datetime:
        """Return when the last of the votes was given that granted it."""
        return max((vote.at for vote in self.votes), default=self.requested_at)

    @property
    def usable_until(self) -> datetime:
        """Return from when on it is void, were it not used by then."""
        return self.granted_at + self.execute.lasts if self.execute else self.expires_at


@dataclass(frozen=True)
class EditFacts:
    """Who edited the effect, what they changed, and the approval that this voided."""

    approval_id: str
    person: str
    changes: Sequence[Change]


@dataclass(frozen=True)
class EarlierSuccess:
    """The receipt of a success under the same idempotency key; `response` is what a repeat is answered with."""

    fingerprint: str
    response: Any


@dataclass(frozen=True)
class PassageFacts:
    """The effect's run, requester, approval, task and earlier receipt. `writes` counts the run's other writes."""

    salt: str
    version: int  # of the run: nothing has happened to it as long as it has this one
    requested_by: str
    requester_kind: str
    requester_groups: tuple[str, ...]
    submitted_by: str
    definition_name: str
    definition_version: int
    trigger_type: str
    step_status: StepStatus | None  # None for a message
    writes: int
    task_id: str | None  # the review that the effect posts
    approval: ApprovalFacts | None
    done: EarlierSuccess | None
    edits: tuple[EditFacts, ...] = ()  # oldest first


_VOTE_AS_READ = ("person", "delegation", "break_glass", "is_signed", "is_from_console")
_AS_READ = (
    *("salt", "version", "requested_by", "requester_kind", "submitted_by", "definition_name", "definition_version"),
    *("trigger_type", "writes", "task_id"),
)


def passage_facts(row: Mapping[str, Any]) -> PassageFacts:
    """Parse what the store read in one row."""
    return PassageFacts(
        **{name: row[name] for name in _AS_READ},
        requester_groups=tuple(row["requester_groups"]),
        step_status=None if row["step_status"] is None else StepStatus(row["step_status"]),
        approval=_approval(row) if row["approval_status"] is not None else None,
        edits=tuple(EditFacts(one["approval_id"], one["person"], one["changes"]) for one in row["edits"] or ()),
        done=None if row["done_fingerprint"] is None else EarlierSuccess(row["done_fingerprint"], row["done_response"]),
    )


def _approval(row: Mapping[str, Any]) -> ApprovalFacts:
    return ApprovalFacts(
        status=ApprovalStatus(row["approval_status"]),
        digest=row["approval_digest"],
        requested_at=row["approval_requested_at"],
        expires_at=row["approval_expires_at"],
        consumed_at=row["approval_consumed_at"],
        execute=ExecuteWhen.of(row["approval_execute"]) if row["approval_execute"] else None,
        is_awaited=row["approval_is_awaited"],
        votes=tuple(
            VoteFacts(
                **{name: vote[name] for name in _VOTE_AS_READ},
                groups=tuple(vote["groups"]),
                verdict=VoteVerdict(vote["verdict"]),
                at=datetime.fromisoformat(vote["at"]),
            )
            for vote in row["votes"]
        ),
    )
