"""Nodes that call no verb, one shape for each kind, and the ``response``, as a definition and a runbook write them.

The steps inside a node stand beside it in the definition, each with the branch of the node to which it belongs.
``response`` is what whoever asked is told when a run ends, in its author's words.
"""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from runtime.model.states import RunStatus

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Text = Annotated[str, Field(min_length=1)]

MAX_ITERATIONS = 10_000
MAX_AT_ONCE = 100


class NodeKind(StrEnum):
    """What a node does (design, section 16, D2). A branch holds the steps that follow one ending of its node.

    `run` and `continue_with` are calls of built-in verbs: to start another run is an effect, and passes the gate.
    """

    CALL = "call"
    SET = "set"
    REFERENCE = "reference"
    SWITCH = "switch"
    REPEAT = "repeat"
    WAIT = "wait"
    END = "end"
    BRANCH = "branch"


class BranchName(StrEnum):
    """The endings of a node that may have steps of their own."""

    SUCCESS = "success"
    FAILURE = "failure"
    TIMEOUT = "timeout"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"


class OnError(StrEnum):
    """What an error does that no branch takes up: it waits for a person, or fails the run."""

    NEEDS_ATTENTION = "needs_attention"
    FAIL = "fail"


BODY = "do"
"""The branch of what stands inside a `repeat` or a branch."""
OTHERWISE = "else"


def case(number: int) -> str:
    """Return the branch of a switch's case; the first is 1."""
    return f"case_{number}"


class Spec(BaseModel):
    """Closed to unknown keys, and strict about types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class SetSpec(Spec):
    """Keys of the business state and their new values, all of which see the state as it was before."""

    values: dict[Name, Any] = Field(min_length=1)


class ReferenceSpec(Spec):
    """The run's business reference, a text in which expressions may stand."""

    reference: Text


class SwitchSpec(Spec):
    """The conditions of the cases, in order; `otherwise` says whether there is an `else`."""

    cases: list[Text] = Field(min_length=1)
    otherwise: bool


class RepeatSpec(Spec):
    """Over a list (`for_each`), or as long as (`while`) or until a condition holds, `at_most` so many times."""

    for_each: Text | None = None
    while_: Text | None = Field(None, alias="while")
    until: Text | None = None
    at_most: int | None = Field(None, ge=1, le=MAX_ITERATIONS)
    at_most_at_once: int = Field(1, ge=1, le=MAX_AT_ONCE)
    collect: Any = None

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if sum(source is not None for source in (self.for_each, self.while_, self.until)) != 1:
            raise ValueError("a repeat has one of 'for_each', 'while' and 'until'")
        if (self.for_each is None) != (self.at_most is not None):
            raise ValueError("'at_most' goes with 'while' and 'until', which need it")
        if self.for_each is None and self.at_most_at_once != 1:
            raise ValueError("'at_most_at_once' goes with 'for_each'")
        return self


class WaitSpec(Spec):
    """A time that has to pass (`for`) or to come (`until`), or a signal within `timeout` or before `until`."""

    for_: Text | None = Field(None, alias="for")
    until: Text | None = None
    signal: Name | None = None
    schema_: dict[str, Any] | None = Field(None, alias="schema")
    timeout: Text | None = None

    @model_validator(mode="after")
    def _is_one_of_three(self) -> Self:
        if sum(what is not None for what in (self.for_, self.until or self.signal)) != 1:
            raise ValueError("a wait has one of 'for', 'until' and 'signal'")
        if self.signal is None and self.timeout is not None:
            raise ValueError("'timeout' goes with 'signal'")
        if self.signal is not None and (self.timeout is None) == (self.until is None):
            raise ValueError("'signal' needs 'timeout' or 'until', and not both")
        if self.signal is None and self.schema_ is not None:
            raise ValueError("'schema' goes with 'signal'")
        return self


class EndSpec(Spec):
    """The word with which the run ends, and its result; what is still open is canceled."""

    outcome: Name
    result: Any = None


class BranchSpec(Spec):
    """Nothing: a branch is told by its name."""


SPECS: dict[NodeKind, type[Spec]] = {
    NodeKind.SET: SetSpec,
    NodeKind.REFERENCE: ReferenceSpec,
    NodeKind.SWITCH: SwitchSpec,
    NodeKind.REPEAT: RepeatSpec,
    NodeKind.WAIT: WaitSpec,
    NodeKind.END: EndSpec,
    NodeKind.BRANCH: BranchSpec,
}


def spec_document(spec: Spec) -> dict[str, Any]:
    """Return the JSON of what a node says; what is not said is left out."""
    return spec.model_dump(by_alias=True, exclude_unset=True)


def read_spec(kind: NodeKind, document: Any) -> Spec:
    """Return what a node of this kind says, or raise ValidationError."""
    return SPECS[kind].model_validate(document)


class ResponseSpec(Spec):
    """``response``: a text with ``${...}`` for each end; `outcomes` for runs that end with one of these words."""

    succeeded: Text | None = None
    failed: Text | None = None
    canceled: Text | None = None
    outcomes: dict[Name, Text] = Field(default_factory=dict, max_length=50)

    def text_for(self, status: RunStatus, outcome: str) -> str | None:
        """Return the text for how a run ended, None where the author says nothing of that."""
        of_status = {
            RunStatus.SUCCEEDED: self.succeeded,
            RunStatus.FAILED_TERMINAL: self.failed,
            RunStatus.CANCELED: self.canceled,
        }
        return self.outcomes.get(outcome) or of_status.get(status)


def response_document(response: ResponseSpec) -> dict[str, Any]:
    """Return the JSON of it; what nothing is said of is left out."""
    return response.model_dump(mode="json", exclude_defaults=True)


def read_response(document: Any) -> ResponseSpec:
    """Return what it says, or raise ValidationError."""
    return ResponseSpec.model_validate(document)
