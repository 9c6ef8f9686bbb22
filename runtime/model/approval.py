"""Approvals: what people are asked, what became of it, and edits of a request before it was approved.

An edit says who changed which params of an action; it voids the approval, and the request is made again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from receipts.canonical import digest as digest_of
from receipts.canonical import dumps
from receipts.fields import timestamp
from runtime.model.action import Tier
from runtime.model.requirement import Requirement
from runtime.model.routing import NOWHERE, Route
from runtime.model.states import ApprovalStatus
from runtime.model.stored import Stored


class AskKind(StrEnum):
    """What a card asks a person: to authorize an effect, to do a review, to say what became of an attempt.

    Or to say afterwards whether it was right to do without the signatures that were asked for.
    """

    EFFECT = "effect"
    TASK = "task"
    IN_DOUBT = "in_doubt"
    AFTERWARDS = "afterwards"

    @property
    def outlives_run(self) -> bool:
        """Return whether it is asked until somebody answers, whatever becomes of the run."""
        return self in (AskKind.IN_DOUBT, AskKind.AFTERWARDS)


class StandingChange(StrEnum):
    """What has changed of what counts for a request."""

    VOTE_LAPSED = "vote_lapsed"  # who gave it is not in the groups that are asked any more
    VOTE_BACK = "vote_back"
    ENOUGH_AGAIN = "enough_again"  # people who can decide it, of whom there were not
    OUTGROWN = "outgrown"  # policy asks for more than was approved
    VOTED_NO = "voted_no"  # by somebody without a veto: it is open as before


class ResultCode(StrEnum):
    """What became of what people were asked about. The bot words each of them."""

    PERFORMED = "performed"
    PERFORMED_BEFORE = "performed_before"  # under the same idempotency key
    CONFIRMED = "confirmed"  # it was in doubt, and a person says that it happened
    ANSWERED = "answered"  # it was in doubt, and what it asked for has come
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"
    NOT_IN_TIME = "not_in_time"  # nobody decided; expiry is never consent
    NOT_PERFORMED = "not_performed"
    WINDOW = "window"  # approved, and carried out once its window opens
    BUDGET = "budget"  # approved, and carried out once its budget begins again
    REPLACED = "replaced"  # by the request that somebody made of it: they edited and resubmitted it
    OUTGROWN = "outgrown"  # approved, and policy has asked for more since
    CANCELED = "canceled"  # with its run, by somebody


@dataclass(frozen=True)
class Result(Stored):
    """What became of it.

    `about` are those who rejected it, who canceled it and why, who edited it, why it was not performed, or from when on
    it is carried out (RFC 3339 UTC).
    """

    code: ResultCode
    about: tuple[str, ...] = ()


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
    shortfall: str = ""  # why too few people may approve it, as the directory stands; "" where enough may
    shown: Mapping[str, Any] | None = None  # what its author declared for its card
    route: Route = NOWHERE  # where its cards go
    joined: Sequence[str] = ()  # of those next in line, who may decide from the beginning, since others cannot

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
class NamedApproval:
    """An approval, by its id."""

    approval_id: str


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
    route: Route  # where its cards go

    @property
    def stamp(self) -> str:
        """Return what a click on its card, as it is now, is bound to."""
        return stamp(self.digest, self.requirement, self.status)


Change = Mapping[str, Any]
"""Of one param (`param`): its value `before` and `after`; a member is left out where it was, or is, not given."""


@dataclass(frozen=True)
class Edit:
    """One person's edit. It voids the approval and makes the action anew; `team` and `account` are who clicked."""

    approval_id: str  # that it voided
    effect_id: str
    person: str
    person_name: str
    groups: Sequence[str]  # of the person, then
    reason: str
    team: str
    account: str
    replaced: str  # digest of the action as it was
    digest: str  # and as it is since
    changes: Sequence[Change]
    at: datetime

    def document(self) -> dict[str, Any]:
        """Return the edit as evidence has it."""
        return {
            "person": self.person,
            "person_name": self.person_name,
            "groups": list(self.groups),
            "reason": self.reason,
            "slack": {"team": self.team, "user": self.account},
            "from": self.replaced,
            "to": self.digest,
            "changes": [dict(change) for change in self.changes],
            "at": timestamp(self.at),
        }


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return what is another in the fields of an action, by the params' names; 1 and 1.0 are the same number."""
    return [
        {"param": name, **_given("before", before, name), **_given("after", after, name)}
        for name in sorted({*before, *after})
        if (name in before) != (name in after) or dumps(before.get(name)) != dumps(after.get(name))
    ]


def as_before(fields: Mapping[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    """Return the fields of an action as they were before changes that were made to them."""
    kept = {name: value for name, value in fields.items() if name not in {change["param"] for change in changes}}
    return kept | {change["param"]: change["before"] for change in changes if "before" in change}


def _given(what: str, fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {what: fields[name]} if name in fields else {}
