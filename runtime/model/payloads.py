"""Payloads of notifications: what people say about an approval, what other systems answer, and timers.

People vote, claim, edit, withdraw, hand over, ask and reply. Other systems answer a wait, report progress, or send a
signal. The runtime tells itself that a wait's moment has come, or that a run that a step waits for has ended.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from runtime.model.passkey import Assertion
from runtime.model.votes import ClaimAct, Refusal, RefusalCode, Via, VoteVerdict


class PayloadError(Exception):
    """What was recorded is no notification of its kind; the message says where."""


class PayloadModel(BaseModel):
    """The base of all payloads: strict, and never changed once read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def says(self) -> dict[str, Any]:
        """Return what the sender said, by which a repeat is told from something else."""
        return self.model_dump()


class ConsoleWord(PayloadModel):
    """What somebody did in the console: by which account (`iss`, `sub`), and what the page of a vote showed.

    `shown` has the approval's `id`, `digest` and `stamp`, and the page's `text`, line by line.
    """

    issuer: Annotated[str, Field(min_length=1)]
    subject: Annotated[str, Field(min_length=1)]
    shown: dict[str, Any]


class PersonPayload(PayloadModel):
    """What a person says about an approval. `person_id` is None where the account belongs to nobody, or to several.

    `team` and `user` are the Slack account, "" where it came otherwise; `brought_by` is then the caller of the edge,
    and `console` is there for what was said in the console.
    """

    approval_id: str
    team: str
    user: str
    person_id: str | None
    refusal: Refusal | None
    via: Via = Via.SLACK
    brought_by: str = ""
    console: ConsoleWord | None = Field(default=None, exclude_if=lambda word: word is None)

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.via is Via.CONSOLE) != (self.console is not None):
            raise ValueError("console: it says what came by the console, and nothing else does")
        return self

    @property
    def is_unconfirmed(self) -> bool:
        """Return whether it waits for Slack to confirm who says it."""
        return self.refusal is not None and self.refusal.code is RefusalCode.UNCONFIRMED


class TogetherPayload(PayloadModel):
    """One act that decided several requests: its id, and how many they were."""

    id: Annotated[str, Field(min_length=1, max_length=255)]
    count: Annotated[int, Field(ge=2)]


class VotePayload(PersonPayload):
    """A verdict. `stamp` is that of the approval as the person saw it, "" where they saw none.

    With a `ticket` it does without the others' signatures: that uses break-glass. `assertion` is there where they have
    signed it with a passkey.
    """

    kind: Literal["vote"] = "vote"
    stamp: str
    verdict: VoteVerdict
    reason: str
    ticket: str = ""
    assertion: Assertion | None = Field(default=None, exclude_if=lambda assertion: assertion is None)
    together: TogetherPayload | None = None


class ClaimPayload(PersonPayload):
    """Somebody takes a review on, or gives it back."""

    kind: Literal["claim"] = "claim"
    act: ClaimAct


class EditPayload(PersonPayload):
    """Somebody edits and resubmits a request: `params` are those that they change, with their new values.

    What is null in them is to be left out. `stamp` as for a vote.
    """

    kind: Literal["edit"] = "edit"
    stamp: str
    params: dict[str, Any]
    reason: str


class WithdrawPayload(PersonPayload):
    """Somebody takes back their vote, for a reason. `stamp` is that of the request as the person saw it."""

    kind: Literal["withdraw"] = "withdraw"
    stamp: str
    reason: str


class HandPayload(PersonPayload):
    """Somebody hands a request to another person, `to`, for a reason. `stamp` as for a withdrawal."""

    kind: Literal["hand"] = "hand"
    stamp: str
    to: str
    reason: str


class AskPayload(PersonPayload):
    """Somebody who may decide asks whoever asked; `reason` is the question. `stamp` as for a withdrawal."""

    kind: Literal["ask"] = "ask"
    stamp: str
    reason: str


class ReplyPayload(PersonPayload):
    """Whoever asked answers a question: a person, or by the edge the caller `brought_by` itself."""

    kind: Literal["reply"] = "reply"
    question_id: str
    text: str


Answering = WithdrawPayload | HandPayload | AskPayload | ReplyPayload


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


class _AnswerPayload(PayloadModel):
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
        """Leave out what the directory lets the sender say: it may change between two deliveries."""
        return self.model_dump(exclude={"verbs", "wait_id"})


class CompletionPayload(_AnswerPayload):
    """A durable step's result, or its failure."""

    kind: Literal["completion"] = "completion"


class ProgressPayload(_AnswerPayload):
    """Word of progress, in `message` and `data`: it resumes nothing."""

    kind: Literal["progress"] = "progress"
    data: dict[str, Any] | None = None


class TriggerSaid(PayloadModel):
    """A trigger that became a signal: what its payload does not say of it."""

    type: str
    ref: str
    submitted_by: str


class SignalPayload(PayloadModel):
    """Word to a run, by a name under which a step of it waits for that, now or later.

    `trigger` is None where it was sent as a signal. A trigger that its run does not take before it ends starts one.
    """

    kind: Literal["signal"] = "signal"
    run_id: str
    name: str
    data: dict[str, Any]
    trigger: TriggerSaid | None = None


Answer = CompletionPayload | ProgressPayload


class _WaitPayload(PayloadModel):
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


Signal = DeadlinePayload | EscalationPayload | ChildEndedPayload
