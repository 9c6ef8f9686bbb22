"""What is said about a run, in words: from the runtime's data to sentences for people. All of it is data to Slack."""

import json
from collections.abc import Sequence
from datetime import datetime
from textwrap import shorten

from bot.cards.blocks import utc
from bot.cards.text import one_line
from bot.cards.wording import result_words, signed_without, verdict_word
from runtime.model.approvals.approval import AskKind, Result, StandingChange
from runtime.model.approvals.votes import VoteVerdict
from runtime.model.card_messages import CardTampered
from runtime.model.delegation_messages import DelegateVoted, DelegationChanged
from runtime.model.message import RunName
from runtime.model.messages import (
    ApprovalEnded,
    ApprovalOpened,
    Edited,
    EffectEnded,
    EvidenceSealed,
    EvidenceStuck,
    GlassBroken,
    Held,
    HeldOver,
    HeldSettled,
    Note,
    NotStarted,
    Plain,
    QuestionAnswered,
    QuestionAsked,
    Reminder,
    RequestHanded,
    ReviewLate,
    RunEnded,
    Said,
    StandingChanged,
    StepHeld,
    TaskClaimed,
    TaskReleased,
    TimeRunsShort,
    Unfulfillable,
    VoteCounted,
    VoteWithdrawn,
)
from runtime.model.run import HeldAct
from runtime.model.states import ApprovalStatus, RunStatus

_TITLE = 150
"""Characters of a request's title."""
_DECIDED = {
    ApprovalStatus.APPROVED: "was approved",
    ApprovalStatus.REJECTED: "was rejected",
    ApprovalStatus.EXPIRED: "was not decided in time, so it is not done",
    ApprovalStatus.CANCELED: "was canceled",
}
_CHANGES = "is not done as it is: changes were requested"
_ENDED = {
    RunStatus.SUCCEEDED: "has finished",
    RunStatus.FAILED_TERMINAL: "has ended without success",
    RunStatus.CANCELED: "was canceled",
}


def words(said: Said, what: str = "") -> str:  # noqa: C901, PLR0911, PLR0912 - one for each kind
    """Return what is said; `what` is the title of the request that it is about, in whose place its step is named."""
    match said:
        case VoteCounted():
            return _vote(said)
        case VoteWithdrawn() | RequestHanded() | QuestionAsked() | QuestionAnswered():
            return _answer(said)
        case TaskClaimed() | TaskReleased():
            return _claim(said)
        case ApprovalOpened() | ApprovalEnded():
            return _approval(said, what)
        case StandingChanged():
            return _standing(said, what)
        case TimeRunsShort() | Reminder() | NotStarted():
            return _patience(said, what)
        case Edited() | EffectEnded():
            return _effect(said, what)
        case RunEnded():
            return _run_ended(said)
        case EvidenceSealed() | EvidenceStuck():
            return _evidence(said)
        case GlassBroken() | ReviewLate() | Unfulfillable() | CardTampered():
            return _alarm(said, what)
        case Held() | StepHeld() | HeldSettled():
            return _held(said)
        case DelegationChanged() | DelegateVoted():
            return _delegation(said, what)
        case Plain():
            return said.text


def _effect(said: Edited | EffectEnded, title: str) -> str:
    if isinstance(said, EffectEnded):
        return f"Outcome: {result_words(Result(said.code, tuple(said.about)))}."
    what = f"{_named(said.step, title)} of {_run(said.run)}, edited: {', '.join(said.params)}"
    return f"{said.person} asks for another version of {what}{_quoted(said.reason)}"


def _named(step: str, title: str) -> str:
    """Return the title of a request as one quoted line, since it holds data; its step where it has none."""
    return json.dumps(shorten(title, _TITLE, placeholder="…"), ensure_ascii=False) if title else step


def _alarm(said: GlassBroken | ReviewLate | Unfulfillable | CardTampered, what: str) -> str:
    of = f"{_named(said.step, what)} of {_run(said.run)}"
    if isinstance(said, ReviewLate):
        asked = f"That was due {_day(said.until)}. Asked: {', '.join(said.groups)}."
        return f"Nobody has said yet whether it was right to break the glass for {of}. {asked}"
    if isinstance(said, CardTampered):
        return f"{said.person} edited the card for {of} by hand. What it said then is not the request. It is put back."
    if isinstance(said, Unfulfillable):
        return f"Not enough eligible approvers for {of}: {said.why}."
    if said.reviewer:
        how = f"{said.reviewer} found it not justified that {said.person} broke the glass for {of}"
        return f"{how} ({said.ticket}){_quoted(said.why)}"
    return (
        f"{said.person} broke the glass for {of}: it is done without the signatures that policy wants."
        f" Ticket: {said.ticket}. Why: {said.why}"
    )


def _patience(said: TimeRunsShort | Reminder | NotStarted, what: str) -> str:
    of = f"{_named(said.step, what)} of {_run(said.run)}"
    if isinstance(said, NotStarted):
        return f"No run of {said.runbook} was started for {of}: {said.why}."
    if isinstance(said, Reminder):
        return f"Still open: {of}. Asked: {', '.join(said.groups)}, until {_day(said.until)}."
    parts = [
        f"Time runs short for {of}.",
        _asked_next(said),
        f"There is time until {_day(said.until)}." if said.until else "",
        f"{said.started} takes it up." if said.started else "",
    ]
    return " ".join(filter(None, parts))


def _asked_next(said: TimeRunsShort) -> str:
    if not said.groups:
        return ""
    when = f"From {_day(said.asked_from)} on, after quiet hours, asked" if said.asked_from else "Now asked"
    return f"{when}: {', '.join(said.groups)}."


def _day(moment: str) -> str:
    return utc(datetime.fromisoformat(moment))


_MENDED = {
    HeldAct.RETRY: "tries it again",
    HeldAct.SUPPLY: "supplied its result",
    HeldAct.SKIP: "skips it",
    HeldAct.END: "ended the run",
}


def _held(said: Held | StepHeld | HeldSettled) -> str:
    if isinstance(said, Held):
        what = said.step or "A card"
        return f"{what} of {_run(said.run)} is held: {said.why}. It goes on by itself once that is mended."
    if isinstance(said, HeldSettled):
        return f"{said.step} of {_run(said.run)}: {said.person} {_MENDED[said.act]}{_quoted(said.why)}"
    todo = "Somebody has to say how it goes on, here or in the Home of this app."
    return f"{said.step} of {_run(said.run)} failed and is held: {_why(said)}. {todo}"


def closed_words(asked: StepHeld, then: HeldSettled | HeldOver) -> str:
    """Return what a message that asked about a held step says once nobody has to answer."""
    why = f"{asked.step} of {_run(asked.run)} failed and was held: {_why(asked)}."
    if isinstance(then, HeldOver):
        return f"{why} The run has ended."
    return f"{why} {then.person} {_MENDED[then.act]}{_quoted(then.why)}"


def _why(said: StepHeld) -> str:
    why = said.why.rstrip(".")
    return f"{why} ({said.code})" if said.code else why


def _evidence(said: EvidenceSealed | EvidenceStuck) -> str:
    if isinstance(said, EvidenceSealed):
        return f"{_run(said.run)} {_ended(said)}. Evidence sealed. SHA-256: {said.sha256}"
    todo = f"When that is mended: countersign evidence repair {said.run_id}"
    return f"The evidence of {_run(said.run)} cannot be stored: {said.why}. {todo}"


def _run(run: RunName) -> str:
    return f"{run.title} ({run.reference})"


def _ended(said: RunEnded | EvidenceSealed) -> str:
    """Return how a run ended: by the word of its runbook, where that has one."""
    return f"has ended: {said.outcome.replace('_', ' ')}" if said.outcome else _ENDED.get(said.status, "has ended")


def _delegation(said: DelegationChanged | DelegateVoted, title: str) -> str:
    if isinstance(said, DelegateVoted):
        how = f"{said.delegate} {verdict_word(AskKind.EFFECT, said.verdict)} for {said.delegator}, by delegation"
        return f"{how}: {_named(said.step, title)} of {_run(said.run)}."
    what = f"{said.delegate} votes for {said.delegator} in {', '.join(said.groups)}"
    when = f"from {_day(said.starts_at)} until {_day(said.ends_at)}"
    how = "recorded a delegation:" if said.act == "recorded" else "ended the delegation by which"
    return f"{said.person} {how} {what}, {when}{_quoted(said.reason)}"


def _quoted(reason: str) -> str:
    """Return a reason as one quoted line, so that it cannot pass for a sentence of ours."""
    return f": {json.dumps(reason, ensure_ascii=False)}" if reason else "."


def _vote(said: VoteCounted) -> str:
    progress = f" ({_signed(said)})" if said.verdict is VoteVerdict.APPROVE else ""
    return f"{said.person} {verdict_word(said.ask, said.verdict)}{progress}{_quoted(said.reason)}"


def _signed(said: VoteCounted | VoteWithdrawn) -> str:
    missing = said.missing if said.count else []
    return signed_without(said.count, [*map(one_line, missing)]) if missing else f"{said.count} of {said.quorum}"


def _answer(said: VoteWithdrawn | RequestHanded | QuestionAsked | QuestionAnswered) -> str:
    match said:
        case VoteWithdrawn():
            return f"{said.person} withdrew their vote ({_signed(said)}){_quoted(said.reason)}"
        case RequestHanded():
            return f"{said.person} has handed this to {said.to}{_quoted(said.reason)}"
        case QuestionAsked():
            return f"{said.person} asks about {_run(said.run)}{_quoted(said.question)}"
        case QuestionAnswered():
            return f"{said.person} answers{_quoted(said.answer)}"


def _claim(said: TaskClaimed | TaskReleased) -> str:
    if isinstance(said, TaskReleased):
        return f"{said.person} has given this back. Anybody who is asked may take it on."
    return f"{said.person} works on this now{f', in the place of {said.before}' if said.before else ''}."


def _approval(said: ApprovalOpened | ApprovalEnded, what: str) -> str:
    yours = f"Your request in {_run(said.run)}, {_named(said.step, what)},"
    if isinstance(said, ApprovalOpened):
        people = "one person" if said.quorum == 1 else f"{said.quorum} people"
        asked = f"was put to {', '.join(said.groups)}: {people} must approve it, until {_day(said.until)}"
        return f"{yours} {asked}."
    why = "".join(f" {vote.name}{_quoted(vote.why)}" for vote in said.votes)
    how = _CHANGES if said.changes else _DECIDED.get(said.status, "has ended")
    return f"{yours} {how}.{why}"


def _standing(said: StandingChanged, what: str) -> str:
    of = f"{_named(said.step, what)} of {_run(said.run)}"
    match said.change:
        case StandingChange.VOTE_LAPSED:
            why = f"{said.person} is not in {' or '.join(said.groups)} any more"
            return f"The approval of {said.person} for {of} does not count any more: {why}. {_so_far(said)}"
        case StandingChange.VOTE_BACK:
            return f"The approval of {said.person} for {of} counts again. {_so_far(said)}"
        case StandingChange.ENOUGH_AGAIN:
            return f"Enough people can decide {of} again."
        case StandingChange.OUTGROWN:
            people = "one person" if said.quorum == 1 else f"{said.quorum} people"
            asked = f"{people} from {', '.join(said.groups)} must approve it, until {_day(said.until)}"
            return f"Policy asks for more approvals of {of} now: {asked}. Approvals given before do not count."


def _so_far(said: StandingChanged) -> str:
    return f"{said.count} of {said.quorum} approvals so far."


def _run_ended(said: RunEnded) -> str:
    head = f"{_run(said.run)} {_ended(said)}"
    is_all_done = said.status is RunStatus.SUCCEEDED and not (said.rejected or said.skipped or said.handled)
    if is_all_done and not (said.outcome or said.response):
        return f"{head}: every step was done."
    parts = [
        *([said.response] if said.response else []),
        *(f"{note.name}: {note.why}" for note in said.failed[:1]),
        *_listed("Failed, and was handled", said.handled),
        *_listed("Rejected", said.rejected),
        *_listed("Not done", said.skipped),
    ]
    return ". ".join([head, *(part.rstrip(".") for part in parts)]) + "."


def _listed(word: str, notes: Sequence[Note]) -> list[str]:
    named = [f"{note.name} ({note.why})" if note.why else note.name for note in notes]
    return [f"{word}: {', '.join(named)}"] if named else []
