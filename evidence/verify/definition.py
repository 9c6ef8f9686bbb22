"""What `definition.json` has in format 2 beside the members of `evidence.records`, as far as rules compare it."""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from evidence.records import (
    DefinitionRecord,
    EffectClass,
    Execution,
    LeftOut,
    NextInLineRecord,
    Open,
    StepRecord,
    VerbRecord,
)
from evidence.verify.forms import Tier
from receipts.fields import NonEmpty


class EscalationForm(Open):
    """After how long those next in line are asked, how much longer there is then (ISO 8601), and what is started."""

    after: NonEmpty
    to: Sequence[str] = ()
    extend: NonEmpty = ""
    start: NonEmpty | None = None


Escalations = EscalationForm | list[EscalationForm] | None


class ExecutionForm(Execution):
    """How a verb executes; `wait` is what a durable one waits for."""

    kind: Literal["sync", "durable"]
    timeout: NonEmpty
    wait: str | None
    escalation: Escalations
    correlation_field: str | None

    @property
    def entries(self) -> list[EscalationForm]:
        """Return what happens as time runs short."""
        return [self.escalation] if isinstance(self.escalation, EscalationForm) else self.escalation or []

    @property
    def next_in_line(self) -> list[NextInLineRecord]:
        """Return who is asked then, and when."""
        return [NextInLineRecord(after=entry.after, to=list(entry.to)) for entry in self.entries if entry.to]


class EffectClassForm(EffectClass):
    """What a verb does to the world; `target` and `idempotency_key` are templates."""

    tier: Tier
    reversible_by: str | None
    target: str
    idempotency_key: str


class VerbForm(VerbRecord):
    """One verb of the definition."""

    description: str
    execution: ExecutionForm
    effect: EffectClassForm
    editable: list[str] = Field(default_factory=list)


class SwitchForm(Open):
    """The conditions of the cases, and whether there is an `else`."""

    cases: list[str]
    otherwise: bool


class RepeatForm(Open):
    """How often at most, None where a list says it, and how often at a time."""

    at_most: int | None = None
    at_most_at_once: int = 1


class WaitForm(Open):
    """A time (`for`) or moment (`until`), or a signal within `timeout` or before `until`: texts with expressions."""

    for_: str | None = Field(None, alias="for")
    until: str | None = None
    signal: str | None = None
    timeout: str | None = None


class EndForm(Open):
    """The word with which the run ends, and what it gives; None where nothing is said of that."""

    outcome: NonEmpty
    result: JsonValue = None


KINDS = ("verb", "set", "reference", "switch", "repeat", "wait", "end", "branch")
"""The members of a step of which it has one, which says what it is."""


class StepForm(StepRecord):
    """One step of the definition: `when` is its condition, `within` the branch of the step around it that it is in.

    It has one of `KINDS`, and that is not null. `timeout` (ISO 8601) and `escalation` stand for those of its verb,
    and where it says `until`, a moment as a text with expressions, its wait ends then, whatever the timeout.
    `on_error` says that an error waits for a person.
    """

    when: JsonValue
    within: str = Field("", alias="in")
    timeout: NonEmpty | None = None
    until: NonEmpty | None = None
    escalation: Escalations = None
    on_error: Literal["hold"] | None = None
    switch: SwitchForm | None = None
    repeat: RepeatForm | None = None
    wait: WaitForm | None = None
    end: EndForm | None = None

    @property
    def kind(self) -> str:
        """Return which of the kinds it is."""
        return self._kinds()[0]

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if len(self._kinds()) != 1:
            raise ValueError(f"must have one of {', '.join(KINDS)}")
        return self

    def _kinds(self) -> list[str]:
        said = {**(self.model_extra or {}), **{name: getattr(self, name) for name in self.model_fields_set}}
        return [name for name in KINDS if said.get(name) is not None]


class EdgeForm(Open):
    """`target` waits for `source`; where it only comes after it, `kind` is `order`."""

    source: str
    target: str
    kind: str = ""


class TriggerForm(Open):
    """What starts runs of the definition; `when` is the condition for it, None where each trigger of the type does.

    `about` is a template of what a run is about, None where it is of nothing.
    """

    type: str
    when: NonEmpty | None = None
    about: NonEmpty | None = None


class DefinitionForm(DefinitionRecord):
    """`definition.json`."""

    name: NonEmpty
    version: int
    trigger: TriggerForm
    steps: Sequence[StepForm]
    edges: list[EdgeForm]
    verbs: Mapping[str, VerbForm]
    output: JsonValue = None
    questions_to: LeftOut[NonEmpty] = None
