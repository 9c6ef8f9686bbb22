"""What people are asked and what they say: approvals, requirements, votes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

import isodate

from receipts.canonical import digest as digest_of
from receipts.fields import timestamp
from runtime.model.action import Tier
from runtime.model.delegation import delegator_of


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


class ClaimAct(StrEnum):
    """What one person does with a review beside answering it: says that they work on it, or gives it back."""

    CLAIM = "claim"
    RELEASE = "release"


class Via(StrEnum):
    """How a person's word came in."""

    SLACK = "slack"
    COMMAND = "command"
    EDGE = "edge"  # brought by a caller that may answer for the person


class RefusalCode(StrEnum):
    """Why a click does not count; stable, since it goes into the audit. The bot words each of them."""

    UNKNOWN = "vote.unknown"
    OTHER_ACTION = "vote.other_action"
    CLOSED = "vote.closed"
    EXPIRED = "vote.expired"
    STALE = "vote.stale"
    REQUESTER = "vote.requester"
    EXCLUDED = "vote.excluded"
    NOT_IN_GROUP = "vote.not_in_group"
    REPEATED = "vote.repeated"
    REASON_MISSING = "vote.reason_missing"
    BROUGHT = "vote.brought"
    NO_TASK = "task.none"
    CLAIMED = "task.claimed"
    CLAIMED_BEFORE = "task.claimed_before"
    NOT_CLAIMED = "task.not_claimed"
    OTHER_TEAM = "identity.other_team"
    DEACTIVATED = "identity.deactivated"
    BOT = "identity.bot"
    GUEST = "identity.guest"
    UNCLEAR = "identity.unclear"
    NOT_IN_DIRECTORY = "identity.unknown"
    AMBIGUOUS = "identity.ambiguous"
    LOOKUP_FAILED = "identity.lookup_failed"
    UNUSABLE = "inbox.unusable"
    FAILING = "inbox.failing"


@dataclass(frozen=True)
class Refusal:
    """Why a click does not count.

    `about` are the status that a closed request has, the groups that are asked, or the name of who works on it.
    """

    code: RefusalCode
    about: tuple[str, ...] = ()


class ResultCode(StrEnum):
    """What became of what people were asked about. The bot words each of them."""

    PERFORMED = "performed"
    PERFORMED_BEFORE = "performed_before"  # under the same idempotency key
    CONFIRMED = "confirmed"  # it was in doubt, and a person says that it happened
    REJECTED = "rejected"
    NOT_IN_TIME = "not_in_time"  # nobody decided; expiry is never consent
    NOT_PERFORMED = "not_performed"
    WORDED = "worded"  # by the first release


@dataclass(frozen=True)
class Result:
    """What became of it; `about` are those who rejected it, why it was not performed, or the first release's words."""

    code: ResultCode
    about: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Result":
        """Read a stored result."""
        return cls(ResultCode(document["code"]), tuple(document["about"]))

    def document(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {"code": self.code, "about": list(self.about)}


@dataclass(frozen=True)
class NextInLine:
    """Groups that are asked, too, once `after` (ISO 8601) has passed; "" where the first release asked policy."""

    after: str
    to: tuple[str, ...]

    @property
    def waits(self) -> timedelta:
        """Return how long they are not asked."""
        duration: timedelta = isodate.parse_duration(self.after)
        return duration


@dataclass(frozen=True)
class Requirement:
    """What an authorization must fulfil; `groups` are any-of, or all-of with `all_groups`."""

    quorum: int
    groups: tuple[str, ...]
    all_groups: bool
    exclude: tuple[str, ...]
    reason_required: bool
    escalate_to: tuple[NextInLine, ...]  # in the order of their time
    expires_in: str  # ISO 8601 duration

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Requirement":
        """Read a stored requirement."""
        return cls(
            quorum=document["quorum"],
            groups=tuple(document["groups"]),
            all_groups=document["all_groups"],
            exclude=tuple(document["exclude"]),
            reason_required=document["reason_required"],
            escalate_to=_next_in_line(document["escalate_to"]),
            expires_in=document["expires_in"],
        )

    @classmethod
    def of_one(cls, groups: Sequence[str], lasts: timedelta, *, reason_required: bool = False) -> "Requirement":
        """Return the requirement of one person out of the groups."""
        return cls(1, tuple(groups), False, (), reason_required, (), isodate.duration_isoformat(lasts))  # noqa: FBT003

    def document(self) -> dict[str, Any]:
        """Return it as it is stored and put on record."""
        return {
            "quorum": self.quorum,
            "groups": list(self.groups),
            "all_groups": self.all_groups,
            "exclude": list(self.exclude),
            "expires_in": self.expires_in,
            "reason_required": self.reason_required,
            "escalate_to": self._escalate_to(),
        }

    def _escalate_to(self) -> list[Any]:
        if self.escalate_to and not self.escalate_to[0].after:
            return list(self.leads)
        return [{"after": entry.after, "to": list(entry.to)} for entry in self.escalate_to]

    @property
    def leads(self) -> tuple[str, ...]:
        """Return the groups that may decide once time has run short, each once."""
        return tuple(dict.fromkeys(group for entry in self.escalate_to for group in entry.to))

    @property
    def lasts(self) -> timedelta:
        """Return how long people have."""
        duration: timedelta = isodate.parse_duration(self.expires_in)
        return duration

    def electorate(self, joined: Sequence[str]) -> tuple[str, ...]:
        """Return the groups whose members may vote; of those next in line, the ones that have `joined` by now."""
        return (*self.groups, *joined)


def _next_in_line(stored: Sequence[Any]) -> tuple[NextInLine, ...]:
    """Read who is next in line: groups with their times, or the mere groups of what the first release asked."""
    if stored and isinstance(stored[0], str):
        return (NextInLine("", tuple(stored)),)
    return tuple(NextInLine(entry["after"], tuple(entry["to"])) for entry in stored)


def stamp(digest: str, requirement: Requirement, status: ApprovalStatus) -> str:
    """Return what a click is bound to: another action, requirement or status changes it, another vote does not."""
    return digest_of([digest, requirement.document(), status])[:16]


@dataclass(frozen=True)
class NewApproval:
    """A question to people about one effect. `before` holds the present values of what would change, where known."""

    approval_id: str
    effect_id: str
    step: str
    kind: AskKind
    digest: str  # of the canonical action that is asked about
    tier: Tier
    requirement: Requirement
    reasons: Sequence[Mapping[str, str]]  # of policy: code and msg
    before: Mapping[str, Any]
    purpose: str  # what the step is for, in its author's words
    shortfall: str = ""  # why nobody can fulfil it, as the directory stands; "" where people can
    shown: Mapping[str, Any] | None = None  # what its author declared for its card

    def document(self, asked_at: datetime) -> dict[str, Any]:
        """Return the request as evidence has it: what was asked, of whom, until when, and what was there before."""
        return {
            "id": self.approval_id,
            "effect_id": self.effect_id,
            "step": self.step,
            "kind": str(self.kind),
            "digest": self.digest,
            "tier": str(self.tier),
            "requirement": self.requirement.document(),
            "reasons": [dict(reason) for reason in self.reasons],
            "before": dict(self.before),
            "purpose": self.purpose,
            "requested_at": timestamp(asked_at),
            "expires_at": timestamp(asked_at + self.requirement.lasts),
        }


@dataclass(frozen=True)
class Approval:
    """A row of approvals, as far as the rules need it."""

    approval_id: str
    run_id: str
    effect_id: str
    step: str
    kind: AskKind
    digest: str
    tier: Tier
    requirement: Requirement
    status: ApprovalStatus
    revision: int  # rises with every change of what the card shows
    joined: Sequence[str]  # groups next in line that may vote too, since time has run short
    channel: str | None
    card_ts: str | None  # of the card's message in the channel
    expires_at: datetime  # later than it was asked, where it was given more time
    consumed_at: datetime | None  # when an attempt used it up
    assignee: str | None  # the person who has claimed a review

    @property
    def stamp(self) -> str:
        """Return what a click on its card, as it is now, is bound to."""
        return stamp(self.digest, self.requirement, self.status)


@dataclass(frozen=True)
class Vote:
    """One person's verdict; `team` and `account` are the Slack account that clicked.

    One that was given for somebody else has the groups of theirs that the delegation gives.
    Where the word did not come from Slack, they are the account by which the directory knows the person, and
    `brought_by` is the caller of the edge that brought it. Who has no account has "" and their own id.
    """

    person: str
    person_name: str
    groups: Sequence[str]
    verdict: VoteVerdict
    reason: str
    team: str
    account: str
    at: datetime
    via: Via = Via.SLACK
    brought_by: str = ""
    delegation: Mapping[str, Any] | None = None  # by which it was given for somebody else, as `StandIn.document`

    @property
    def delegator(self) -> str | None:
        """Return the person for whom it was given, or None where that is the voter."""
        return delegator_of(self.delegation)

    @property
    def people(self) -> frozenset[str]:
        """Return who has voted with it: the voter, and for whom."""
        return frozenset({self.person, self.delegator or self.person})

    @property
    def given_by(self) -> str:
        """Return by whom it was given, and for whom, as people are told."""
        return f"{self.person_name} for {self.delegation['delegator_name']}" if self.delegation else self.person_name

    def document(self) -> dict[str, Any]:
        """Return the vote as evidence has it."""
        otherwise = {} if self.via is Via.SLACK else {"via": str(self.via), "brought_by": self.brought_by}
        delegated = {} if self.delegation is None else {"delegation": dict(self.delegation)}
        return {
            **otherwise,
            **delegated,
            "person": self.person,
            "person_name": self.person_name,
            "groups": list(self.groups),
            "verdict": str(self.verdict),
            "reason": self.reason,
            "slack": {"team": self.team, "user": self.account},
            "at": timestamp(self.at),
        }
