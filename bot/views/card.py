"""The card: what a person sees before saying yes or no, and afterwards.

An open request shows what happens to whom, what it means, who asks, what changes, and who has to sign. A closed one
shows its outcome, who decided, and when.

Each value stands alone in a plain text object beside words of ours, or in a line whose parts it cannot separate: no
value can pass for another. What does not fit is counted on the card and stands in full behind "Show all".
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.views.blocks import (
    Block,
    bold,
    call_of,
    context,
    date,
    header,
    link,
    mrkdwn_text,
    plain_text,
    rows,
    rows_of,
    section,
    size,
)
from bot.views.buttons import claim_buttons, decide_buttons, show_all_button, undo_buttons
from bot.views.edits import edited_blocks, replacement_button
from bot.views.facts import card_blocks, other_blocks, summary_blocks
from bot.views.links import joined_links
from bot.views.more_menu import more_menus
from bot.views.states import is_open, signed_title, title
from bot.views.text import Shown, inline, inline_mrkdwn, one_line, short, short_legible, short_mrkdwn, units
from bot.views.value_blocks import Level, left_out, under_heading
from bot.views.values import Row, is_for_machines, label, laid_out
from bot.views.wording import (
    consequence,
    earliest_execution,
    execution_times,
    headline,
    headline_parts,
    pending_execution,
    progress_words,
    requirement,
    result_words,
    still_needed,
    until_word,
    vote_notes,
    vote_word,
)
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView, VoteView

Pair = tuple[Block, Block]

_SIGNED = {"passkey": "with a passkey, on the page that Approve opens"}


def open_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what stands above the buttons: what it leads to, the facts by which one decides, and who is asked."""
    return [
        *summary_blocks(view, level),
        section(consequence(view)),
        *earliest_execution(view),
        *_pause(view),
        *_shortfall(view, level),
        *card_blocks(view, level),
        *_edited(view),
        section(_people(view, level)),
        *_call(view),
    ]


def rest_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what stands below the buttons: what else it changes, what people said, and how it is undone."""
    rest = [
        *edited_blocks(view, level),
        *other_blocks(view, level),
        *_progress(view, level),
        *rows_of([*_undone(view, level), *_questions(view, level), *_vote_reasons(view, level)]),
        *left_out(len(view.reasons) - level.others, "reason"),
        *left_out(sum(bool(vote.reason) for vote in view.votes) - level.others, "vote"),
    ]
    return [{"type": "divider"}, *rest] if rest else []


def open_buttons(view: ApprovalView) -> list[Block]:
    """Return the buttons that answer it, and the menu of what else one may do."""
    return [*decide_buttons(view), *claim_buttons(view), show_all_button(view), *more_menus(view)]


def expiry(view: ApprovalView) -> Shown:
    """Return until when it is open, in the reader's own time."""
    return Shown(f"{until_word(view).capitalize()} {date(view.expires_at)}")


def _call(view: ApprovalView) -> list[Block]:
    people = call_of(view.asked)
    return [context(mrkdwn_text(people))] if people else []


def _pause(view: ApprovalView) -> list[Block]:
    """Say that the clock stands still, and until when at most: what it says of its end is then the latest."""
    if view.paused_until is None:
        return []
    who = inline_mrkdwn(view.requester, 60)
    said = f":double_vertical_bar: Clock paused while {who} answers (until {date(view.paused_until)} at the latest)"
    return [context(mrkdwn_text(Shown(said)))]


def _shortfall(view: ApprovalView, level: Level) -> list[Block]:
    """Say that nobody can decide it; or that those who are asked cannot, and to whom it went as well."""
    nobody = rows([(bold("Not enough eligible approvers"), level.value(view.shortfall))]) if view.shortfall else []
    if not view.fell_back:
        return nobody
    others = inline(", ".join(view.fallback), 120) if view.fallback else "others"
    why = f"Too few of those asked can decide: {inline(view.fell_back, 200)}."
    return [section(Shown(f"{why} Also sent to {others}.")), *nobody]


def _progress(view: ApprovalView, level: Level) -> list[Block]:
    """Return how far it has come, as somebody else tells: the message and the newest data, each as data."""
    word = view.progress
    if word is None:
        return []
    data = [piece for piece in laid_out(dict(word.data or {})) if isinstance(piece, Row) and piece.path]
    pairs = [(bold("Message"), plain_text(level.value(word.message)))] if word.message else []
    pairs += [(plain_text(label(one.path)), level.cell(one.value)) for one in data[: level.others]]
    since = context(mrkdwn_text(Shown(f"{date(word.at)} · update {word.count:,}")))
    rest = left_out(len(data) - level.others, "value")
    return under_heading("Progress", [*rows_of(pairs), *rest, since])


def _edited(view: ApprovalView) -> list[Block]:
    """Say who has edited it, as a warning; what it was stands below."""
    if view.edited is None:
        return []
    return [section(Shown(f"⚠️ Edited by {inline(', '.join(view.edited.by), 120)} since it was requested"))]


def _undone(view: ApprovalView, level: Level) -> list[Pair]:
    undone = "" if view.kind is AskKind.TASK else view.reversible_by
    return [(bold("To undo"), plain_text(level.value(undone)))] if undone else []


def _people(view: ApprovalView, level: Level) -> Shown:
    """Return, a line each, who asks, who has signed and who is needed, why, and under which conditions."""
    lines = [
        _requested(view),
        _joined(votes_so_far(view, level.others), f"needed: {inline(requirement(view), 200)}"),
        *(_line(_why(view), message, level) for _, message in view.reasons[: level.others]),
        *(_line(name, value, level) for name, value in _conditions(view) if value),
    ]
    return Shown("\n".join(lines))


def _requested(view: ApprovalView) -> Shown:
    via = f" via {inline(view.submitted_by, 60)}" if view.submitted_by != view.requester else ""
    # an id or a digest says nothing here
    known_by = "" if is_for_machines(view.reference) else view.reference
    run, reference = inline(view.run_title, 100), inline(known_by, 60) if known_by else ""
    return _joined(f"Requested by {inline(view.requester, 60)}{via}", run, reference)


def _line(name: str, value: str, level: Level) -> Shown:
    return Shown(f"{name}: {inline(value, level.chars)}")


def _why(view: ApprovalView) -> str:
    return "What happened" if view.kind is AskKind.AFTERWARDS else "Why"


def _conditions(view: ApprovalView) -> list[tuple[str, str]]:
    return [
        ("May also decide", ", ".join(view.joined)),
        ("Signed", _SIGNED.get(view.sign_with, "")),
        ("When", execution_times(view)),
        ("Claimed by", view.assignee_name),
    ]


def _joined(*parts: str) -> Shown:
    return Shown(" · ".join(filter(None, parts)))


def votes_so_far(view: ApprovalView, most: int) -> Shown:
    """Return how many have approved, and who has said what."""
    people = [_vote_line(view, vote) for vote in view.votes[-most:]]
    taken_back = [f"{inline(vote.person_name, 60)} withdrew" for vote in view.withdrawn[-most:]]
    progress = still_needed(view, inline) or progress_words(view)
    return _joined(Shown(progress), *people, *taken_back)


def _vote_line(view: ApprovalView, vote: VoteView) -> str:
    """Return who said what, and what is unusual about it."""
    unusual = [vote_notes(vote), "" if vote.counts else "no longer counts"]
    notes = ", ".join(filter(None, unusual))
    return f"{inline(vote.person_name, 60)} {inline(vote_word(view, vote), 150)}{f' ({notes})' if notes else ''}"


def _vote_reasons(view: ApprovalView, level: Level) -> list[Pair]:
    votes = [vote for vote in view.votes if vote.reason][-level.others :]
    return [(plain_text(inline(vote.person_name, 60)), plain_text(level.value(vote.reason))) for vote in votes]


def _questions(view: ApprovalView, level: Level) -> list[Pair]:
    """Return the newest questions, each with its answer in short; all of them stand in full behind "Show all"."""
    return [
        (
            plain_text(Shown(f"{inline(one.person_name, 40)} asks: {inline(one.question, 120)}")),
            plain_text(level.value(one.answer["text"]) if one.answer else Shown("no answer yet")),
        )
        for one in view.questions[-2:]
    ]


def closed_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what stands between the state of the request and its buttons."""
    outcome = [section(level.value(result_words(view.result)))] if view.result and not pending_execution(view) else []
    votes = view.votes[-level.others :]
    said = [
        (
            plain_text(Shown("\n".join(filter(None, _vote_cell(view, vote))))),
            level.value(vote.reason) if vote.reason else Shown("—"),
        )
        for vote in votes
    ]
    return [
        *pending_execution(view),
        *outcome,
        *rows(said),
        *left_out(len(view.votes) - len(votes), "vote"),
        *_decided_at(view),
    ]


def _vote_cell(view: ApprovalView, vote: VoteView) -> tuple[str, ...]:
    """Return who said what, and what is unusual about it."""
    notes = vote_notes(vote)
    return inline(vote.person_name, 60), inline(vote_word(view, vote), 150), f"⚠ {notes}" if notes else ""


def closed_buttons(view: ApprovalView) -> list[Block]:
    """Return the buttons for the rest, and for an undo, or for what stands in its place, where there is one."""
    return [*undo_buttons(view), *replacement_button(view), show_all_button(view)]


def _decided_at(view: ApprovalView) -> list[Block]:
    word = "Decided" if view.votes else "Closed"
    decided = [mrkdwn_text(Shown(f"{word} {date(view.decided_at)}"))] if view.decided_at else []
    return [context(*decided, plain_text(Shown(f"Requested by {inline(view.requester, 60)}")))]


# Slack refuses a message (msg_blocks_too_long) somewhere above this length, which it does not document.
BUDGET = 12_000
# What a header takes, and of it the words that say how much is cut.
_HEADER, _CUT = 150, 20
SHORT_ID = 8
"""Characters of an id's end, by which people tell two apart."""


@dataclass(frozen=True)
class Card:
    """A message: `text` for notifications and screen readers, `blocks` for the eye."""

    text: str
    blocks: list[Block]

    def json(self) -> dict[str, Any]:
        """Return what is shown, for the record."""
        return {"text": self.text, "blocks": self.blocks}


# The first that fits is taken; the last always fits.
_LEVELS = (Level(300, 4, 3, 3, 5, 3), Level(160, 3, 3, 3, 4, 3), Level(80, 2, 3, 3, 3, 3), Level(20, 1, 3, 3, 2, 2))


def _state(view: ApprovalView, now: datetime) -> Block:
    """Return the state of the request in one line of ours, with the time until when it is open."""
    has_tier = view.tier and view.kind is not AskKind.TASK  # a review changes nothing by itself
    tier = f" · {inline_mrkdwn(view.tier, 20)} risk" if has_tier else ""
    words = f"*{signed_title(view, now)}{tier}{' · escalated' if view.escalated else ''}*"
    until = f" · {expiry(view)}" if is_open(view, now) else ""
    return {"type": "section", "text": mrkdwn_text(Shown(f"{words}{until}"))}


def _headline(view: ApprovalView) -> Block:
    """Return what happens to whom, within the 150 characters of a header; a long text leaves the target its place."""
    does, to = headline_parts(view)
    if not to:
        return header(inline(does, _HEADER - _CUT))
    end = Shown(f": {inline(to, 60)}")
    return header(Shown(f"{inline(does, _HEADER - _CUT - units(end))}{end}"))


def _mocked(view: ApprovalView) -> list[Block]:
    """Say first of all where nothing is done for real."""
    return [section(Shown("On mocks: whatever is decided here, nothing is done for real."))] if view.mocked else []


def _reference(label: str, address: str) -> Block:
    """Return a link, or both parts as data where the address is none."""
    shown = link(short_mrkdwn(label, 60), address)
    return mrkdwn_text(shown) if shown else plain_text(short(one_line(f"{label}: {address}"), 100, lines=1))


def _ids(view: ApprovalView, *, is_asked: bool) -> Block:
    """Return the small print: operation and target, the rules by which people are asked, and the short ids."""
    what = () if view.kind is AskKind.TASK else (view.connector, view.operation, view.target)
    codes = [f"rule {code}" for code, _ in view.reasons[:3]]
    asked = [*what, f"step {view.step}", *codes, f"action {view.digest[:16]}"] if is_asked else []
    parts = [inline(part, 60) for part in asked if part]
    known = (*view.declared.links, *view.links)[:6] if is_asked else ()
    links = [_reference(label, address) for label, address in known]
    run = Shown(f"Run …{inline_mrkdwn(view.run_id[-SHORT_ID:], 8 * SHORT_ID)}")
    way = joined_links(run, view.link)
    return context(*([plain_text(Shown(" · ".join(parts)))] if parts else []), *links, mrkdwn_text(way))


def _blocks(view: ApprovalView, now: datetime, level: Level) -> list[Block]:
    asked = is_open(view, now)
    buttons = open_buttons(view) if asked else closed_buttons(view)
    return [
        _state(view, now),
        *_mocked(view),
        _headline(view),
        *(open_blocks(view, level) if asked else closed_blocks(view, level)),
        # A message that is updated wants new block ids.
        {"type": "actions", "block_id": f"decide-{view.revision}", "elements": buttons},
        *(rest_blocks(view, level) if asked else []),
        _ids(view, is_asked=asked),
    ]


def _text(view: ApprovalView, now: datetime) -> str:
    """Return what a notification tells: the state, what happens to whom, and who asks."""
    run, by = short_legible(one_line(view.run_title), 100), short_legible(one_line(view.requester), 60)
    progress = progress_words(view)
    mocked = "On mocks: " if view.mocked else ""
    told = f"{title(view, now)}: {short_legible(headline(view), 180)}"
    return f"{mocked}{told}. Requested by {by}, for {run} ({progress})"


def card(view: ApprovalView, *, now: datetime) -> Card:
    """Return the card for an approval as it is now; it fits Slack's limits whatever the data."""
    for level in _LEVELS:
        blocks = _blocks(view, now, level)
        if size(blocks) <= BUDGET:
            break
    return Card(_text(view, now), blocks)
