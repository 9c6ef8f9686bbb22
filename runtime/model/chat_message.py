"""Chat messages: the base of all, alarms, what policy wants told, and what people are told of delegations.

Delegators and delegates are told when a delegation was recorded, ended or used. People stand in it by name.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from runtime.model.votes import VoteVerdict


class Message(BaseModel):
    """Closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RunName(Message):
    """A run as people know it: the title of its runbook, and the reference under which it was triggered."""

    title: str
    reference: str


class CardTampered(Message):
    """Somebody else than the program edited a card by hand."""

    kind: Literal["card_tampered"] = "card_tampered"
    run: RunName
    step: str
    person: str


class ReviewLate(Message):
    """Nobody has said in time whether it was right to do without the signatures of others."""

    kind: Literal["review_late"] = "review_late"
    run: RunName
    step: str
    groups: list[str]
    until: str


class BreakGlassUsed(Message):
    """Somebody did without the signatures of others; `reviewer` is who found that not justified, `why` theirs."""

    kind: Literal["break_glass_used"] = "break_glass_used"
    run: RunName
    step: str
    person: str
    why: str
    ticket: str
    reviewer: str = ""


class PolicyNotice(Message):
    """An effect begins of which policy wants groups told, in its words (`body`)."""

    kind: Literal["policy_notice"] = "policy_notice"
    run: RunName
    step: str
    body: str


class Unfulfillable(Message):
    """An approval was asked for that nobody can give."""

    kind: Literal["unfulfillable"] = "unfulfillable"
    run: RunName
    step: str
    why: str


class DelegationChanged(Message):
    """`person` recorded a delegation, or ended it before its time; `reason` is theirs."""

    kind: Literal["delegation_changed"] = "delegation_changed"
    act: Literal["recorded", "ended"]
    delegator: str
    delegate: str
    groups: list[str]
    starts_at: str
    ends_at: str
    person: str
    reason: str


class DelegateVoted(Message):
    """A delegate voted for their delegator."""

    kind: Literal["delegate_voted"] = "delegate_voted"
    run: RunName
    step: str
    delegator: str
    delegate: str
    verdict: Annotated[VoteVerdict, Field(strict=False)]
    leaves_open: bool = Field(default=False, exclude_if=lambda leaves_open: not leaves_open)
