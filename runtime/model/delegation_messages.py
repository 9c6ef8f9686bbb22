"""What delegator and delegate are told: a delegation was recorded, ended or used. People stand in it by name."""

from typing import Annotated, Literal

from pydantic import Field

from runtime.model.message import Message, RunName
from runtime.model.votes import VoteVerdict


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
