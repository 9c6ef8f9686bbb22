"""The card: what a person sees before saying yes or no, and afterwards.

Each value stands alone in a plain text object beside fixed words of ours, so that no value can pass for another.
What does not fit is counted on the card and stands in full behind "Show all".
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.cards import references
from bot.cards.blocks import (
    Block,
    bold,
    button,
    context,
    date,
    header,
    heading,
    link,
    mrkdwn_text,
    plain_text,
    rows,
    section,
    size,
)
from bot.cards.text import Shown, clip, one_line, plain, render, short, short_mrkdwn
from bot.cards.wording import (
    approvals,
    button_words,
    explanation,
    is_open,
    requirement,
    result_words,
    title,
    undone_by,
    verdict_word,
    what,
)
from runtime.desk.model import ApprovalView, FieldView
from runtime.model.approval import ApprovalStatus, AskKind

# Slack refuses a message (msg_blocks_too_long) somewhere above this length, which it does not document.
BUDGET = 12_000

Row = tuple[Block, Shown]

_DIVIDER: Block = {"type": "divider"}


@dataclass(frozen=True)
class Card:
    """A message: `text` for notifications and screen readers, `blocks` for the eye."""

    text: str
    blocks: list[Block]

    def json(self) -> dict[str, Any]:
        """Return what is shown, for the record."""
        return {"text": self.text, "blocks": self.blocks}


@dataclass(frozen=True)
class _Level:
    """How much of the data is shown: characters and lines of a value, and how many fields, reasons and votes."""

    chars: int
    lines: int
    fields: int
    others: int

    def value(self, value: Any) -> Shown:
        return short(render(value), self.chars, self.lines)

    def label(self, name: str) -> Shown:
        return short(render(name), self.chars, lines=1)


# The first that fits is taken; the last always fits.
_LEVELS = (_Level(500, 8, 20, 8), _Level(200, 5, 14, 5), _Level(80, 3, 8, 4), _Level(20, 1, 4, 3))


def _facts(view: ApprovalView, level: _Level) -> list[Row]:
    by = view.submitted_by if view.submitted_by != view.requester else ""
    facts = [
        ("Connector", view.connector),
        ("Review" if view.kind is AskKind.TASK else "Operation", view.operation),
        ("Target", view.target),
        ("Undone by", undone_by(view)),
        ("Asked by", view.requester),
        ("Submitted by", by),
        ("Why", view.purpose),
        ("Run", view.run_title),
        ("Step", view.step),
        ("Needed", requirement(view)),
        ("Worked on by", view.assignee_name),
    ]
    progress = (bold("So far"), Shown(f"{approvals(view)} of {view.quorum}"))
    return [*((bold(name), level.value(value)) for name, value in facts if value), progress]


def _change(field: FieldView, level: _Level) -> Block:
    """Return a field with its values side by side, each alone."""
    values = [plain_text(level.value(field.before)), plain_text(level.value(field.after))]
    return {**section(level.label(field.name)), "fields": [bold("Now"), bold("→ After"), *values]}


def _left_out(count: int, what: str) -> list[Block]:
    return [context(bold(f"… {count:,} more {what} — Show all"))] if count > 0 else []


def _group(words: str, blocks: list[Block]) -> list[Block]:
    return [_DIVIDER, heading(words), *blocks] if blocks else []


def _fields(view: ApprovalView, level: _Level) -> list[Block]:
    fields = view.fields[: level.fields]
    changes = [_change(field, level) for field in fields if field.before is not None]
    sets = [(plain_text(level.label(one.name)), level.value(one.after)) for one in fields if one.before is None]
    words = "What is to be reviewed" if view.kind is AskKind.TASK else "What it sets"
    left_out = _left_out(len(view.fields) - len(fields), "fields")
    return [*_group("What it changes", changes), *_group(words, rows(sets)), *left_out]


def _progress(view: ApprovalView, level: _Level) -> list[Block]:
    """Return how far it has come, as somebody else tells: the message and the newest data, each as data."""
    word = view.progress
    if word is None:
        return []
    data = list((word.data or {}).items())
    pairs = [(bold("Word"), level.value(word.message))] if word.message else []
    pairs += [(plain_text(level.label(name)), level.value(value)) for name, value in data[: level.others]]
    since = context(mrkdwn_text(Shown(f"{date(word.at)} · update {word.count:,}")))
    return _group("How far it has come", [*rows(pairs), *_left_out(len(data) - level.others, "values"), since])


def _rules(view: ApprovalView, level: _Level) -> list[Block]:
    reasons = view.reasons[: level.others]
    pairs = [(plain_text(level.label(code)), level.value(message)) for code, message in reasons]
    left_out = _left_out(len(view.reasons) - len(reasons), "reasons")
    return _group("Why you are asked", [*rows(pairs), *left_out])


def _votes(view: ApprovalView, level: _Level) -> list[Block]:
    votes = view.votes[-level.others :]
    pairs = [
        (
            plain_text(Shown(f"{level.label(vote.person_name)}\n{verdict_word(view.kind, vote.verdict)}")),
            level.value(vote.reason) if vote.reason else Shown("—"),
        )
        for vote in votes
    ]
    return _group("Who decided", [*rows(pairs), *_left_out(len(view.votes) - len(votes), "votes")])


def _reference(label: str, address: str) -> Block:
    """Return a link, or both parts as data where the address is none."""
    shown = link(short_mrkdwn(label, 60), address)
    return mrkdwn_text(shown) if shown else plain_text(short(one_line(f"{label}: {address}"), 100, lines=1))


def _footer(view: ApprovalView) -> Block:
    expiry = [mrkdwn_text(Shown(f"Expires {date(view.expires_at)}"))] if view.status is ApprovalStatus.REQUESTED else []
    ids = plain_text(short(one_line(f"Run {view.run_id} · action {view.digest[:16]}"), 200, lines=1))
    return context(*expiry, ids, *(_reference(label, address) for label, address in view.links[:3]))


def confirmation(view: ApprovalView) -> Block:
    """Return the question that stands between the click and the vote."""
    what = "\n".join(short(one_line(words), 80, lines=1) for words in (view.operation, view.target) if words)
    yes, _ = button_words(view)
    return {
        "title": plain_text(Shown(f"{yes}: are you sure?")),
        "text": plain_text(Shown(f"{what}\nThis counts as your signature.")),
        "confirm": plain_text(Shown(yes)),
        "deny": plain_text(Shown("Not yet")),
    }


def show_all_button(view: ApprovalView) -> Block:
    """Return the button that opens everything in full."""
    value = references.PageRef(**references.of(view), page=0).model_dump_json()
    return button(references.SHOW_ALL, "Show all", value)


def decide_buttons(view: ApprovalView) -> list[Block]:
    """Return the two buttons that decide a request."""
    value = references.CardRef(**references.of(view)).model_dump_json()
    yes, no = button_words(view)
    # A modal that asks for the reason takes the place of the question.
    ask = {} if view.reason_required else {"confirm": confirmation(view)}
    # Neither answer about what happened is the safe one, so neither is coloured.
    good, bad = ({}, {}) if view.kind is AskKind.IN_DOUBT else ({"style": "primary"}, {"style": "danger"})
    return [button(references.APPROVE, yes, value, **good, **ask), button(references.REJECT, no, value, **bad)]


def claim_buttons(view: ApprovalView) -> list[Block]:
    """Return what takes a review on, or gives it back; where there are people next in line, they may take it over."""
    if view.kind is not AskKind.TASK:
        return []
    value = references.CardRef(**references.of(view)).model_dump_json()
    if view.assignee is None:
        return [button(references.CLAIM, "Claim", value)]
    over = [button(references.CLAIM, "Take over", value)] if view.leads else []
    return [button(references.RELEASE, "Release", value), *over]


def _answers(view: ApprovalView, now: datetime) -> list[Block]:
    return [*decide_buttons(view), *claim_buttons(view)] if is_open(view, now) else []


def _buttons(view: ApprovalView, now: datetime) -> Block:
    # A message that is updated wants new block ids.
    return {
        "type": "actions",
        "block_id": f"decide-{view.revision}",
        "elements": [*_answers(view, now), *_undo_button(view), show_all_button(view)],
    }


def _undo_button(view: ApprovalView) -> list[Block]:
    """Return the button that asks what can be undone, where what was asked for was done and can be."""
    if not view.can_undo:
        return []
    return [button(references.UNDO, "Undo", references.CardRef(**references.of(view)).model_dump_json())]


_USER = re.compile(r"[UW][A-Z0-9]{1,20}")


def _call(view: ApprovalView, now: datetime) -> list[Block]:
    """Call those who are asked, as long as they are."""
    people = [f"<@{user}>" for user in view.asked if _USER.fullmatch(user)] if is_open(view, now) else []
    return [context(mrkdwn_text(Shown(f"For {' '.join(people)}")))] if people else []


def _outcome(view: ApprovalView, level: _Level) -> list[Block]:
    if view.status is ApprovalStatus.REQUESTED:
        warning = rows([(bold("Nobody can fulfil this"), level.value(view.shortfall))]) if view.shortfall else []
        return [section(Shown(explanation(view))), *warning]
    return rows([(bold("What became of it"), level.value(result_words(view.result)))]) if view.result else []


def _heading(view: ApprovalView, now: datetime) -> Block:
    has_tier = view.tier and view.kind is not AskKind.TASK  # a review changes nothing by itself
    tier = f" · {short(one_line(view.tier), 20, lines=1)} tier" if has_tier else ""
    is_final = view.kind is AskKind.EFFECT and not view.reversible_by
    # What can't be undone says at once what it is done to.
    head, hidden = clip(one_line(view.target), 45, lines=1)
    to = f": {plain(head)}{'…' if hidden else ''}" if is_final and head else ""
    return header(Shown(f"{title(view, now)}{tier}{' · escalated' if view.escalated else ''}{to}"))


def _mocked(view: ApprovalView) -> list[Block]:
    """Say first of all where nothing is done for real."""
    return [section(Shown("On mocks: whatever is decided here, nothing is done for real."))] if view.mocked else []


def _blocks(view: ApprovalView, now: datetime, level: _Level) -> list[Block]:
    return [
        _heading(view, now),
        *_mocked(view),
        *_call(view, now),
        *_outcome(view, level),
        *rows(_facts(view, level)),
        *_fields(view, level),
        *_progress(view, level),
        *_rules(view, level),
        *_votes(view, level),
        _DIVIDER,
        _footer(view),
        _buttons(view, now),
    ]


def _text(view: ApprovalView, now: datetime) -> str:
    run = short_mrkdwn(one_line(view.run_title), 100)
    progress = f"{approvals(view)} of {view.quorum} approvals"
    mocked = "On mocks: " if view.mocked else ""
    return f"{mocked}{title(view, now)}: {short_mrkdwn(what(view), 200)}, for {run} ({progress})"


def card(view: ApprovalView, *, now: datetime) -> Card:
    """Return the card for an approval as it is now; it fits Slack's limits whatever the data."""
    for level in _LEVELS:
        blocks = _blocks(view, now, level)
        if size(blocks) <= BUDGET:
            break
    return Card(_text(view, now), blocks)
