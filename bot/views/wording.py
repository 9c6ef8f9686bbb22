"""Wording of a request: its buttons, what people said, what is still needed, and its execution window.

The window says at which times, and from which moment on, policy lets the action be carried out.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import isodate

from bot.views.blocks import Block, context, date, mrkdwn_text, utc
from bot.views.text import Shown, inline_mrkdwn, one_line, plain
from runtime.model.approval import AskKind, Result, ResultCode
from runtime.model.metrics import duration_words
from runtime.model.states import RunStatus, StepStatus
from runtime.model.votes import VoteVerdict
from runtime.services.approval_view import ApprovalView, VoteView

QUICK = timedelta(seconds=10)
"""A vote is quick this soon after its person opened the request, as reports call it, too."""

_DOUBT = (
    "We tried this and got no answer. Check the target before you decide. “It happened” records it as done; it is "
    "never repeated. “It did not happen” lets us try once more; if it did happen, it happens twice."
)
_AFTERWARDS = (
    "Someone did this in an emergency, without the required signatures. It stays done, whatever you decide. Was it "
    "justified? Your answer closes the record of the run."
)
FINAL = Shown("⚠️ Cannot be undone.")
_EXPLAINED = {
    AskKind.EFFECT: "Approving does this once. Rejecting cancels it.",
    AskKind.TASK: "Approving lets the run continue. Rejecting ends this review as rejected.",
    AskKind.IN_DOUBT: _DOUBT,
    AskKind.AFTERWARDS: _AFTERWARDS,
}
_VERDICTS = {
    VoteVerdict.APPROVE: "approved",
    VoteVerdict.REJECT: "rejected",
    VoteVerdict.CHANGES: "asked for changes",
}
_DOUBT_VERDICTS = {VoteVerdict.APPROVE: "says it happened", VoteVerdict.REJECT: "says it did not happen"}

_AFTER_VERDICTS = {VoteVerdict.APPROVE: "says it was justified", VoteVerdict.REJECT: "says it was not justified"}
_OWN_VERDICTS = {AskKind.IN_DOUBT: _DOUBT_VERDICTS, AskKind.AFTERWARDS: _AFTER_VERDICTS}
_BUTTONS = {
    AskKind.IN_DOUBT: ("It happened", "It did not happen"),
    AskKind.AFTERWARDS: ("Justified", "Not justified"),
}

_RESULTS = {
    ResultCode.PERFORMED: "Done",
    ResultCode.PERFORMED_BEFORE: "Done before, under the same idempotency key",
    ResultCode.CONFIRMED: "Done, as a person confirmed",
    ResultCode.ANSWERED: "Done, as its answer shows",
    ResultCode.REJECTED: "Not done: rejected by {}",
    ResultCode.CHANGES_REQUESTED: "Not done: changes requested by {}",
    ResultCode.NOT_IN_TIME: "Not done: nobody decided in time",
    ResultCode.NOT_PERFORMED: "Not done: {}",
    ResultCode.WINDOW: "Approved; carried out from {} on",
    ResultCode.BUDGET: "Approved; carried out from {} on, since its budget {} is used up until then",
    ResultCode.REPLACED: "Not done as requested: edited by {}",
    ResultCode.OUTGROWN: "Not done: policy now requires more approvals, so people were asked again",
}


_STANDS: dict[str, str] = {
    RunStatus.QUEUED: "is about to begin",
    RunStatus.RUNNING: "is under way",
    RunStatus.WAITING_APPROVAL: "waits for approval",
    RunStatus.WAITING: "waits",
    RunStatus.FAILED_RETRYABLE: "failed and will be retried",
    RunStatus.NEEDS_ATTENTION: "needs attention",
    RunStatus.FAILED_TERMINAL: "failed",
    StepStatus.PENDING: "comes later",
    StepStatus.READY: "is about to begin",
    StepStatus.PARKED: "waits",
    StepStatus.FAILED_HANDLED: "failed and was handled",
}


def status_words(ending: str) -> str:
    """Return how a run or a step stands, or the word with which its runbook ended it."""
    return _STANDS.get(ending, ending.replace("_", " "))


def until_word(view: ApprovalView) -> str:
    """Return what happens at the end of its time: what is asked until somebody answers is late then."""
    return "due" if view.kind.outlives_run else "expires"


def verdict_word(ask: AskKind, verdict: VoteVerdict, *, leaves_open: bool = False) -> str:
    """Return what a person said, for a sentence that begins with the name; a no may have ended nothing."""
    if leaves_open and verdict is VoteVerdict.REJECT:
        return "voted no"
    return _OWN_VERDICTS.get(ask, _VERDICTS)[verdict]


def vote_word(view: ApprovalView, vote: VoteView) -> str:
    """Return what somebody said, and by which ticket where they did without the others."""
    said = verdict_word(view.kind, vote.verdict, leaves_open=vote.leaves_open)
    return f"used break-glass ({vote.ticket})" if vote.ticket else said


def vote_notes(vote: VoteView) -> str:
    """Return what is unusual about a vote: given soon after its person opened it, or by who reviewed or signed before.

    "" where it is as usual.
    """
    opened = [vote.opened_at] if vote.opened_at and vote.at - vote.opened_at <= QUICK else []
    earlier = ((vote.reviewed_at, "reviewed this run"), (vote.signed_at, "signed in this run"))
    notes = [f"{_since(at, vote)} after opening it" for at in opened]
    notes += [f"{act} {_since(at, vote)} before" for at, act in earlier if at]
    return ", ".join(notes)


def _since(at: datetime, vote: VoteView) -> str:
    return duration_words((vote.at - at).total_seconds())


def count_approvals(view: ApprovalView) -> int:
    """Count the approvals that count now."""
    return sum(vote.verdict is VoteVerdict.APPROVE and vote.counts for vote in view.votes)


def progress_words(view: ApprovalView) -> str:
    """Return how many of those that are needed have said so: `1 of 2 approvals`; and which groups have not."""
    if any(vote.ticket for vote in view.votes):
        return "by break-glass"
    if words := still_needed(view, inline_mrkdwn):
        return words
    what = "approval" if view.kind in (AskKind.EFFECT, AskKind.TASK) else "answer"
    return f"{count_approvals(view)} of {view.quorum} {what}{'' if view.quorum == 1 else 's'}"


def still_needed(view: ApprovalView, shown: Callable[[str, int], str]) -> str:
    """Return how many have signed, and of which groups and classes some are missing; "" where the number says it."""
    count = count_approvals(view)
    if not count or not (view.missing or view.missing_classes):
        return ""
    missing = [*(shown(group, 60) for group in view.missing), *(shown(one, 120) for one in view.missing_classes)]
    return signed_without(count, missing, view.quorum if view.missing_classes else 0)


def signed_without(count: int, missing: Sequence[str], quorum: int = 0) -> str:
    """Return how many have signed, of how many where that is said, and whose signature is missing."""
    signed = f"{count} of {quorum} signatures" if count < quorum else f"{count} signature{'' if count == 1 else 's'}"
    return f"{signed}; still needed: {', '.join(missing)}"


def headline(view: ApprovalView) -> str:
    """Return what happens to whom, as data, in one line: what the author says, and what it is done to."""
    return one_line(": ".join(filter(None, headline_parts(view))))


def headline_parts(view: ApprovalView) -> tuple[str, str]:
    """Return what happens, and to whom, where the first does not say it; a review's title says both."""
    if view.declared.title:
        return view.declared.title, ""
    if view.kind is AskKind.TASK:
        return view.operation, ""
    operation = view.operation.rpartition("::")[2].replace("_", " ")
    does = view.purpose if view.kind is AskKind.EFFECT else ""
    return does or operation[:1].upper() + operation[1:], view.target


def acted_on(view: ApprovalView) -> tuple[str, str]:
    """Return the operation and the target, "" for an operation that is all the headline says, as that of a review."""
    return ("" if one_line(view.operation) == headline(view) else view.operation), view.target


def undone_by(view: ApprovalView) -> str:
    """Return how the action can be undone; a review changes nothing by itself."""
    return "" if view.kind is AskKind.TASK else view.reversible_by or "cannot be undone"


def requirement(view: ApprovalView) -> str:
    """Return what is needed, in words; group names are data."""
    among = f"among them {listed(view.classes)}" if view.classes else ""
    veto = f"{listed(view.veto, 'or')} may veto" if view.veto else ""
    return "; ".join(filter(None, (_people_needed(view), among, veto)))


def listed(names: Sequence[str], word: str = "and") -> str:
    """Return names in one line, as a sentence lists them."""
    *some, last = [one_line(name) for name in names]
    return f"{', '.join(some)} {word} {last}" if some else last


def _people_needed(view: ApprovalView) -> str:
    groups = [one_line(group) for group in view.groups]
    if view.all_groups and view.quorum == len(groups) > 1:
        return " and ".join(f"1 from {group}" for group in groups)
    if view.all_groups and len(groups) > 1:
        return f"{view.quorum} people, at least 1 from each of {' and '.join(groups)}"
    people = "1 person" if view.quorum == 1 else f"{view.quorum} people"
    return f"{people} from {' or '.join(groups)}"


def button_words(view: ApprovalView) -> tuple[str, str]:
    """Return the words on the two buttons: yes and no."""
    return _BUTTONS.get(view.kind, ("Approve", "Reject"))


def result_words(result: Result) -> str:
    """Return what became of what was asked about; names and reasons in it are data, and a moment is in UTC."""
    if result.code is ResultCode.CANCELED:
        who, why = result.about
        return f"Not done: canceled by {who}{f': {why}' if why else ''}"
    if result.code is ResultCode.WINDOW:
        return _RESULTS[result.code].format(*(utc(datetime.fromisoformat(moment)) for moment in result.about))
    if result.code is ResultCode.BUDGET:
        moment, name = result.about
        return _RESULTS[result.code].format(utc(datetime.fromisoformat(moment)), name)
    return _RESULTS[result.code].format(", ".join(result.about))


def explanation(view: ApprovalView) -> str:
    """Return what either answer leads to: as its author says, where both are said."""
    declared = view.declared
    no = f"Only a no from {listed(view.veto, 'or')} ends it; any other no is recorded." if view.veto else ""
    if declared.approve and declared.reject and not view.kind.outlives_run:
        said = (f"Approve: {one_line(declared.approve)}", f"Reject: {one_line(declared.reject)}", no)
        return "\n".join(filter(None, said))
    return f"Approving does this once. {no}" if no else _EXPLAINED[view.kind]


def consequence(view: ApprovalView) -> Shown:
    """Return what either answer leads to, with the warning where that cannot be undone."""
    return Shown(f"{plain(explanation(view))}{f' {FINAL}' if is_final(view) else ''}")


def is_final(view: ApprovalView) -> bool:
    """Tell whether what an approval leads to cannot be undone."""
    return view.kind is AskKind.EFFECT and not view.reversible_by


def execution_times(view: ApprovalView) -> str:
    """Return the times of the week, and how long after the approval; "" where it is carried out at once."""
    when = view.execute
    if when is None:
        return ""
    windows = [f"{', '.join(one['days']).title()} {one['from']} to {one['until']}" for one in when.windows]
    parts = [
        f"{'; '.join(windows)} ({when.time_zone})" if windows else "",
        f"not before {utc(when.not_before)}" if when.not_before else "",
        f"within {_long_duration(when.within)} of the approval",
    ]
    return ", ".join(filter(None, parts))


def earliest_execution(view: ApprovalView) -> list[Block]:
    """Return the line that says from when on it is carried out, in the reader's own time, if not at once."""
    if view.execute is None or view.execute.earliest <= view.requested_at:
        return []
    return _execution_line(view.execute.earliest)


def pending_execution(view: ApprovalView) -> list[Block]:
    """Return that line once it is approved and waits."""
    if view.result is None or view.result.code not in (ResultCode.WINDOW, ResultCode.BUDGET):
        return []
    moment, *budget = view.result.about
    return _execution_line(datetime.fromisoformat(moment), *budget)


def _execution_line(moment: datetime, budget: str = "") -> list[Block]:
    why = f": the budget {plain(budget)} is used up until then" if budget else ""
    return [context(mrkdwn_text(Shown(f"*Carried out {date(moment)} at the earliest*{why}")))]


def _long_duration(duration: str) -> str:
    seconds = int(isodate.parse_duration(duration).total_seconds())
    size, word = next(unit for unit in _UNITS if seconds % unit[0] == 0)
    return f"{seconds // size:,} {word}{'s' if seconds > size else ''}"


_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
