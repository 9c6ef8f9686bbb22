"""Metrics: how long requests take and what became of them, by group and by person, for those who lead them."""

from collections.abc import Sequence
from typing import Any

from bot.home.command_replies import Reply
from bot.views.blocks import Block, bold, context, header, plain_text, section
from bot.views.text import Shown, short
from bot.views.wording import duration_words
from runtime.model.metrics import Figures, GroupFigures, PersonFigures, Spread

FIGURES_MODAL = "countersign_figures"
_MOST, _LINE = 15, 300


def figures_modal(figures: Figures) -> dict[str, Any]:
    """Return the same as a modal."""
    return {
        "type": "modal",
        "callback_id": FIGURES_MODAL,
        "title": plain_text(Shown("Figures")),
        "close": plain_text(Shown("Close")),
        "blocks": list(figures_reply(figures).blocks),
    }


def figures_reply(figures: Figures) -> Reply:
    """Return the figures of a period: requests by group and tier, and what each person has to do with."""
    days = (figures.until - figures.since).days
    words = Shown(f"Requests of the last {days} days")
    groups = [block for one in figures.groups[:_MOST] for block in _group(one)]
    people = [block for one in figures.people[:_MOST] for block in _person(one)]
    return Reply(
        words,
        [
            header(words),
            *(groups or [section(Shown("No requests in this period."))]),
            *_left(figures.groups, "groups and tiers"),
            *([header(Shown("People")), *people] if people else []),
            *_left(figures.people, "people"),
        ],
    )


def _group(one: GroupFigures) -> list[Block]:
    ends = [(one.approved, "approved"), (one.rejected, "rejected"), (one.expired, "expired")]
    counts = [*ends, (one.canceled, "canceled"), (one.open, "open"), (one.late, "late")]
    became = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    asked = f"{one.asked:,} asked{f': {became}' if became else ''}"
    times = f"first look {spread_words(one.first_look)} · decision {spread_words(one.decision)}"
    called = f"{times} · {_count(one.reminders, 'reminder')} · {_count(one.escalations, 'escalation')}"
    called += f" · break-glass: {one.glass_broken:,}" if one.glass_broken else ""
    return [section(short(f"{one.group}, {one.tier} tier: {asked}", _LINE)), context(bold(called))]


def _person(one: PersonFigures) -> list[Block]:
    gave = f"{one.approved:,} approved, {one.rejected:,} rejected, {one.looked:,} opened"
    return [
        section(short(f"{one.name}: {one.waiting:,} waiting", _LINE)),
        context(bold(f"{gave} · answers in {spread_words(one.answer)}")),
    ]


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _left(all_of_them: Sequence[object], what: str) -> list[Block]:
    left = len(all_of_them) - _MOST
    return [context(bold(f"… {left:,} more {what}, listed by an operator"))] if left > 0 else []


def spread_words(found: Spread) -> str:
    """Return a spread of seconds in words."""
    if found.p50 is None or found.p90 is None:
        return "none yet"
    return f"{duration_words(found.p50)} (nine in ten within {duration_words(found.p90)})"
