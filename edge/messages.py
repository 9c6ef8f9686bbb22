"""Messages of the API: what callers send and get, in bodies and in paths.

A body is read within limits, as strict JSON that our own records can hold; unknown members are refused. A path that
does not fit its type leads nowhere, before anything is looked up.
"""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeVar

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from starlette.requests import Request

from edge.problems import Problem
from policy.bundle import strict_json
from receipts import canonical
from receipts.usage import Costs

Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Sentence = Annotated[str, StringConstraints(max_length=2000)]


class Message(BaseModel):
    """Frozen, strict, and closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


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

    `version` is what an act on it names while it needs attention.
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


class BlockedOut(Message):
    """An effect that waits until somebody fixes its cause outside, such as a card that Slack does not take."""

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
    blocked: list[BlockedOut]
    mocked: bool
    costs: list[Costs]
    link: str | None = Field(default=None, exclude_if=lambda link: link is None)


BODY_LIMIT = 256 * 1024
MOST_FAULTS = 100
"""Faults of a message that are named: naming hundreds of thousands takes seconds, while nobody else is answered."""

M = TypeVar("M", bound=BaseModel)

# PostgreSQL cannot store the first; none of the others is text. Tabs and line breaks are.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


async def read_body(request: Request, most: int = BODY_LIMIT) -> bytes:
    """Return the raw body of at most so many bytes, whatever length was announced; too long a one is not read."""
    announced = request.headers.get("content-length", "")
    if announced.isdigit() and int(announced) > most:
        raise _too_large(most)
    data, more = bytearray(), True
    while more:
        message = await request.receive()
        if message["type"] != "http.request":
            raise Problem(400, "the body ended early")
        data += message.get("body", b"")
        if len(data) > most:
            raise _too_large(most)
        more = message.get("more_body", False)
        del message  # while we wait for more, its bytes are held once
    return bytes(data)


def _too_large(most: int) -> Problem:
    return Problem(413, f"a body may have {most} bytes")


def parse_body(model: type[M], body: bytes) -> M:
    """Return the message in a body, or raise Problem naming the faults.

    1. It is JSON in UTF-8, with no member twice.
    2. It is not too deep, and its texts and numbers have a canonical form.
    3. Its texts hold no control characters.
    4. It has the members of the message, and no others.
    """
    try:
        value = strict_json(body.decode())  # 1
        canonical.check(value)  # 2
        _refuse_controls(value, "")  # 3
    except (ValueError, RecursionError) as error:
        raise Problem(400, f"not JSON: {error}") from error
    except canonical.CanonicalError as error:
        raise Problem(422, str(error)) from error
    return parse_value(model, value)  # 4


def parse_value(model: type[M], value: Any) -> M:
    """Return the message that a JSON value is, or raise Problem naming its faults, or their number if over 100."""
    if not isinstance(value, dict):
        raise Problem(422, "it is no JSON object")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        if error.error_count() > MOST_FAULTS:
            raise Problem(422, f"{error.error_count()} faults: too many to name") from error
        faults = (f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in error.errors())
        raise Problem(422, "; ".join(faults)) from error


def _refuse_controls(value: Any, path: str) -> None:
    if isinstance(value, str) and (found := _CONTROL.search(value)):
        raise Problem(422, f"{path or '(root)'}: holds the control character U+{ord(found[0]):04X}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_controls(item, f"{path}/{index}")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_controls(key, path)
            _refuse_controls(item, canonical.pointer(path, key))


_VISIBLE = r"^[^\x00-\x1f\x7f]+$"

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
"""The id of a run, a review or a question."""
Name = Annotated[str, Path(max_length=200, pattern=_VISIBLE)]
"""The type of a trigger."""
StepPath = Annotated[str, Path(max_length=1000, pattern=_VISIBLE)]
"""The path of a step within its run."""
