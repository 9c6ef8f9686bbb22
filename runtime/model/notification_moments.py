"""What the runtime says to itself: a moment of a wait has come, or a run that a step waits for has ended."""

from typing import Any, Literal

from runtime.model.payload import PayloadModel


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
