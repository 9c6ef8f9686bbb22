"""What is said in the chat, as data: the parameters of the chat's operations, for those who send and who post.

The runtime says what happened; the words are the bot's.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from runtime.model.approval import AskKind, ResultCode, StandingChange
from runtime.model.chat_message import (
    BreakGlassUsed,
    CardTampered,
    DelegateVoted,
    DelegationChanged,
    Message,
    PolicyNotice,
    ReviewLate,
    RunName,
    Unfulfillable,
)
from runtime.model.run import RepairAction
from runtime.model.states import ApprovalStatus, RunStatus
from runtime.model.votes import VoteVerdict

Text = Annotated[str, Field(min_length=1)]
Status = Annotated[RunStatus, Field(strict=False)]


class Note(Message):
    """A step, or a person, and why it is named."""

    name: str
    why: str


class VoteCounted(Message):
    """Somebody's vote counts; `count` of `quorum` count so far, and nobody of the groups `missing` has signed.

    `classes` says of which classes of signers some are missing. A no that `leaves_open` the request ended nothing.
    """

    kind: Literal["vote_counted"] = "vote_counted"
    ask: Annotated[AskKind, Field(strict=False)]
    person: str
    verdict: Annotated[VoteVerdict, Field(strict=False)]
    reason: str
    count: int
    quorum: int
    missing: list[str] = Field(default_factory=list)
    classes: list[str] = Field(default=[], exclude_if=lambda classes: not classes)
    leaves_open: bool = Field(default=False, exclude_if=lambda leaves_open: not leaves_open)


class VoteWithdrawn(Message):
    """Somebody took their vote back; `count` of `quorum` are left, and nobody of the groups `missing` has signed.

    `classes` says of which classes of signers some are missing.
    """

    kind: Literal["vote_withdrawn"] = "vote_withdrawn"
    person: str
    reason: str
    count: int
    quorum: int
    missing: list[str] = Field(default_factory=list)
    classes: list[str] = Field(default=[], exclude_if=lambda classes: not classes)


class RequestHanded(Message):
    """Somebody has handed a request to another person, who is called by their Slack accounts, `mention`."""

    kind: Literal["request_handed"] = "request_handed"
    person: str
    to: str
    reason: str
    mention: list[str]


class QuestionAsked(Message):
    """Somebody who may decide asks whoever asked, who is called by their Slack accounts, `mention`, and may answer."""

    kind: Literal["question_asked"] = "question_asked"
    run: RunName
    approval_id: str
    question_id: str
    person: str
    question: str
    mention: list[str]


class QuestionAnswered(Message):
    """Whoever asked has answered a question; who put it is called, `mention`."""

    kind: Literal["question_answered"] = "question_answered"
    person: str
    answer: str
    mention: list[str]


class TaskClaimed(Message):
    """Somebody works on a review now; `before` is the name of whom they took it over from, "" where it was free."""

    kind: Literal["task_claimed"] = "task_claimed"
    person: str
    before: str


class TaskReleased(Message):
    """Somebody has given a review back."""

    kind: Literal["task_released"] = "task_released"
    person: str


class ApprovalOpened(Message):
    """What the requester asked for was put to people of these groups: so many of them, until then.

    `classes` says how many of them have to be of which groups.
    """

    kind: Literal["approval_opened"] = "approval_opened"
    run: RunName
    step: str
    groups: list[str]
    quorum: int
    until: str
    classes: list[str] = Field(default=[], exclude_if=lambda classes: not classes)


class StandingChanged(Message):
    """What counts for a request has changed: `person` is whose vote, `groups` whom policy asks, who have the veto.

    Of OUTGROWN, `classes` says how many people have to be of which groups.
    """

    kind: Literal["standing_changed"] = "standing_changed"
    change: Annotated[StandingChange, Field(strict=False)]
    run: RunName
    step: str
    person: str = ""
    groups: list[str] = Field(default_factory=list)
    quorum: int = 0
    count: int = 0
    until: str = ""
    classes: list[str] = Field(default=[], exclude_if=lambda classes: not classes)
    reason: str = Field(default="", exclude_if=lambda reason: not reason)


class ApprovalEnded(Message):
    """What the requester asked for was decided, or not in time; `votes` are those who gave a reason.

    With `changes` it was rejected because something should be otherwise.
    """

    kind: Literal["approval_ended"] = "approval_ended"
    run: RunName
    step: str
    status: Annotated[ApprovalStatus, Field(strict=False)]
    votes: list[Note]
    changes: bool = False


class TimeRunsShort(Message):
    """Those next in line are asked, `asked_from` then where all have quiet hours; `started` a run of that runbook."""

    kind: Literal["time_runs_short"] = "time_runs_short"
    run: RunName
    step: str
    groups: list[str]
    until: str | None = None
    asked_from: str | None = None
    started: str | None = None


class NotStarted(Message):
    """No run of `runbook` could be started because of a step that waits too long."""

    kind: Literal["not_started"] = "not_started"
    run: RunName
    step: str
    runbook: str
    why: str


class Reminder(Message):
    """Those who are asked have until then."""

    kind: Literal["reminder"] = "reminder"
    run: RunName
    step: str
    groups: list[str]
    until: str


class EffectEnded(Message):
    """What became of the effect that was asked about; `about` is as in a result."""

    kind: Literal["effect_ended"] = "effect_ended"
    code: Annotated[ResultCode, Field(strict=False)]
    about: list[str]


class Edited(Message):
    """Somebody edited and resubmitted a request: it is void, and policy decides on the new one."""

    kind: Literal["edited"] = "edited"
    run: RunName
    step: str
    person: str
    reason: str
    params: list[str]


class RunEnded(Message):
    """What a run came to: what failed, what people rejected, and what was not done, each with its reason.

    `outcome` is the word with which its runbook ended it, "" for none; `handled` are failures that a branch took up.
    What an earlier release wrote has neither. `response` is what the runbook's author says of it, "" for nothing.
    """

    kind: Literal["run_ended"] = "run_ended"
    run: RunName
    status: Status
    outcome: str = ""
    handled: list[Note] = Field(default_factory=list)
    failed: list[Note]
    rejected: list[Note]
    skipped: list[Note]
    response: str = ""


class EvidenceSealed(Message):
    """The evidence of a finished run is stored; `sha256` is its digest in hexadecimal, `outcome` as in its end."""

    kind: Literal["evidence_sealed"] = "evidence_sealed"
    run: RunName
    status: Status
    outcome: str = ""
    sha256: str


class EvidenceStuck(Message):
    """The evidence of a finished run cannot be stored, and waits for somebody to act."""

    kind: Literal["evidence_stuck"] = "evidence_stuck"
    run: RunName
    run_id: str
    why: str


class Blocked(Message):
    """Something waits until somebody fixes its cause outside. `step` is "" where it is a card."""

    kind: Literal["blocked"] = "blocked"
    run: RunName
    step: str
    why: str


class StepNeedsAttention(Message):
    """A step has failed, and waits for a person to say how it goes on."""

    kind: Literal["step_needs_attention"] = "step_needs_attention"
    run: RunName
    run_id: str
    step: str
    why: str
    code: str


class RepairDone(Message):
    """Somebody repaired a step that needed attention."""

    kind: Literal["repair_done"] = "repair_done"
    run: RunName
    step: str
    act: Annotated[RepairAction, Field(strict=False)]
    person: str
    why: str


class RepairClosed(Message):
    """The run of a step that needed attention has ended, so nobody has to repair the step any more."""

    kind: Literal["repair_closed"] = "repair_closed"


class Plain(Message):
    """Words as they are."""

    kind: Literal["plain"] = "plain"
    text: Text


Said = Annotated[
    VoteCounted
    | VoteWithdrawn
    | RequestHanded
    | QuestionAsked
    | QuestionAnswered
    | TaskClaimed
    | TaskReleased
    | ApprovalOpened
    | ApprovalEnded
    | StandingChanged
    | TimeRunsShort
    | NotStarted
    | Reminder
    | EffectEnded
    | Edited
    | RunEnded
    | EvidenceSealed
    | EvidenceStuck
    | BreakGlassUsed
    | PolicyNotice
    | ReviewLate
    | Unfulfillable
    | Blocked
    | StepNeedsAttention
    | RepairDone
    | CardTampered
    | DelegationChanged
    | DelegateVoted
    | Plain,
    Field(discriminator="kind"),
]


class PostCard(Message):
    """slack::post_card: into a conversation, or to a person; `is_copy` says that the thread is under another."""

    approval_id: Text
    channel: Text
    is_copy: bool = False


class PostTask(PostCard):
    """slack::post_task: the verb's other params made the request; its card is read from there."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class UpdateCard(Message):
    """slack::update_card: `revision` is the least to show; `copy_at` is the copy's place, None for the first card."""

    approval_id: Text
    revision: int
    copy_at: Text | None = None


class UpdateMessage(Message):
    """slack::update_message: what asked for a step's repair says what came of it, and asks no more.

    `message` is the effect that posted it, `said` what it said.
    """

    message: Text
    said: StepNeedsAttention
    then: Annotated[RepairDone | RepairClosed, Field(discriminator="kind")]


class _Saying(Message):
    said: Said
    card_of: Text | None = None  # the approval to whose card a link is given, where there is one


class PostMessage(_Saying):
    """slack::post_message: into the thread of an approval's card, or into the channel."""

    channel: Text
    thread_of: Text | None = None


class DirectMessage(_Saying):
    """slack::direct_message."""

    user: Text
