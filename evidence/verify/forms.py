"""What records have beside the members of `evidence.records`, as far as rules compare it."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from evidence.records import (
    Answered,
    ApprovalRecord,
    Asked,
    AskedActor,
    AskedEffect,
    DecimalText,
    DecisionRecord,
    Extensible,
    OmittedIfNone,
    RequirementRecord,
    VoteRecord,
)
from evidence.verify.vote_forms import AccountForm, VoteForm
from receipts.fields import NonEmpty, Sha256Hex, Timestamp

Tier = Literal["low", "medium", "high"]


class ActorForm(AskedActor):
    """Who wanted the effect, and who sent the trigger."""

    kind: str
    submitted_by: str


class RunForm(Extensible):
    """The run, as policy was told."""

    id: str
    definition: str
    version: int
    trigger_type: str


class AllowedForm(Extensible):
    """What policy said of an act: OPA's id of the decision, and the digest of the text that gave it."""

    decision_id: str
    digest: Sha256Hex


class SettledForm(Extensible):
    """What a person said of a step that needs attention; `result` is the commitment of what they supplied."""

    reason: str
    policy: AllowedForm
    result: str | None = None


class CancelForm(Extensible):
    """What somebody said who wanted a run canceled; the program's own wish needs nobody's leave."""

    reason: str
    policy: AllowedForm | None = None


class TermForm(Extensible):
    """From when until when an approval can be given and used, as policy was told.

    `usable_until` is there where its requirement says when to carry it out: it can then be used until that moment.
    """

    requested_at: Timestamp
    expires_at: Timestamp
    usable_until: Timestamp = ""


class ToldVote(VoteRecord):
    """A vote, as policy was told."""

    at: Timestamp


class EffectForm(AskedEffect):
    """The effect, as policy was told; `reads` is there where it is a governed read."""

    reversible: bool
    reads: bool = False


class ToldEdits(Extensible):
    """By whom the effect had been edited, and what had been asked for, as policy was told."""

    by: list[str]
    requested: dict[str, Any]


class QuestionForm(Asked):
    """The whole question; `named` is who is named in fields of the effect, by field, null where that was not known."""

    time: Timestamp
    tenant: str
    actor: ActorForm
    run: RunForm
    step: str
    effect: EffectForm
    approval: TermForm | None
    votes: Sequence[ToldVote]
    edited: ToldEdits | None = None
    named: dict[str, list[str] | None] | None = None


class ReasonForm(Extensible):
    """Why policy, or the gate, says so."""

    code: str


class RequirementForm(RequirementRecord):
    """What a human authorization had to fulfil, with its duration (ISO 8601)."""

    expires_in: NonEmpty
    reason_required: bool


class AnswerForm(Answered):
    """The whole answer; `rules` names those behind the reasons and the requirement, where the policy does."""

    tier: Tier
    requirement: RequirementForm | None
    reasons: list[ReasonForm]
    rules: OmittedIfNone[Annotated[list[NonEmpty], Field(min_length=1)]] = None


class DecisionForm(DecisionRecord):
    """One file of `decisions/`."""

    run_id: str
    step: str
    opa_version: NonEmpty
    input: QuestionForm
    answer: AnswerForm


class ChangeForm(Extensible):
    """One param; its value `before` or `after` is left out where it was, or is, not given."""

    param: NonEmpty


class EditForm(Extensible):
    """What somebody made of a request: from which digest to which, and what they changed (`param`, before, after)."""

    person: NonEmpty
    groups: list[str]
    reason: str
    slack: AccountForm
    before: Sha256Hex = Field(alias="from")
    after: Sha256Hex = Field(alias="to")
    changes: list[ChangeForm] = Field(min_length=1)
    at: Timestamp


class ReplyForm(Extensible):
    """What was answered: `by` whom, a `person` or an `agent`; `group` where it was for the group for questions."""

    by: NonEmpty
    kind: Literal["person", "agent"]
    name: str
    text: str
    at: Timestamp
    group: OmittedIfNone[NonEmpty] = None


class QuestionOfForm(Extensible):
    """What a person asked about a request, with its answer where there is one."""

    id: NonEmpty
    person: NonEmpty
    person_name: str
    question: str
    at: Timestamp
    answer: OmittedIfNone[ReplyForm] = None


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
    edited: EditForm | None = None
    questions: Sequence[QuestionOfForm] = ()


class Candidate(Extensible):
    """A version that was looked at when a trigger came."""

    name: NonEmpty
    version: int
    digest: Sha256Hex


class Chosen(Extensible):
    """Of the data of `run.queued`, among which versions the run's own was chosen."""

    among: list[Candidate]


class Proposed(Extensible):
    """The data of `effect.proposed`; `action` is connector and operation, joined by `::`."""

    action: str
    target: str
    digest: str


class Waiting(Extensible):
    """The data of `effect.waiting`: by which decision, and from when until when the effect may begin."""

    decision_id: NonEmpty
    since: Timestamp
    opens_at: Timestamp
    until: Timestamp


class Taken(Extensible):
    """How much of a budget is taken in a day or month (`period`): so many effects (`count`), and in all a `sum`."""

    name: NonEmpty
    period: NonEmpty
    count: int = Field(ge=0)
    sum: OmittedIfNone[DecimalText] = None


class Reserved(Extensible):
    """The data of `budget.reserved`: what an attempt took of `budgets`, and of which its effect had taken (`kept`)."""

    decision_id: NonEmpty
    budgets: list[Taken]
    kept: list[str]


class Returned(Extensible):
    """The data of `budget.used` and `budget.released`: the names of the budgets."""

    budgets: list[str] = Field(min_length=1)


class Spent(Extensible):
    """The data of `budget.spent`: of which budgets too little was left, and until when the effect waits for that."""

    decision_id: NonEmpty
    budgets: list[Taken] = Field(min_length=1)
    opens_at: OmittedIfNone[Timestamp] = None


class Opened(Extensible):
    """The data of `wait.opened`."""

    wait_id: NonEmpty
    kind: str = Field(alias="type")
    correlation_key: str
    deadline: Timestamp


class StartedForm(Extensible):
    """Which run was started because another one waits too long, or why none was."""

    runbook: NonEmpty
    run_id: NonEmpty = ""
    error: NonEmpty = ""


class Escalated(Extensible):
    """The data of `wait.escalated`."""

    wait_id: NonEmpty
    entry: Annotated[int, Field(ge=0)]
    to: list[str]
    deadline: Timestamp = ""
    started: StartedForm | None = None


class Progressed(Extensible):
    """The data of `wait.progress`; `count` is how often there was word."""

    wait_id: NonEmpty
    count: int = Field(ge=1)


class Withdrawn(Extensible):
    """The data of `vote.withdrawn`; `digest` is that of the vote."""

    approval_id: NonEmpty
    person: NonEmpty
    digest: Sha256Hex
    reason: str


class Handed(Extensible):
    """The data of `approval.handed`."""

    approval_id: NonEmpty
    person: NonEmpty
    to: NonEmpty
    reason: str


class FellBack(Extensible):
    """The data of `approval.fell_back`: why those who are asked cannot decide, and to which groups it went as well."""

    approval_id: NonEmpty
    why: NonEmpty
    to: list[str]


class QuestionLeaf(Extensible):
    """The data of `question.asked` and `question.answered`; `digest` is that of the question, or of the answer.

    `deadline` is that of the approval and its wait, where the leaf moves it.
    """

    approval_id: NonEmpty
    question_id: NonEmpty
    person: NonEmpty
    digest: Sha256Hex
    deadline: Timestamp = ""
