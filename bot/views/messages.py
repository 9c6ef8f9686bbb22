"""Messages: sentences for people, made from the runtime's data about runs. Slack shows all of it as data.

Many messages to one person become one: how many there are, a line for each, and a link to their Home.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from textwrap import shorten

from pydantic import TypeAdapter

from bot.views.blocks import Block, bold, context, dated, header, mrkdwn_text, utc
from bot.views.links import card_link, joined_links
from bot.views.text import Shown, mrkdwn, one_line, short_legible
from bot.views.wording import listed, result_words, signed_without, verdict_word
from runtime.model.approval import AskKind, Result, ResultCode, StandingChange
from runtime.model.chat_message import (
    BreakGlassUsed,
    CardTampered,
    DelegateVoted,
    DelegationChanged,
    PolicyNotice,
    ReviewLate,
    RunName,
    Unfulfillable,
)
from runtime.model.delivery import GatheredMessage, Gathering, Rank
from runtime.model.messages import (
    ApprovalEnded,
    ApprovalOpened,
    Blocked,
    Edited,
    EffectEnded,
    EvidenceSealed,
    EvidenceStuck,
    Note,
    NotStarted,
    Plain,
    QuestionAnswered,
    QuestionAsked,
    Reminder,
    RepairClosed,
    RepairDone,
    RequestHanded,
    RunEnded,
    Said,
    StandingChanged,
    StepNeedsAttention,
    TaskClaimed,
    TaskReleased,
    TimeRunsShort,
    VoteCounted,
    VoteWithdrawn,
)
from runtime.model.run import RepairAction
from runtime.model.states import ApprovalStatus, RunStatus
from runtime.model.votes import VoteVerdict

_TITLE = 150
"""Characters of a request's title."""
_DECIDED = {
    ApprovalStatus.APPROVED: "was approved",
    ApprovalStatus.REJECTED: "was rejected",
    ApprovalStatus.EXPIRED: "expired without a decision",
    ApprovalStatus.CANCELED: "was canceled",
}
_CHANGES = "was sent back: changes were requested"
_ENDED = {
    RunStatus.SUCCEEDED: "has finished",
    RunStatus.FAILED_TERMINAL: "failed",
    RunStatus.CANCELED: "was canceled",
}


def message_text(said: Said, what: str = "") -> str:  # noqa: C901, PLR0911, PLR0912 - one for each kind
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
            return _deadline(said, what)
        case Edited() | EffectEnded() | PolicyNotice():
            return _effect(said, what)
        case RunEnded():
            return _run_ended(said)
        case EvidenceSealed() | EvidenceStuck():
            return _evidence(said)
        case BreakGlassUsed() | ReviewLate() | Unfulfillable() | CardTampered():
            return _alarm(said, what)
        case Blocked() | StepNeedsAttention() | RepairDone():
            return _stopped(said)
        case DelegationChanged() | DelegateVoted():
            return _delegation(said, what)
        case Plain():
            return said.text


def message_moments(said: Said) -> list[datetime]:
    """Return the moments that `message_text` names, in UTC: one reader can be shown them in their time zone."""
    found: list[str | None]
    match said:
        case ApprovalOpened() | StandingChanged() | Reminder() | ReviewLate():
            found = [said.until]
        case TimeRunsShort():
            found = [said.until, said.asked_from]
        case DelegationChanged():
            found = [said.starts_at, said.ends_at]
        case EffectEnded(code=ResultCode.WINDOW):
            found = [*said.about]
        case EffectEnded(code=ResultCode.BUDGET):
            found = [*said.about[:1]]
        case _:
            found = []
    return sorted({datetime.fromisoformat(one) for one in found if one})


def _effect(said: Edited | EffectEnded | PolicyNotice, title: str) -> str:
    if isinstance(said, EffectEnded):
        return f"{result_words(Result(said.code, tuple(said.about)))}."
    what = f"{_named(said.step, title)} of {_run(said.run)}"
    if isinstance(said, PolicyNotice):
        return f"{what} begins: {said.body}"
    return f"{said.person} edited {', '.join(said.params)} in {what}{_quoted(said.reason)}"


def _named(step: str, title: str) -> str:
    """Return the title of a request as one quoted line, since it holds data; its step where it has none."""
    return json.dumps(shorten(title, _TITLE, placeholder="…"), ensure_ascii=False) if title else step


def _alarm(said: BreakGlassUsed | ReviewLate | Unfulfillable | CardTampered, what: str) -> str:
    of = f"{_named(said.step, what)} of {_run(said.run)}"
    if isinstance(said, ReviewLate):
        return f"Break-glass review overdue: {of}. Due {_day(said.until)}. Asked: {', '.join(said.groups)}."
    if isinstance(said, CardTampered):
        return f"{said.person} edited the card for {of} in Slack. It is restored; the edit changes nothing."
    if isinstance(said, Unfulfillable):
        return f"Not enough eligible approvers for {of}: {said.why}."
    if said.reviewer:
        how = f"{said.reviewer} found the break-glass by {said.person} not justified: {of}"
        return f"{how} ({said.ticket}){_quoted(said.why)}"
    return (
        f"{said.person} used break-glass for {of}: done without the required signatures."
        f" Ticket: {said.ticket}. Why: {said.why}"
    )


def _deadline(said: TimeRunsShort | Reminder | NotStarted, what: str) -> str:
    of = f"{_named(said.step, what)} of {_run(said.run)}"
    if isinstance(said, NotStarted):
        return f"{said.runbook} could not be started for {of}: {said.why}."
    if isinstance(said, Reminder):
        return f"Still open: {of}. Due {_day(said.until)}. Asked: {', '.join(said.groups)}."
    parts = [
        f"{_escalated(said)}: {of}.",
        f"Due {_day(said.until)}." if said.until else "",
        f"Started: {said.started}." if said.started else "",
    ]
    return " ".join(filter(None, parts))


def _escalated(said: TimeRunsShort) -> str:
    to = f"Escalated to {', '.join(said.groups)}" if said.groups else "Escalated"
    return f"{to} from {_day(said.asked_from)} on, after quiet hours" if said.asked_from else to


def _day(moment: str) -> str:
    return utc(datetime.fromisoformat(moment))


_REPAIRED = {
    RepairAction.RETRY: "retried it",
    RepairAction.SUPPLY: "supplied its result",
    RepairAction.SKIP: "skipped it",
    RepairAction.END: "ended the run",
}


def _stopped(said: Blocked | StepNeedsAttention | RepairDone) -> str:
    if isinstance(said, Blocked):
        what = said.step or "A card"
        return f"{what} of {_run(said.run)} is blocked: {said.why}. It continues automatically once this is fixed."
    if isinstance(said, RepairDone):
        return f"{said.step} of {_run(said.run)}: {said.person} {_REPAIRED[said.act]}{_quoted(said.why)}"
    todo = "Choose how it continues, here or in this app's Home tab."
    return f"{said.step} of {_run(said.run)} failed and needs attention: {_why(said)}. {todo}"


def closed_words(asked: StepNeedsAttention, then: RepairDone | RepairClosed) -> str:
    """Return what a message that asked for a step's repair says once nobody has to answer."""
    why = f"{asked.step} of {_run(asked.run)} failed and needed attention: {_why(asked)}."
    if isinstance(then, RepairClosed):
        return f"{why} The run has ended."
    return f"{why} {then.person} {_REPAIRED[then.act]}{_quoted(then.why)}"


def _why(said: StepNeedsAttention) -> str:
    why = said.why.rstrip(".")
    return f"{why} ({said.code})" if said.code else why


def _evidence(said: EvidenceSealed | EvidenceStuck) -> str:
    if isinstance(said, EvidenceSealed):
        return f"{_run(said.run)} {_ended(said)}. Evidence sealed. SHA-256: {said.sha256}"
    todo = f"Once this is fixed, run: countersign evidence retry {said.run_id}"
    return f"The evidence of {_run(said.run)} cannot be stored: {said.why}. {todo}"


def _run(run: RunName) -> str:
    return f"{run.title} ({run.reference})"


def _ended(said: RunEnded | EvidenceSealed) -> str:
    """Return how a run ended: by the word of its runbook, where that has one."""
    return f"has ended: {said.outcome.replace('_', ' ')}" if said.outcome else _ENDED.get(said.status, "has ended")


def _delegation(said: DelegationChanged | DelegateVoted, title: str) -> str:
    if isinstance(said, DelegateVoted):
        word = verdict_word(AskKind.EFFECT, said.verdict, leaves_open=said.leaves_open)
        how = f"{said.delegate} {word} for {said.delegator}, by delegation"
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
    word = verdict_word(said.ask, said.verdict, leaves_open=said.leaves_open)
    stays = " (this stays open)" if said.leaves_open else ""
    return f"{said.person} {word}{progress}{stays}{_quoted(said.reason)}"


def _signed(said: VoteCounted | VoteWithdrawn) -> str:
    missing = [*map(one_line, (*said.missing, *said.classes))] if said.count else []
    quorum = said.quorum if said.classes else 0
    return signed_without(said.count, missing, quorum) if missing else f"{said.count} of {said.quorum}"


def _answer(said: VoteWithdrawn | RequestHanded | QuestionAsked | QuestionAnswered) -> str:
    match said:
        case VoteWithdrawn():
            return f"{said.person} withdrew their vote ({_signed(said)}){_quoted(said.reason)}"
        case RequestHanded():
            return f"{said.person} handed this to {said.to}{_quoted(said.reason)}"
        case QuestionAsked():
            return f"{said.person} asks about {_run(said.run)}{_quoted(said.question)}"
        case QuestionAnswered():
            return f"{said.person} answers{_quoted(said.answer)}"


def _claim(said: TaskClaimed | TaskReleased) -> str:
    if isinstance(said, TaskReleased):
        return f"{said.person} released this. Anyone asked may claim it."
    return f"{said.person} claimed this{f', taking over from {said.before}' if said.before else ''}."


def _approval(said: ApprovalOpened | ApprovalEnded, what: str) -> str:
    yours = f"Your request in {_run(said.run)}, {_named(said.step, what)},"
    if isinstance(said, ApprovalOpened):
        people = "1 person" if said.quorum == 1 else f"{said.quorum} people"
        asked = f"was sent to {', '.join(said.groups)}: {people} must approve it by {_day(said.until)}{_among(said)}"
        return f"{yours} {asked}."
    why = "".join(f" {vote.name}{_quoted(vote.why)}" for vote in said.votes)
    how = _CHANGES if said.changes else _DECIDED.get(said.status, "has ended")
    return f"{yours} {how}.{why}"


def _standing(said: StandingChanged, what: str) -> str:
    of = f"{_named(said.step, what)} of {_run(said.run)}"
    match said.change:
        case StandingChange.VOTE_LAPSED:
            why = f"{said.person} is no longer in {' or '.join(said.groups)}"
            return f"The approval by {said.person} of {of} no longer counts: {why}. {_so_far(said)}"
        case StandingChange.VOTE_BACK:
            return f"The approval by {said.person} of {of} counts again. {_so_far(said)}"
        case StandingChange.VOTED_NO:
            rule = f"only a no from {listed(said.groups, 'or')} ends it"
            stays = f"It stays open until {_day(said.until)}; {rule}"
            return f"{said.person} voted no on {of}. {stays}{_quoted(said.reason)}"
        case StandingChange.ENOUGH_AGAIN:
            return f"Enough people can decide {of} again."
        case StandingChange.OUTGROWN:
            people = "1 person" if said.quorum == 1 else f"{said.quorum} people"
            asked = f"{people} from {', '.join(said.groups)} must approve it by {_day(said.until)}{_among(said)}"
            return f"Policy now requires more approvals of {of}: {asked}. Earlier approvals do not count."


def _among(said: ApprovalOpened | StandingChanged) -> str:
    return f", among them {listed(said.classes)}" if said.classes else ""


def _so_far(said: StandingChanged) -> str:
    return f"{said.count} of {said.quorum} approvals so far."


def _run_ended(said: RunEnded) -> str:
    head = f"{_run(said.run)} {_ended(said)}"
    is_all_done = said.status is RunStatus.SUCCEEDED and not (said.rejected or said.skipped or said.handled)
    if is_all_done and not (said.outcome or said.response):
        return f"{head}: all steps done."
    parts = [
        *([said.response] if said.response else []),
        *(f"{note.name}: {note.why}" for note in said.failed[:1]),
        *_listed("Failed and handled", said.handled),
        *_listed("Rejected", said.rejected),
        *_listed("Skipped", said.skipped),
    ]
    return ". ".join([head, *(part.rstrip(".") for part in parts)]) + "."


def _listed(word: str, notes: Sequence[Note]) -> list[str]:
    named = [f"{note.name} ({note.why})" if note.why else note.name for note in notes]
    return [f"{word}: {', '.join(named)}"] if named else []


MOST_LINES = 15

_SAID: TypeAdapter[Said] = TypeAdapter(Said)
_LINE = 180


@dataclass(frozen=True)
class _Line:
    """What was said last of something; `at` is its place in time, `asks` says that it asks for a decision."""

    item: GatheredMessage
    rank: Rank
    at: int
    asks: bool


def gathered_message(gathering: Gathering, home: Shown | None, workspace: str = "") -> tuple[Shown, list[Block]]:
    """Return text and blocks of the message: the most urgent first, and of these the newest.

    Requests that were decided since are left out, others stand once. `workspace` is its address.
    """
    lines = sorted(_lines(gathering), key=lambda line: (line.rank, -line.at))
    title = _gathered_title(lines)
    rest = len(lines) - MOST_LINES
    more = [context(bold(f"… and {rest:,} more"))] if rest > 0 else []
    way = home or mrkdwn("See this app's Home tab.")
    shown = [_gathered_block(line.item, workspace) for line in lines[:MOST_LINES]]
    return Shown(title), [header(Shown(title)), *shown, *more, context(mrkdwn_text(way))]


def _gathered_block(item: GatheredMessage, workspace: str) -> Block:
    """Return what was said, with the way to what it is about."""
    said = _SAID.validate_python(item.said)
    told = dated(short_legible(one_line(message_text(said, item.title)), _LINE), message_moments(said))
    way = joined_links(card_link(workspace, item.card) if workspace else None, item.link)
    return {"type": "section", "text": mrkdwn_text(Shown(f"{told} {way}".rstrip()))}


def _gathered_title(lines: list[_Line]) -> str:
    if not lines:
        return "Nothing is waiting for you now"
    if all(line.asks for line in lines):
        return "1 more request for you" if len(lines) == 1 else f"{len(lines):,} more requests for you"
    return "1 more message for you" if len(lines) == 1 else f"{len(lines):,} more messages for you"


def _lines(gathering: Gathering) -> Iterator[_Line]:
    """Yield a line for each message; what is said again of a request is the last of it, as urgent as any."""
    asking: dict[str, _Line] = {}
    for at, item in enumerate(gathering.items):
        if item.card_of is None or not item.asks:
            yield _Line(item, item.rank, at, asks=False)
        elif item.is_open:
            before = asking.get(item.card_of)
            rank = min(before.rank, item.rank) if before else item.rank
            asking[item.card_of] = _Line(item, rank, at, asks=True)
    yield from asking.values()
