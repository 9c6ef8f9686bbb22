"""What people do with a request beside deciding it."""

from typing import Literal

from runtime.model.notification_people import PersonPayload


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
