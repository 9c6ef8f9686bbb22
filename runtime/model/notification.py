"""Notifications: inbound facts, and what became of them. Payloads are parsed by kind, when recorded and when loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from policy.contract import Verdict
from policy.operator_contract import Authorization
from receipts.chain import Actor
from runtime.model.approval import AskKind
from runtime.model.commands import RunCommand, TenantCommand
from runtime.model.payloads import (
    Answer,
    Answering,
    ClaimPayload,
    EditPayload,
    PayloadError,
    PersonPayload,
    Signal,
    SignalPayload,
    VotePayload,
)
from runtime.model.run import FoundStep
from runtime.model.states import NotificationStatus
from runtime.model.wait import NamedWait

Command = RunCommand | TenantCommand
Said = VotePayload | ClaimPayload | EditPayload | Answering
Payload = Said | Answer | SignalPayload | Signal | Command

_PAYLOAD: TypeAdapter[Payload] = TypeAdapter(Annotated[Payload, Field(discriminator="kind")])


def parse_payload(kind: str, document: Mapping[str, Any]) -> Payload:
    """Return the stored payload of a kind, or raise PayloadError naming every fault."""
    try:
        return _PAYLOAD.validate_python({**document, "kind": kind})
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise PayloadError("; ".join(faults)) from error


class ConflictError(Exception):
    """A sender used an id again, for something else."""

    def __init__(self) -> None:
        super().__init__("this id was used before, for something else: use a new id")


def dedupe_key_of(what: str, tenant: str, sender: str, ref: str) -> str:
    """Return the dedupe key of what a sender says under a ref of its own, beside answers: one ref may be of each kind.

    Answers have `TENANT:CALLER:ID`, and their ids may hold anything. No tenant's name has the `_` of `word_`.
    """
    return f"word_{what}:{tenant}:{sender}:{ref}"


@dataclass(frozen=True)
class Notification:
    """An inbound fact. `dedupe_key` is equal for deliveries of the same fact."""

    notification_id: str
    tenant: str
    dedupe_key: str
    correlation_key: str
    payload: Payload
    actor: Actor
    request_id: str
    status: NotificationStatus = NotificationStatus.RECEIVED
    outcome: Mapping[str, Any] | None = None
    forgotten: bool = False  # what nobody may see was taken out of the payload

    def is_repeated_by(self, other: "Notification") -> bool:
        """Return whether the other says the same, as far as it is still known what this one said."""
        is_same = self.forgotten or self.payload.says() == other.payload.says()
        return is_same and (self.correlation_key, self.actor) == (other.correlation_key, other.actor)

    @property
    def is_unconfirmed(self) -> bool:
        """Return whether it waits for Slack to confirm who says it."""
        return isinstance(self.payload, PersonPayload) and self.payload.is_unconfirmed


@dataclass(frozen=True)
class Judged:
    """What policy says of an act, and the step of which it was told, None where it was told of the run alone."""

    ruling: Authorization
    step: FoundStep | None = None


class AddressedRequest(NamedTuple):
    """A request on which somebody votes. The last two say what to read ahead, and decide nothing: they may change."""

    approval_id: str
    kind: AskKind
    step: str
    effect_id: str
    is_last: bool  # with this approval there are as many as it wants
    by_delegate: bool  # whoever votes has a delegation, of any time


@dataclass(frozen=True)
class Addressed:
    """A notification, the open waits that it names, and the run where it names one: read before anything is locked.

    `request` is that on which a vote is, None of anything else.
    """

    notification: Notification
    waits: Sequence[NamedWait]
    run_id: str | None
    request: AddressedRequest | None = None
    judged: Judged | None = None  # by policy, where it was asked
    foreseen: Verdict | None = None  # what policy would say of the request that an edit makes


@dataclass(frozen=True)
class NotificationState:
    """Where a notification stands, and the facts of what became of it."""

    status: NotificationStatus
    outcome: Mapping[str, Any] | None


@dataclass(frozen=True)
class ApplyResult:
    """What became of a notification, and the facts to keep with it.

    Where it `is_passed_on`, what it said stands elsewhere now, and is forgotten here.
    """

    status: NotificationStatus
    facts: dict[str, Any] = field(default_factory=dict)
    is_passed_on: bool = False
