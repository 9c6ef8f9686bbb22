"""The members of a bundle's records that the verifier relies on.

Records may have more members than these: those are covered by the digests and the signature, and nothing rests on them.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from receipts.fields import Identifier, NonEmpty, Sha256Hex

T = TypeVar("T")


def _must_be_said(value: T | None) -> T:
    if value is None:
        raise ValueError("is left out where there is none")
    return value


OmittedIfNone = Annotated[T | None, BeforeValidator(_must_be_said), Field(exclude_if=lambda value: value is None)]
"""A member that a record has only where there is something to say: None stands for its absence, and null is a fault."""


def _must_be_true(value: object) -> object:
    if value is not True:
        raise ValueError("must be true")
    return value


TrueAlone = Annotated[Literal[True], BeforeValidator(_must_be_true)]
"""The literal true; 1, which Python takes for equal, is a fault."""

_Second = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]


DecimalText = Annotated[str, StringConstraints(pattern=r"^(0|[1-9][0-9]*)(\.[0-9]+)?$")]
"""A decimal number of at least zero, exactly as it is written."""


class Extensible(BaseModel):
    """Frozen and strict in what it names. Other members are kept, and count when two records are compared."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class DefinitionRef(Extensible):
    """Which definition the run executed."""

    name: NonEmpty
    version: int
    digest: Sha256Hex


class RunRecord(Extensible):
    """`run.json`; `outcome` is the word with which the run ended, "" where it named none."""

    run_id: Identifier
    tenant: NonEmpty
    definition: DefinitionRef
    requested_by: str
    submitted_by: str
    status: NonEmpty
    outcome: str = ""
    sealed_seq: int = Field(ge=1)
    audit_head: Sha256Hex

    @property
    def word(self) -> str:
        """Return what people are told that it came to."""
        return self.outcome or self.status


class AskedActor(Extensible):
    """Who wanted the effect, as policy was told."""

    id: str


class AskedEffect(Extensible):
    """The effect, as policy was told."""

    connector: str
    operation: str
    target: str
    fields: dict[str, Any]  # of JSON: the record has a canonical form
    tier: NonEmpty
    digest: Sha256Hex


class DelegationRecord(Extensible):
    """For whom a vote was given, and who recorded that its person may."""

    delegator: NonEmpty
    recorded_by: NonEmpty


class BreakGlassUseRecord(Extensible):
    """That a vote used break-glass: its ticket, and how often its person has used it (`nth`), this one included."""

    ticket: NonEmpty
    nth: int = Field(ge=1)


CONSOLE = "console"
"""How a vote says (`via`) that it was given in the console."""


class VoteRecord(Extensible):
    """A counted vote, as policy was told or as an approval has it, with the groups that the person was in then.

    Where it has a `delegation`, it was given for somebody else, in groups of theirs. Where it has a `break_glass`, it
    does without the others. One that was signed with a passkey has `signed_with` as policy was told, and on its
    approval the `passkey` itself. One that was given in the console has `console` as `via`, in both.
    """

    person: NonEmpty
    groups: list[str]
    verdict: Literal["approve", "reject", "changes"]
    delegation: OmittedIfNone[DelegationRecord] = None
    break_glass: OmittedIfNone[BreakGlassUseRecord] = None
    signed_with: OmittedIfNone[Literal["passkey"]] = None
    passkey: OmittedIfNone[Extensible] = None

    @property
    def delegator(self) -> str | None:
        """Return for whom it was given, None for the voter alone."""
        return self.delegation.delegator if self.delegation else None

    @property
    def is_from_console(self) -> bool:
        """Return whether it says that it was given in the console."""
        return (self.model_extra or {}).get("via") == CONSOLE

    @property
    def is_signed(self) -> bool:
        """Return whether it says that it was signed with more than a click."""
        return self.passkey is not None or self.signed_with is not None

    @property
    def people(self) -> list[str]:
        """Return who has voted with it: the voter, and for whom."""
        return [self.person] if self.delegation is None else [self.person, self.delegation.delegator]


class CountersRecord(Extensible):
    """What policy was told of counters: of which budgets too little was left (`over`)."""

    over: OmittedIfNone[list[str]] = None


class Asked(Extensible):
    """The question that was put to policy."""

    actor: AskedActor
    effect: AskedEffect
    votes: Sequence[VoteRecord]
    counters: OmittedIfNone[CountersRecord] = None

    @property
    def over(self) -> list[str]:
        """Return the budgets of which policy was told that too little was left."""
        return (self.counters and self.counters.over) or []


class NextInLineRecord(Extensible):
    """Who was asked, too, once `after` (ISO 8601) had passed."""

    after: str
    to: list[str]


class BreakGlassRecord(Extensible):
    """Who could do without the others, how often within a time, and who had to say afterwards if that was right."""

    groups: list[str] = Field(min_length=1)
    at_most: int = Field(ge=1)
    within: NonEmpty
    tell: list[str]
    review_by: list[str] = Field(min_length=1)
    review_within: NonEmpty


class WindowRecord(Extensible):
    """Times of the week: from a time of these days until another, on the day after where that is not later."""

    model_config = ConfigDict(serialize_by_alias=True)  # beside what it inherits

    days: list[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]] = Field(min_length=1)
    since: str = Field(alias="from", pattern=r"^[0-9]{2}:[0-9]{2}$")
    until: str = Field(pattern=r"^[0-9]{2}:[0-9]{2}$")


class ExecuteRecord(Extensible):
    """When an allowed effect might begin, `within` a time after the approval (ISO 8601)."""

    not_before: OmittedIfNone[_Second] = None
    between: list[WindowRecord] = Field(default=[], exclude_if=lambda windows: not windows)
    time_zone: OmittedIfNone[NonEmpty] = None
    within: NonEmpty


class SignerClassRecord(Extensible):
    """Of these groups so many distinct people had to approve; with `all_groups`, one of its own for each group."""

    groups: list[str] = Field(min_length=1)
    quorum: int = Field(ge=1)
    all_groups: bool


class RequirementRecord(Extensible):
    """What a human authorization had to fulfil.

    With `sign_with` a vote to approve has to be signed so. The clock stood still for `pause_on_question` at most.
    `execute` says when what is approved might begin. Each of the `classes` had to be fulfilled, too. With `veto` a no
    by somebody of these groups alone ended the request.
    """

    quorum: int = Field(ge=1)
    groups: list[str] = Field(min_length=1)
    all_groups: bool
    exclude: list[str]
    escalate_to: list[NextInLineRecord]
    break_glass: OmittedIfNone[BreakGlassRecord] = None
    sign_with: OmittedIfNone[Literal["passkey"]] = None
    pause_on_question: OmittedIfNone[NonEmpty] = None
    execute: OmittedIfNone[ExecuteRecord] = None
    classes: list[SignerClassRecord] = Field(default=[], min_length=1, exclude_if=lambda classes: not classes)
    veto: list[str] = Field(default=[], min_length=1, exclude_if=lambda veto: not veto)

    def is_ended_by(self, vote: VoteRecord) -> bool:
        """Return whether a vote is a no that ended the request; without `veto`, any no did."""
        return vote.verdict != "approve" and (not self.veto or not set(self.veto).isdisjoint(vote.groups))

    @property
    def leads(self) -> list[str]:
        """Return the groups that are asked as time runs short, each once."""
        return list(dict.fromkeys(group for entry in self.escalate_to for group in entry.to))


class BudgetRecord(Extensible):
    """What an effect took of a budget: one of `count`, and `amount` of `sum`; each day or month begins it again."""

    name: NonEmpty
    by: Literal["requester", "agent", "target"]
    key: NonEmpty
    per: Literal["day", "month"]
    time_zone: NonEmpty
    count: OmittedIfNone[Annotated[int, Field(ge=1)]] = None
    sum: OmittedIfNone[DecimalText] = None
    amount: OmittedIfNone[DecimalText] = None
    over: Literal["deny", "wait", "approve"]


class Answered(Extensible):
    """Policy's answer."""

    outcome: Literal["allow", "deny", "needs_approval"]
    requirement: RequirementRecord | None
    execute: OmittedIfNone[ExecuteRecord] = None
    budgets: list[BudgetRecord] = Field(default=[], exclude_if=lambda budgets: not budgets)


class DecisionRecord(Extensible):
    """One file of `decisions/`. With `development` nobody had activated the policy that decided."""

    id: Identifier
    effect_id: Identifier
    outcome: Literal["allow", "deny", "needs_approval"]
    input: Asked
    answer: Answered
    policy_digest: Sha256Hex
    development: OmittedIfNone[TrueAlone] = None


class ApprovalRecord(Extensible):
    """One file of `approvals/`. `digest` is what the approval is bound to: for an effect, the effect's digest."""

    id: Identifier
    kind: Literal["effect", "task", "in_doubt", "afterwards"]
    effect_id: str | None
    digest: str
    requirement: RequirementRecord
    status: Literal["requested", "approved", "rejected", "expired", "canceled"]
    votes: Sequence[VoteRecord]
    cards: list[Any]  # of JSON, like what was asked


class Execution(Extensible):
    """How a verb executes: `handler` is connector and operation, joined by `::`; `wait` is `timer` for a timer's."""

    handler: NonEmpty
    wait: str | None = None


class EffectClass(Extensible):
    """Whether a verb changes the world outside, or else passes the gate all the same."""

    kind: Literal["read", "write"] = Field(alias="class")
    governed: bool = False

    @property
    def is_governed_read(self) -> bool:
        """Return whether it is a read that passes the gate."""
        return self.kind == "read" and self.governed

    @property
    def passes_gate(self) -> bool:
        """Return whether policy is asked before it is done."""
        return self.kind == "write" or self.governed


class VerbRecord(Extensible):
    """One verb of the definition."""

    execution: Execution
    effect: EffectClass


class StepRecord(Extensible):
    """One step of the definition; `verb` is "" where it calls none."""

    id: NonEmpty
    verb: NonEmpty = ""


class DefinitionRecord(Extensible):
    """`definition.json`."""

    steps: Sequence[StepRecord]
    verbs: Mapping[str, VerbRecord]
