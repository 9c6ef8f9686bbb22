"""The policy contract (design, section 11): the question, and the answer."""

import unicodedata
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from policy.execution_windows import ExecuteWhen, ZoneName

LONGEST_TEXT = 2_000
MOST_ITEMS = 100
LONGEST_NAMES = 20_000
"""Bytes of all groups, people and codes of an answer together: they stand in one leaf of the audit log."""
LONGEST_RULES = 40_000
"""Bytes of the names of all rules behind an answer: of its codes, and as much again for where the rules stand."""
CONFIG_PATH = "countersign_config."
"""With what the name of a member of the configuration begins."""
MOST_SIGNATURES = 1_000
MOST_ESCALATIONS = 20
MOST_BUDGETS = 50
MOST_CLASSES = 20
MOST_GROUPS_EACH = 8
"""Groups of which each may have to sign: Rego looks at every subset of them."""
LONGEST_KEY = 400
"""Characters of whom a budget is counted for: it stands in an index of the database."""


def printable(text: str) -> str:
    """Return a text that can be put on record; raise ValueError of another."""
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise ValueError("control characters cannot be put on record")
    return text


Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(printable)]
Texts = Annotated[list[Text], Field(max_length=MOST_ITEMS)]
RuleName = Annotated[str, Field(min_length=1), AfterValidator(printable)]
DecimalText = Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?$")]
"""A decimal number of at least zero, exactly as it is written."""
Key = Annotated[str, Field(min_length=1, max_length=LONGEST_KEY), AfterValidator(printable)]


class Exact(BaseModel):
    """Frozen, and closed to unknown members."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PolicyUnavailableError(Exception):
    """No usable answer: missing, late, undefined or malformed. Never an allow; the message says which."""


class Outcome(StrEnum):
    """Policy's verdict on one effect."""

    ALLOW = "allow"
    DENY = "deny"
    NEEDS_APPROVAL = "needs_approval"


class ActorInput(Exact):
    """Who asks: the person behind the run, or the agent or system itself; `submitted_by` is the caller that sent it."""

    id: str
    kind: Literal["person", "agent", "system"]
    groups: list[str]
    submitted_by: str


class RunInput(Exact):
    """The run that wants the effect."""

    id: str
    definition: str
    version: int
    trigger_type: str


class UndoesInput(Exact):
    """What the effect takes back: the receipt of what was done, and the run that did it."""

    run: str
    receipt: str


class EffectInput(Exact):
    """The effect itself; `fields` are what the connector will be given; `digest` is the canonical action's SHA-256.

    `undoes` is there where the effect takes back what another did, `reads` where it is a governed read.
    """

    connector: str
    operation: str
    target: str
    fields: dict[str, Any]
    tier: Literal["low", "medium", "high"]
    reversible: bool
    digest: str
    undoes: UndoesInput | None = Field(default=None, exclude_if=lambda undoes: undoes is None)
    reads: Literal[True] | None = Field(default=None, exclude_if=lambda reads: reads is None)


class ApprovalInput(Exact):
    """The approval that is bound to this digest, void from `expires_at` on. Times are RFC 3339 UTC.

    `usable_until` is there where its requirement says when to carry it out: it is then void from that moment on.
    """

    requested_at: str
    expires_at: str
    usable_until: str | None = Field(default=None, exclude_if=lambda moment: moment is None)


class VoteDelegation(Exact):
    """For whom a vote was given, and by whom it was recorded that its person may."""

    delegator: str
    recorded_by: str


class BreakGlassUse(Exact):
    """That a vote used break-glass: its ticket, and how often its person has used it (`nth`), this one included."""

    ticket: str
    nth: int


class VoteInput(Exact):
    """One person's counted verdict on that approval, given at `at`.

    `delegation` is there where it was given for somebody else; the groups are then theirs, as far as they were given.
    `break_glass` is there where it is to do without the others.
    `signed_with` is there where its person has signed it with more than a click; `via` where it came by the console.
    """

    person: str
    groups: list[str]
    verdict: Literal["approve", "reject", "changes"]
    at: str
    delegation: VoteDelegation | None = Field(default=None, exclude_if=lambda delegation: delegation is None)
    break_glass: BreakGlassUse | None = Field(default=None, exclude_if=lambda break_glass: break_glass is None)
    signed_with: Literal["passkey"] | None = Field(default=None, exclude_if=lambda way: way is None)
    via: Literal["console"] | None = Field(default=None, exclude_if=lambda way: way is None)


class EditedInput(Exact):
    """Who changed the effect since the run asked for it, each once, and the changed fields as they were `requested`.

    What was not given then is not among them.
    """

    by: list[str] = Field(min_length=1)
    requested: dict[str, Any]


class Counters(Exact):
    """How much the run has done so far: effects performed on connectors other than the chat.

    `over` are the budgets of which the gate found too little left for this effect (`Answer.budgets`), by their names.
    """

    writes: int
    over: list[str] | None = Field(default=None, min_length=1, exclude_if=lambda names: names is None)


class Question(Exact):
    """The whole input document of one policy question; `approval` is null where people have granted none.

    `edited` is there where the effect is another than the run asked for: somebody edited and resubmitted it. `named` is
    there once policy has asked who is named in fields of the effect (`names`): their ids by field, null where the
    directory does not know everybody.
    """

    time: str
    tenant: str
    actor: ActorInput
    run: RunInput
    step: str
    effect: EffectInput
    approval: ApprovalInput | None
    votes: list[VoteInput]
    counters: Counters
    edited: EditedInput | None = Field(default=None, exclude_if=lambda edited: edited is None)
    named: dict[str, list[str] | None] | None = Field(default=None, exclude_if=lambda named: named is None)


class NextInLine(Exact):
    """Who is asked, too, once `after` (an ISO 8601 duration) has passed since people were asked."""

    after: Text
    to: Texts = Field(min_length=1)


class BreakGlass(Exact):
    """Who may do without the others in an emergency: one of these groups, so often within a time (ISO 8601 duration).

    `tell` are the groups that hear of it at once; one person of `review_by` has to say afterwards whether it was right,
    `review_within` a time, after which both are told again and again.
    """

    groups: Texts = Field(min_length=1)
    at_most: int = Field(ge=1, le=100)
    within: Text
    tell: Texts
    review_by: Texts = Field(min_length=1)
    review_within: Text


class SignerClass(Exact):
    """Of these groups so many distinct people must approve; with `all_groups`, a person of its own for each group."""

    groups: Texts = Field(min_length=1)
    quorum: int = Field(ge=1, le=MOST_SIGNATURES)
    all_groups: bool


class Requirement(Exact):
    """What a human authorization must fulfil; `expires_in` is an ISO 8601 duration.

    Each of the `classes` must be fulfilled, too; one person may count in several. With `veto` only a no by a person of
    these groups ends the request; without it, any no does.

    `editors_may_sign` says that who edited what is asked for may sign it, too; else `exclude` has to name them.
    With `sign_with` a vote to approve counts only if it is signed so. `pause_on_question` is how long the clock stands
    still at most, in all, while questions to whoever asked are open (ISO 8601 duration). `execute` says when it
    is carried out once it is approved.
    """

    quorum: int = Field(ge=1, le=MOST_SIGNATURES)
    groups: Texts = Field(min_length=1)
    all_groups: bool
    exclude: Texts
    expires_in: Text
    reason_required: bool
    escalate_to: list[NextInLine] = Field(max_length=MOST_ESCALATIONS)
    break_glass: BreakGlass | None = Field(default=None, exclude_if=lambda break_glass: break_glass is None)
    sign_with: Literal["passkey"] | None = Field(default=None, exclude_if=lambda way: way is None)
    pause_on_question: Text | None = Field(default=None, exclude_if=lambda pause: pause is None)
    editors_may_sign: bool = Field(default=False, exclude_if=lambda may: not may)
    execute: ExecuteWhen | None = Field(default=None, exclude_if=lambda execute: execute is None)
    classes: list[SignerClass] = Field(
        default=[], min_length=1, max_length=MOST_CLASSES, exclude_if=lambda classes: not classes
    )
    veto: Texts = Field(default=[], min_length=1, exclude_if=lambda veto: not veto)

    @property
    def electorate(self) -> list[str]:
        """Return the groups that may sign, with those next in line."""
        return [*self.groups, *(group for entry in self.escalate_to for group in entry.to)]


class Reason(Exact):
    """Why: a stable code, and a sentence for people."""

    code: Text
    msg: Text


class NotificationObligation(Exact):
    """Groups have to be told, in these words, that the effect begins (AuthZEN obligations profile, `notification`)."""

    type: Literal["notification"]
    id: Text = Field(min_length=1)
    to: Texts = Field(min_length=1)
    body: Text = Field(min_length=1)


class StepUpObligation(Exact):
    """The requester has to authenticate in a stronger way first (AuthZEN obligations profile, `step-up`)."""

    type: Literal["step-up"]
    id: Text = Field(min_length=1)
    acr_value: Text | None = Field(default=None, exclude_if=lambda value: value is None)
    amr_values: Texts | None = Field(default=None, min_length=1, exclude_if=lambda values: values is None)


class CustomObligation(Exact):
    """Something that a deployment has agreed on (AuthZEN obligations profile, `custom`)."""

    type: Literal["custom"]
    id: Text = Field(min_length=1)
    name: Text = Field(min_length=1)
    parameters: dict[str, Any] = Field(default={}, exclude_if=lambda parameters: not parameters)


Obligation = Annotated[NotificationObligation | StepUpObligation | CustomObligation, Field(discriminator="type")]


class BudgetUse(Exact):
    """What an allowed effect takes of a budget: one effect of `count`, and `amount` of `sum`, in a `currency`.

    `key` says whose budget it is, of those that are counted `by` that: a requester, agent or target. It begins again
    each day or month, by the calendar of `time_zone`. `over` says what follows where too little is left.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,59}$")
    comment: Text
    by: Literal["requester", "agent", "target"]
    key: Key
    per: Literal["day", "month"]
    time_zone: ZoneName
    count: int | None = Field(default=None, ge=1, le=1_000_000_000, exclude_if=lambda count: count is None)
    sum: DecimalText | None = Field(default=None, exclude_if=lambda text: text is None)
    currency: str | None = Field(default=None, pattern=r"^[A-Z0-9]{1,10}$", exclude_if=lambda text: text is None)
    amount: DecimalText | None = Field(default=None, exclude_if=lambda text: text is None)
    over: Literal["deny", "wait", "approve"]

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if len({self.sum is None, self.currency is None, self.amount is None}) > 1:
            raise ValueError("`sum`, `currency` and `amount` are said together")
        if self.count is None and self.sum is None:
            raise ValueError("a budget has a `count`, a `sum`, or both")
        return self


class Answer(Exact):
    """The decision document; `requirement` is null unless the outcome is needs_approval.

    `execute` says when what is allowed may begin; nothing but what is allowed has it. `rules` are the names of what is
    behind the reasons and the requirement: of a rule its path and the code of its reason, joined by `#`, and the path
    of a member of the configuration. Policies of earlier releases do not name them.

    `obligations` are what has to be done with the effect; the gate performs nothing with one that it cannot fulfil
    (`notifications`). `names` are fields of the effect: policy denies until it is told who is named there
    (`Question.named`). `budgets` are what an allowed effect takes of budgets, which the gate keeps.
    """

    outcome: Outcome
    tier: Literal["low", "medium", "high"]
    requirement: Requirement | None
    reasons: list[Reason] = Field(max_length=MOST_ITEMS)
    obligations: list[Obligation] = Field(max_length=MOST_ITEMS)
    execute: ExecuteWhen | None = Field(default=None, exclude_if=lambda execute: execute is None)
    rules: list[RuleName] | None = Field(
        default=None, min_length=1, max_length=MOST_ITEMS, exclude_if=lambda rules: rules is None
    )
    names: Texts | None = Field(default=None, min_length=1, exclude_if=lambda names: names is None)
    budgets: list[BudgetUse] | None = Field(
        default=None, min_length=1, max_length=MOST_BUDGETS, exclude_if=lambda budgets: budgets is None
    )

    def notifications(self) -> list[NotificationObligation]:
        """Return whom the gate has to tell; raise PolicyUnavailableError if the answer obliges it to anything else.

        It tells of what is allowed; beside any other outcome it fulfils no obligation.
        """
        told = [one for one in self.obligations if isinstance(one, NotificationObligation)]
        if others := [f"{one.type} {one.id!r}" for one in self.obligations if one not in told]:
            raise PolicyUnavailableError(f"unknown obligations: {', '.join(others)}")
        if told and self.outcome is not Outcome.ALLOW:
            raise PolicyUnavailableError(f"unknown obligations: notification {told[0].id!r} with {self.outcome}")
        return told

    @model_validator(mode="after")
    def _fits_a_leaf(self) -> Self:
        asked = self.requirement
        names = [*asked.electorate, *asked.exclude, *asked.veto] if asked else []
        names += [group for one in asked.classes for group in one.groups] if asked else []
        break_glass = asked.break_glass if asked else None
        names += [*break_glass.groups, *break_glass.tell, *break_glass.review_by] if break_glass else []
        if sum(len(name.encode()) for name in (*names, *(reason.code for reason in self.reasons))) > LONGEST_NAMES:
            raise ValueError(f"its groups, people and codes have more than {LONGEST_NAMES} bytes")
        return self


class Verdict(Exact):
    """An answer with its provenance: OPA's decision id and version, the digest of the policy text, and the latency.

    The id is that of the request, and the question's place in it; the latency is the request's. `in_force` is the
    policy version in force where another one was asked, which only a rollback does. `named` is what policy was told in
    the end about people named in fields, None where it did not ask.
    """

    answer: Answer
    decision_id: str
    policy_digest: str
    opa_version: str
    latency_ms: float
    in_force: int | None = None
    named: dict[str, list[str] | None] | None = None


class PolicyText(Exact):
    """The exact text of a policy: file name to content. Its digest is the SHA-256 of the RFC 8785 form of `files`."""

    digest: str
    files: dict[str, str]
