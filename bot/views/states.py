"""States of a request: the sign and the words of each, the same wherever it is shown."""

from datetime import datetime
from enum import Enum

from runtime.model.approval import AskKind, ResultCode
from runtime.model.chat_message import BreakGlassUsed, CardTampered, ReviewLate, Unfulfillable
from runtime.model.messages import (
    ApprovalEnded,
    ApprovalOpened,
    Blocked,
    EffectEnded,
    EvidenceStuck,
    NotStarted,
    Reminder,
    Said,
    StepNeedsAttention,
    TimeRunsShort,
)
from runtime.model.states import ApprovalStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView

_PENDING, _APPROVED, _REJECTED, _EXPIRED, _CANCELED, _BREAK_GLASS, _ATTENTION = "🟡", "✅", "⛔", "⌛", "🚫", "🚨", "⚠️"


class State(Enum):
    """Each state with its sign and its words. Two states may share a sign, never sign and words."""

    PENDING = (_PENDING, "Approval needed")
    REVIEW = (_PENDING, "Review needed")
    SHORT_OF_APPROVERS = (_ATTENTION, "Approval needed")
    SHORT_OF_REVIEWERS = (_ATTENTION, "Review needed")
    IN_DOUBT = (_ATTENTION, "Did this happen?")
    AFTERWARDS = (_BREAK_GLASS, "Break-glass: review needed")
    APPROVED = (_APPROVED, "Approved")
    BREAK_GLASS = (_BREAK_GLASS, "Break-glass: approved by one person alone")
    REJECTED = (_REJECTED, "Rejected")
    CHANGES = (_REJECTED, "Changes requested")
    OVERDUE = (_EXPIRED, "Time is up")
    EXPIRED = (_EXPIRED, "Expired without a decision")
    CANCELED = (_CANCELED, "Canceled")
    REPLACED = (_CANCELED, "Replaced by an edited version")
    OUTGROWN = (_CANCELED, "Void: policy now requires more approvals")
    HAPPENED = (_APPROVED, "Settled: it happened")
    NOT_HAPPENED = (_REJECTED, "Settled: it did not happen")
    JUSTIFIED = (_BREAK_GLASS, "Reviewed: justified")
    NOT_JUSTIFIED = (_BREAK_GLASS, "Reviewed: not justified")

    @property
    def sign(self) -> str:
        """Return the sign, one emoji."""
        return self.value[0]

    @property
    def words(self) -> str:
        """Return what a screen reader says, too."""
        return self.value[1]


_ASKED = {
    AskKind.EFFECT: (State.PENDING, State.SHORT_OF_APPROVERS),
    AskKind.TASK: (State.REVIEW, State.SHORT_OF_REVIEWERS),
    AskKind.IN_DOUBT: (State.IN_DOUBT, State.IN_DOUBT),
    AskKind.AFTERWARDS: (State.AFTERWARDS, State.AFTERWARDS),
}
_ENDED = {
    ApprovalStatus.APPROVED: State.APPROVED,
    ApprovalStatus.REJECTED: State.REJECTED,
    ApprovalStatus.EXPIRED: State.EXPIRED,
    ApprovalStatus.CANCELED: State.CANCELED,
}
_OWN_ENDS = {
    (AskKind.IN_DOUBT, ApprovalStatus.APPROVED): State.HAPPENED,
    (AskKind.IN_DOUBT, ApprovalStatus.REJECTED): State.NOT_HAPPENED,
    (AskKind.AFTERWARDS, ApprovalStatus.APPROVED): State.JUSTIFIED,
    (AskKind.AFTERWARDS, ApprovalStatus.REJECTED): State.NOT_JUSTIFIED,
}
_VOIDED = {ResultCode.REPLACED: State.REPLACED, ResultCode.OUTGROWN: State.OUTGROWN}
_OUTCOMES = {
    **dict.fromkeys(
        (ResultCode.PERFORMED, ResultCode.PERFORMED_BEFORE, ResultCode.CONFIRMED, ResultCode.ANSWERED), _APPROVED
    ),
    **dict.fromkeys((ResultCode.WINDOW, ResultCode.BUDGET), _APPROVED),
    **dict.fromkeys((ResultCode.REJECTED, ResultCode.CHANGES_REQUESTED), _REJECTED),
    ResultCode.NOT_IN_TIME: _EXPIRED,
    **dict.fromkeys((ResultCode.CANCELED, ResultCode.REPLACED, ResultCode.OUTGROWN), _CANCELED),
    ResultCode.NOT_PERFORMED: _ATTENTION,
}


def is_open(view: ApprovalView, now: datetime) -> bool:
    """Say whether the request can still be decided."""
    return view.status is ApprovalStatus.REQUESTED and (view.kind.outlives_run or now < view.expires_at)


def state_of(view: ApprovalView, now: datetime) -> State:
    """Return the state of a request."""
    if view.status is ApprovalStatus.REQUESTED:
        return _ASKED[view.kind][bool(view.shortfall)] if is_open(view, now) else State.OVERDUE
    if view.result is not None and view.result.code in _VOIDED:
        return _VOIDED[view.result.code]
    if any(vote.verdict is VoteVerdict.CHANGES and not vote.leaves_open for vote in view.votes):
        return State.CHANGES
    if view.status is ApprovalStatus.APPROVED and any(vote.ticket for vote in view.votes):
        return State.BREAK_GLASS
    return _OWN_ENDS.get((view.kind, view.status), _ENDED[view.status])


def title(view: ApprovalView, now: datetime) -> str:
    """Return the state of a request in words alone, as notifications and screen readers say it."""
    return state_of(view, now).words


def signed_title(view: ApprovalView, now: datetime) -> str:
    """Return the state of a request in words behind its sign."""
    state = state_of(view, now)
    return f"{state.sign} {state.words}"


def sign_of(said: Said) -> str:
    """Return the sign before a message with a space, "" where what it says is no state."""
    sign = _sign_of(said)
    return f"{sign} " if sign else ""


def _sign_of(said: Said) -> str:
    match said:
        case ApprovalEnded():
            return _REJECTED if said.changes else _ENDED[said.status].sign if said.status in _ENDED else ""
        case EffectEnded():
            return _OUTCOMES.get(said.code, "")
        case BreakGlassUsed() | ReviewLate():
            return _BREAK_GLASS
        case ApprovalOpened() | Reminder() | TimeRunsShort():
            return _PENDING
        case CardTampered() | Blocked() | StepNeedsAttention() | Unfulfillable() | EvidenceStuck() | NotStarted():
            return _ATTENTION
    return ""
