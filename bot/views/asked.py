"""An open request: what happens to whom, what it means, who asks, what changes, and who has to sign."""

from bot.views.blocks import Block, bold, call_of, context, date, mrkdwn_text, plain_text, rows, rows_of, section
from bot.views.buttons import claim_buttons, decide_buttons, show_all_button
from bot.views.declared import summary_blocks
from bot.views.edited import edited_blocks
from bot.views.facts import card_blocks, other_blocks
from bot.views.more import more_menus
from bot.views.shown import Level, group, left_out
from bot.views.text import Shown, inline, inline_mrkdwn
from bot.views.values import Row, is_for_machines, label, laid_out
from bot.views.windows import earliest, times
from bot.views.wording import (
    approvals,
    consequence,
    how_far,
    requirement,
    signed_without,
    until_word,
    vote_notes,
    vote_word,
)
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView, VoteView

Pair = tuple[Block, Block]

_SIGNED = {"passkey": "with a passkey, on the page that Approve opens"}


def asked_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return what stands above the buttons: what it leads to, the facts by which one decides, and who is asked."""
    return [
        *summary_blocks(view, level),
        section(consequence(view)),
        *earliest(view),
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
        *rows_of([*_undone(view, level), *_questions(view, level), *_said(view, level)]),
        *left_out(len(view.reasons) - level.others, "reason"),
        *left_out(sum(bool(vote.reason) for vote in view.votes) - level.others, "vote"),
    ]
    return [{"type": "divider"}, *rest] if rest else []


def asked_buttons(view: ApprovalView) -> list[Block]:
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
    return group("Progress", [*rows_of(pairs), *rest, since])


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
        _joined(so_far(view, level.others), f"needed: {inline(requirement(view), 200)}"),
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
        ("When", times(view)),
        ("Claimed by", view.assignee_name),
    ]


def _joined(*parts: str) -> Shown:
    return Shown(" · ".join(filter(None, parts)))


def so_far(view: ApprovalView, most: int) -> Shown:
    """Return how many have approved, and who has said what."""
    people = [_voted(view, vote) for vote in view.votes[-most:]]
    taken_back = [f"{inline(vote.person_name, 60)} withdrew" for vote in view.withdrawn[-most:]]
    count = approvals(view)
    missing = [inline(group, 60) for group in view.missing]
    progress = signed_without(count, missing) if missing and count else how_far(view)
    return _joined(Shown(progress), *people, *taken_back)


def _voted(view: ApprovalView, vote: VoteView) -> str:
    """Return who said what, and what is unusual about it."""
    unusual = [vote_notes(vote), "" if vote.counts else "no longer counts"]
    notes = ", ".join(filter(None, unusual))
    return f"{inline(vote.person_name, 60)} {inline(vote_word(view, vote), 150)}{f' ({notes})' if notes else ''}"


def _said(view: ApprovalView, level: Level) -> list[Pair]:
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
