"""What the records of format 2 have beside the members of `evidence.records`, as far as rules compare it."""

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field, JsonValue, model_validator

from evidence.records import (
    Answered,
    ApprovalRecord,
    Asked,
    AskedActor,
    AskedEffect,
    DecisionRecord,
    DefinitionRecord,
    EffectClass,
    Execution,
    Open,
    RequirementRecord,
    StepRecord,
    VerbRecord,
    VoteRecord,
)
from receipts.fields import NonEmpty, Timestamp

Tier = Literal["low", "medium", "high"]


class ActorForm(AskedActor):
    """Who wanted the effect, and who sent the trigger."""

    kind: str
    submitted_by: str


class RunForm(Open):
    """The run, as policy was told."""

    id: str
    definition: str
    version: int
    trigger_type: str


class TermForm(Open):
    """From when until when an approval can be given and used, as policy was told."""

    requested_at: Timestamp
    expires_at: Timestamp


class ToldVote(VoteRecord):
    """A vote, as policy was told."""

    at: Timestamp


class EffectForm(AskedEffect):
    """The effect, as policy was told."""

    reversible: bool


class QuestionForm(Asked):
    """The whole question."""

    time: Timestamp
    tenant: str
    actor: ActorForm
    run: RunForm
    step: str
    effect: EffectForm
    approval: TermForm | None
    votes: Sequence[ToldVote]


class ReasonForm(Open):
    """Why policy, or the gate, says so."""

    code: str


class RequirementForm(RequirementRecord):
    """What a human authorization had to fulfil, with its duration (ISO 8601)."""

    expires_in: NonEmpty
    reason_required: bool


class AnswerForm(Answered):
    """The whole answer."""

    tier: Tier
    requirement: RequirementForm | None
    reasons: list[ReasonForm]


class DecisionForm(DecisionRecord):
    """One file of `decisions/`."""

    run_id: str
    step: str
    opa_version: NonEmpty
    input: QuestionForm
    answer: AnswerForm


class AccountForm(Open):
    """The Slack account that clicked."""

    team: str
    user: str


class VoteForm(VoteRecord):
    """A counted vote."""

    reason: str
    slack: AccountForm
    at: Timestamp


class ApprovalForm(ApprovalRecord):
    """One file of `approvals/`."""

    effect_id: str
    step: str
    tier: Tier
    reasons: list[ReasonForm]
    requirement: RequirementForm
    purpose: str
    requested_at: Timestamp
    expires_at: Timestamp
    votes: Sequence[VoteForm]


class EscalationForm(Open):
    """After how long (ISO 8601) those next in line are asked."""

    after: NonEmpty
    to: list[str]


class ExecutionForm(Execution):
    """How a verb executes; `wait` is what a durable one waits for."""

    kind: Literal["sync", "durable"]
    timeout: NonEmpty
    wait: str | None
    escalation: EscalationForm | None
    correlation_field: str | None


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


class SwitchForm(Open):
    """The conditions of the cases, and whether there is an `else`."""

    cases: list[str]
    otherwise: bool


class RepeatForm(Open):
    """How often at most, None where a list says it, and how often at a time."""

    at_most: int | None = None
    at_most_at_once: int = 1


class WaitForm(Open):
    """A time (`for`) or moment (`until`), or a signal within `timeout`: texts, in which expressions may stand."""

    for_: str | None = Field(None, alias="for")
    until: str | None = None
    signal: str | None = None
    timeout: str | None = None


class EndForm(Open):
    """The word with which the run ends."""

    outcome: NonEmpty


KINDS = ("verb", "set", "reference", "switch", "repeat", "wait", "end", "branch")
"""The members of a step of which it has one, which says what it is."""


class StepForm(StepRecord):
    """One step of the definition: `when` is its condition, `within` the branch of the step around it that it is in.

    It has one of `KINDS`, and that is not null. `timeout` (ISO 8601) stands for that of its verb.
    """

    when: JsonValue
    within: str = Field("", alias="in")
    timeout: NonEmpty | None = None
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
    """What starts runs of the definition."""

    type: str


class DefinitionForm(DefinitionRecord):
    """`definition.json`."""

    name: NonEmpty
    version: int
    trigger: TriggerForm
    steps: Sequence[StepForm]
    edges: list[EdgeForm]
    verbs: Mapping[str, VerbForm]
    output: JsonValue = None


class Proposed(Open):
    """The data of `effect.proposed`; `action` is connector and operation, joined by `::`."""

    action: str
    target: str
    digest: str


class Opened(Open):
    """The data of `wait.opened`."""

    wait_id: NonEmpty
    kind: str = Field(alias="type")
    correlation_key: str
    deadline: Timestamp
