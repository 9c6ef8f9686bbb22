"""An inbound fact, and what became of it. Payloads are parsed by their kind, when recorded and when loaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from policy.model import Ruling
from receipts.chain import Actor
from runtime.model.approval import ClaimAct, RefusalCode, Via, VoteVerdict
from runtime.model.run import FoundStep, HeldAct
from runtime.model.states import NotificationStatus
from runtime.model.wait import NamedWait


class PayloadError(Exception):
    """What was recorded is no notification of its kind; the message says where."""


class AnswerCode(StrEnum):
    """Why an answer did not count."""

    EARLY = "answer.early"
    LATE = "answer.late"
    UNMATCHED = "answer.unmatched"
    BY_PEOPLE = "answer.by_people"
    BY_CLOCK = "answer.by_clock"
    BY_SIGNAL = "answer.by_signal"
    NOT_YOURS = "answer.not_yours"
    NO_TOKEN = "answer.no_token"  # noqa: S105 - a code, no secret
    OTHER_TOKEN = "answer.other_token"  # noqa: S105
    INVALID = "answer.invalid"


class _Payload(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class VoteRefusal(_Payload):
    """Why the bot knows already that a click cannot count."""

    code: RefusalCode
    about: tuple[str, ...]


class PersonPayload(_Payload):
    """What a person says about an approval. `person_id` is None where the account belongs to nobody, or to several.

    `team` and `user` are the Slack account, "" where it came otherwise; `brought_by` is then the caller of the edge.
    """

    approval_id: str
    team: str
    user: str
    person_id: str | None
    refusal: VoteRefusal | None
    via: Via = Via.SLACK
    brought_by: str = ""


class VotePayload(PersonPayload):
    """A verdict. `stamp` is that of the approval as the person saw it, "" where an old button did not carry one."""

    kind: Literal["vote"] = "vote"
    stamp: str
    verdict: VoteVerdict
    reason: str


class ClaimPayload(PersonPayload):
    """Somebody takes a review on, or gives it back."""

    kind: Literal["claim"] = "claim"
    act: ClaimAct


class _AnswerPayload(_Payload):
    """Word from the other side; `verbs` are those that its sender may answer for, `token` that of the wait it means.

    `wait_id` is None as long as it is for whatever its key and token name: what is for many is handed to each of them.
    """

    outcome: Literal["succeeded", "failed"] = "succeeded"
    result: Any = Field(default_factory=dict)
    error: str = ""
    message: str = ""
    token: str | None
    verbs: list[str]
    wait_id: str | None = None

    def says(self) -> dict[str, Any]:
        """Return what the sender said; what the directory lets them say may change between two deliveries."""
        return self.model_dump(exclude={"verbs", "wait_id"})


class CompletionPayload(_AnswerPayload):
    """A durable step's result, or its failure."""

    kind: Literal["completion"] = "completion"


class ProgressPayload(_AnswerPayload):
    """Word of progress, in `message` and `data`: it resumes nothing."""

    kind: Literal["progress"] = "progress"
    data: dict[str, Any] | None = None


class TriggerSaid(_Payload):
    """A trigger that became a signal: what its payload does not say of it."""

    type: str
    ref: str
    submitted_by: str


class SignalPayload(_Payload):
    """Word to a run, by a name under which a step of it waits for that, now or later.

    `trigger` is None where it was sent as a signal. A trigger that its run does not take before it ends starts one.
    """

    kind: Literal["signal"] = "signal"
    run_id: str
    name: str
    data: dict[str, Any]
    trigger: TriggerSaid | None = None

    def says(self) -> dict[str, Any]:
        """Return what the sender said, and to which run."""
        return self.model_dump()


class _WaitPayload(_Payload):
    wait_id: str
    token: str
    turn: int = 0  # of the wait, as it was when its moment came


class DeadlinePayload(_WaitPayload):
    """The deadline of a wait has come."""

    kind: Literal["deadline"] = "deadline"


class EscalationPayload(_WaitPayload):
    """Time runs short for a wait."""

    kind: Literal["escalation"] = "escalation"


class ChildEndedPayload(_WaitPayload):
    """A run that a step waits for has ended: `status` is its status, `error` why it did not succeed.

    `end` is the hash (hex) of the leaf with which it did.
    """

    kind: Literal["child_ended"] = "child_ended"
    child: str
    end: str
    status: str
    outcome: str
    output: Any
    error: str


class CancelPayload(_Payload):
    """Somebody wants a run to stop. `version` is that of the run as they saw it, None where they did not look.

    `submitted_by` is the caller that brought it, "" where none did.
    """

    kind: Literal["cancel"] = "cancel"
    run_id: str
    reason: str
    version: int | None = None
    submitted_by: str = ""


class UndoPayload(_Payload):
    """Somebody wants what a run did to be taken back: all of it, or one step's. `version` as for a cancel.

    `submitted_by` is the caller that brought it, "" where nobody did but whoever wants it.
    """

    kind: Literal["undo"] = "undo"
    run_id: str
    step: str | None
    reason: str
    version: int | None
    submitted_by: str = ""


class RetryPayload(_Payload):
    """Somebody wants what a run has put off to be tried now: all of it, or one effect. `version` as for a cancel."""

    kind: Literal["retry"] = "retry"
    run_id: str
    effect_id: str | None
    reason: str
    version: int | None


class MendPayload(_Payload):
    """A person says how a held step goes on; `result` is what they supply. `version` as for a cancel.

    `submitted_by` is the caller that brought it, or the person.
    """

    kind: Literal["mend"] = "mend"
    run_id: str
    step: str
    act: HeldAct
    result: Any = None
    reason: str
    version: int | None
    submitted_by: str


StrangerAct = HeldAct | Literal["undo"]
"""What the buttons of a step ask for."""


class StrangerPayload(_Payload):
    """Somebody who is no one person of the directory clicked a button of a step; `code` says why they are none."""

    kind: Literal["stranger"] = "stranger"
    run_id: str
    step: str
    act: StrangerAct
    code: RefusalCode


class RepairPayload(_Payload):
    """Somebody has mended what a stuck bundle is stuck for, and wants it tried anew."""

    kind: Literal["repair"] = "repair"
    run_id: str
    reason: str


class _LetterPayload(_Payload):
    letter_id: str  # the id of a notification
    reason: str


class RequeuePayload(_LetterPayload):
    """Somebody wants a dead letter to be looked at again."""

    kind: Literal["requeue"] = "requeue"


class DropPayload(_LetterPayload):
    """Somebody has seen a dead letter, and nothing is to be done about it."""

    kind: Literal["drop"] = "drop"


class _LifePayload(_Payload):
    name: str
    version: int
    reason: str


class ActivatePayload(_LifePayload):
    """Somebody wants new runs to start with a version, `beside` those that are active or in their place."""

    kind: Literal["activate"] = "activate"
    beside: bool


class RetirePayload(_LifePayload):
    """Somebody wants no new run to start with a version of a runbook."""

    kind: Literal["retire"] = "retire"


class DelegatePayload(_Payload):
    """Somebody wants one person to vote for another, from `starts_at` until before `ends_at`.

    `groups` are those in which they do; where none is named, all that the delegator is in when it is recorded.
    """

    kind: Literal["delegate"] = "delegate"
    delegator: str
    delegate: str
    groups: tuple[str, ...]
    starts_at: AwareDatetime
    ends_at: AwareDatetime
    reason: str = Field(min_length=1)


class UndelegatePayload(_Payload):
    """Somebody wants a delegation to be over now."""

    kind: Literal["undelegate"] = "undelegate"
    delegation_id: str
    reason: str = Field(min_length=1)


Answer = CompletionPayload | ProgressPayload
RunCommand = CancelPayload | UndoPayload | RetryPayload | MendPayload | StrangerPayload
TenantCommand = (
    RepairPayload | RequeuePayload | DropPayload | ActivatePayload | RetirePayload | DelegatePayload | UndelegatePayload
)
Command = RunCommand | TenantCommand
Signal = DeadlinePayload | EscalationPayload | ChildEndedPayload
Payload = VotePayload | ClaimPayload | Answer | SignalPayload | Signal | Command

_PAYLOAD: TypeAdapter[Payload] = TypeAdapter(Annotated[Payload, Field(discriminator="kind")])


def parse_payload(kind: str, document: Mapping[str, Any]) -> Payload:
    """Return the stored payload of a kind, or raise PayloadError naming every fault."""
    try:
        return _PAYLOAD.validate_python({**document, "kind": kind})
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False))
        raise PayloadError("; ".join(faults)) from error


def word_key(what: str, tenant: str, sender: str, ref: str) -> str:
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


@dataclass(frozen=True)
class Judged:
    """What policy says of an act, and the held step of which it was told, None where it was told of the run alone."""

    ruling: Ruling
    step: FoundStep | None = None


@dataclass(frozen=True)
class Addressed:
    """A notification, the open waits that it names, and the run where it names one: read before anything is locked."""

    notification: Notification
    waits: Sequence[NamedWait]
    run_id: str | None
    judged: Judged | None = None  # by policy, where it was asked


@dataclass(frozen=True)
class Standing:
    """Where a notification stands, and the facts of what became of it."""

    status: NotificationStatus
    outcome: Mapping[str, Any] | None


@dataclass(frozen=True)
class Applied:
    """What became of a notification, and the facts to keep with it.

    Where it `is_passed_on`, what it said stands elsewhere now, and is forgotten here.
    """

    status: NotificationStatus
    facts: dict[str, Any] = field(default_factory=dict)
    is_passed_on: bool = False
