"""The shape of a runbook's steps: what each kind of node says, and the steps that stand inside it."""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from runtime.definitions.cards import CardSpec
from runtime.definitions.nodes import BranchName, EndSpec, Name, RepeatSpec, Spec, Text, WaitSpec

RunbookName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]


class RetryShape(Spec):
    """``retry`` of a verb or a step: by `backoff`, by `factor` or by a `ladder`."""

    max_attempts: int | None = Field(default=None, ge=1, le=100)
    backoff: Literal["exponential", "fixed"] | None = None
    factor: float | None = Field(default=None, ge=1, le=100)
    base_delay: str | None = None
    max_delay: str | None = None
    ladder: list[str] | None = Field(default=None, min_length=1, max_length=99)
    jitter: float | None = Field(default=None, ge=0, le=1)


class EscalationShape(Spec):
    """One entry of ``escalation``."""

    after: str
    to: list[Text] | None = Field(default=None, min_length=1)
    extend: str | None = None
    start: RunbookName | None = None


class RemindShape(Spec):
    """``remind`` by a factor."""

    first: str
    factor: float = Field(default=1, ge=1, le=100)
    at_most: int = Field(ge=1, le=20)


def _list_tag(value: Any) -> str:
    return "(list)" if isinstance(value, list) else "(mapping)"


Escalations = Annotated[
    Annotated[EscalationShape, Tag("(mapping)")]
    | Annotated[list[EscalationShape], Field(min_length=1, max_length=20), Tag("(list)")],
    Discriminator(_list_tag),
]
Reminders = Annotated[
    Annotated[RemindShape, Tag("(mapping)")] | Annotated[list[str], Field(min_length=1, max_length=20), Tag("(list)")],
    Discriminator(_list_tag),
]


class WaitingShape(Spec):
    """How long a verb or a step takes, when it is tried again, and who is asked or told while it waits."""

    timeout: Text | None = None
    retry: RetryShape | None = None
    escalation: Escalations | None = None
    remind: Reminders | None = None


class CaseShape(Spec):
    """One case of a `switch`."""

    when: Text
    do: "list[StepShape]" = Field(min_length=1)


class SwitchShape(Spec):
    """``switch``: the first case that holds, or `else`."""

    cases: list[CaseShape] = Field(min_length=1)
    else_: "list[StepShape] | None" = Field(None, alias="else")


class RepeatShape(RepeatSpec):
    """``repeat``: what it says of itself, and the steps of an iteration."""

    do: "list[StepShape]" = Field(min_length=1)


class RunShape(Spec):
    """``run`` and ``continue_with``: another runbook; the version that may start where none is named."""

    runbook: RunbookName
    version: int | None = Field(None, ge=1)
    trigger: dict[str, Any] = Field(default_factory=dict)
    timeout: Text | None = None
    until: Text | None = None


class OnShape(Spec):
    """``on``: the steps that follow an ending."""

    success: "list[StepShape] | None" = Field(None, min_length=1)
    failure: "list[StepShape] | None" = Field(None, min_length=1)
    timeout: "list[StepShape] | None" = Field(None, min_length=1)
    rejected: "list[StepShape] | None" = Field(None, min_length=1)
    changes_requested: "list[StepShape] | None" = Field(None, min_length=1)

    def blocks(self) -> "dict[BranchName, list[StepShape]]":
        """Return the branches that are there."""
        return {name: steps for name in BranchName if (steps := getattr(self, name)) is not None}


class StepShape(WaitingShape):
    """One step: its id, when it comes, and one thing that it does."""

    id: Name
    needs: list[str] | None = None
    when: Text | None = None
    on: OnShape | None = None
    on_error: Literal["needs_attention", "fail"] | None = None
    until: Text | None = None
    verb: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    result_key: Name | None = None
    card: CardSpec | None = None
    set: dict[Name, Any] | None = Field(None, min_length=1)
    reference: Text | None = None
    switch: SwitchShape | None = None
    repeat: RepeatShape | None = None
    run: RunShape | None = None
    continue_with: RunShape | None = None
    wait: WaitSpec | None = None
    end: EndSpec | None = None


DOES = ("verb", "set", "reference", "switch", "repeat", "run", "continue_with", "wait", "end")
"""What a step may do; each does one thing."""
MAY_BRANCH = ("verb", "run", "wait")
"""What may end in more than one way; an error of these may wait for a person."""
