"""What the other side says: answers to a wait, word of progress, signals."""

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from runtime.model.payload import PayloadModel


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
        """Return what the sender said; what the directory lets them say may change between two deliveries."""
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

    def says(self) -> dict[str, Any]:
        """Return what the sender said, and to which run."""
        return self.model_dump()


Answer = CompletionPayload | ProgressPayload
