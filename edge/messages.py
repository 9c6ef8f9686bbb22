"""What callers send and get, strictly: unknown members are refused."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from receipts.costs import Costs

Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Sentence = Annotated[str, StringConstraints(max_length=2000)]


class Message(BaseModel):
    """Frozen, strict, and closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TriggerIn(Message):
    """A wish to start a run. `ref` names the event at its source: the same ref never starts a second run.

    `version` names one of the active versions of the runbook; without it the newest of them starts.
    """

    ref: Word
    payload: dict[str, Any]
    on_behalf_of: Word | None = None
    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = None


class TriggerSignalOut(Message):
    """The signal that a trigger became, and what became of that: applied, early, refused, or received so far."""

    name: str
    status: str
    reason: str


class TriggerOut(Message):
    """The run that the trigger started, now or before.

    With `signal` it started none: that run is about the same, goes on, and was told.
    """

    run_id: str
    is_new: bool
    signal: TriggerSignalOut | None = None


class NotificationIn(Message):
    """Word from the other side of a durable verb. `id` is the sender's own: the same id is applied once.

    `correlation_key` and `token` are those that came with the request. `data` tells of progress.
    """

    id: Word
    type: Literal["completed", "failed", "progress"]
    correlation_key: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    result: dict[str, Any] = Field(default_factory=dict)
    error: Sentence = ""
    message: Sentence = ""
    data: dict[str, Any] | None = None
    token: Word | None = None

    @model_validator(mode="after")
    def _data_is_of_progress(self) -> Self:
        if self.data is not None and self.type != "progress":
            raise ValueError("data: only word of progress has it; what comes of a request is its result")
        return self


class WaitOut(Message):
    """What a notification did to one wait."""

    wait_id: str
    step: str
    status: str
    reason: str


class NotificationOut(Message):
    """What became of a notification, and why: applied, early, stale, dead_letter, or received and not applied yet.

    `waits` are those that it was for, in the order in which it was applied to them; `outcomes` counts what it did.
    """

    notification_id: str
    status: str
    reason: str
    waits: list[WaitOut]
    outcomes: dict[str, int]


class ProgressOut(Message):
    """The newest word of how far a step's other side has come; `count` is how often there was some."""

    message: str
    data: dict[str, Any] | None
    count: int
    at: str


class StepOut(Message):
    """A step of a run. `error_code` says what went wrong, `error_class` of what kind that is; "" for none.

    `branch` is the case that a switch took, "" for none.

    `version` is what an act on it names while it is held.
    """

    path: str
    verb: str
    status: str
    error: str
    error_code: str
    error_class: str
    branch: str
    version: int
    progress: ProgressOut | None


class HeldOut(Message):
    """What waits for somebody to mend something outside, such as a card that Slack does not take."""

    operation: str
    target: str
    error: str


class RunOut(Message):
    """A run as a caller may see it.

    `reference` is the business reference that it gave itself, `outcome` the word with which it ended ("" for none),
    `state` its business state and `output` what it gave; both are null where there is none.
    `link` is our own, to pass on; it is there where people's browsers reach the edge.
    """

    run_id: str
    tenant: str
    trigger_type: str
    trigger_ref: str
    definition_name: str
    definition_version: int
    status: str
    error: str
    reference: str
    outcome: str
    state: dict[str, Any] | None
    output: Any
    requested_by: str
    submitted_by: str
    created_at: datetime
    finished_at: datetime | None
    sha256: str | None
    location: str | None
    steps: list[StepOut]
    held: list[HeldOut]
    mocked: bool
    costs: list[Costs]
    link: str | None = Field(default=None, exclude_if=lambda link: link is None)
