"""The policy contract for what operators do (design, section 11): the question about an act, and the answer."""

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from policy.contract import MOST_ITEMS, ActorInput, Exact, Reason, RunInput


class OperatedRun(RunInput):
    """The run that an operator's act is about, with whoever asked for it and the caller that sent it."""

    requested_by: str
    submitted_by: str


class StepInput(Exact):
    """The step: `needs_attention` with what went wrong, or `parked`: it waits, and `code` and `error_class` are "".

    `people` says how they come into it: they `sign` it, they `answer` it, or neither.
    """

    path: str
    status: Literal["needs_attention", "parked"]
    verb: str
    code: str
    error_class: str
    people: Literal["none", "sign", "answer"]


class DelegationInput(Exact):
    """Who votes for whom, in which groups, from when and until when. Times are RFC 3339 UTC."""

    delegator: str
    delegate: str
    groups: list[str]
    starts_at: str
    ends_at: str


class PasskeyInput(Exact):
    """Whose passkey it is about, and which; `credential_id` is "" where it is still to be made."""

    person: str
    credential_id: str


class OperatorQuestion(Exact):
    """The whole input document of a question about what an operator does; a run that is canceled has no `step`.

    `delegation` and `passkey` are there where it is about one, which has no run.
    """

    time: str
    tenant: str
    actor: ActorInput
    act: Literal[
        "retry",
        "supply",
        "skip",
        "end",
        "cancel",
        "delegate",
        "undelegate",
        "invite_passkey",
        "revoke_passkey",
        "install_link",
    ]
    run: OperatedRun | None = None
    step: StepInput | None = None
    delegation: DelegationInput | None = Field(default=None, exclude_if=lambda delegation: delegation is None)
    passkey: PasskeyInput | None = Field(default=None, exclude_if=lambda passkey: passkey is None)


class OperatorAnswer(Exact):
    """Whether an operator may do it, and why not."""

    outcome: Literal["allow", "deny"]
    reasons: list[Reason] = Field(max_length=MOST_ITEMS)


@dataclass(frozen=True)
class Authorization:
    """What policy says of an operator's act, OPA's id of that decision, and the digest of the text that gave it."""

    answer: OperatorAnswer
    decision_id: str
    policy_digest: str
