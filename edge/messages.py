"""What callers send and get, strictly: unknown members are refused."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from receipts.costs import Costs

Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Sentence = Annotated[str, StringConstraints(max_length=2000)]


class Message(BaseModel):
    """Frozen, strict, and closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TriggerIn(Message):
    """A wish to start a run. `ref` names the event at its source: the same ref never starts a second run."""

    ref: Word
    payload: dict[str, Any]
    on_behalf_of: Word | None = None


class TriggerOut(Message):
    """The run that the trigger started, now or before."""

    run_id: str
    is_new: bool


class NotificationIn(Message):
    """Word from the other side of a durable verb. `id` is the sender's own: the same id is applied once.

    `correlation_key` and `token` are those that came with the request.
    """

    id: Word
    type: Literal["completed", "failed", "progress"]
    correlation_key: Annotated[str, StringConstraints(min_length=1, max_length=512)]
    result: dict[str, Any] = Field(default_factory=dict)
    error: Sentence = ""
    message: Sentence = ""
    token: Word | None = None


class WaitOut(Message):
    """What a notification did to one wait."""

    wait_id: str
    step: str
    status: str
    reason: str


class NotificationOut(Message):
    """What became of a notification, and why: applied, early, stale, dead_letter, or received and not applied yet."""

    notification_id: str
    status: str
    reason: str
    waits: list[WaitOut]


class StepOut(Message):
    """A step of a run. `error_code` says what went wrong, `branch` which case a switch took; "" for none."""

    path: str
    verb: str
    status: str
    error: str
    error_code: str
    branch: str


class HeldOut(Message):
    """What waits for somebody to mend something outside, such as a card that Slack does not take."""

    operation: str
    target: str
    error: str


class RunOut(Message):
    """A run as a caller may see it.

    `reference` is the business reference that it gave itself, `outcome` the word with which it ended ("" for none),
    `state` its business state and `output` what it gave; both are null where there is none.
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
    costs: list[Costs]
