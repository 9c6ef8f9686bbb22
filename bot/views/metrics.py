"""Metrics: how long requests take and what became of them, by group and by person, for those who lead them."""

from collections.abc import Sequence
from typing import Any

from bot.views.blocks import Block, bold, context, header, plain_text, section
from bot.views.command_replies import Reply
from bot.views.text import Shown, short
from runtime.model.metrics import GroupMetrics, Metrics, PersonMetrics

METRICS_MODAL = "countersign_metrics"
_MOST, _LINE = 15, 300


def metrics_modal(metrics: Metrics) -> dict[str, Any]:
    """Return the metrics of a period as a modal."""
    return {
        "type": "modal",
        "callback_id": METRICS_MODAL,
        "title": plain_text(Shown("Metrics")),
        "close": plain_text(Shown("Close")),
        "blocks": list(metrics_reply(metrics).blocks),
    }


def metrics_reply(metrics: Metrics) -> Reply:
    """Return the metrics of a period: requests by group and tier, and what each person has to do with."""
    days = (metrics.until - metrics.since).days
    words = Shown(f"Requests of the last {days} days")
    groups = [block for one in metrics.groups[:_MOST] for block in _group(one)]
    people = [block for one in metrics.people[:_MOST] for block in _person(one)]
    return Reply(
        words,
        [
            header(words),
            *(groups or [section(Shown("No requests in this period."))]),
            *_left(metrics.groups, "groups and tiers"),
            *([header(Shown("People")), *people] if people else []),
            *_left(metrics.people, "people"),
        ],
    )


def _group(one: GroupMetrics) -> list[Block]:
    ends = [(one.approved, "approved"), (one.rejected, "rejected"), (one.expired, "expired")]
    counts = [*ends, (one.canceled, "canceled"), (one.open, "open"), (one.late, "late")]
    became = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    asked = f"{one.asked:,} asked{f': {became}' if became else ''}"
    times = f"first look {one.first_look.words} · decision {one.decision.words}"
    called = f"{times} · {_count(one.reminders, 'reminder')} · {_count(one.escalations, 'escalation')}"
    called += f" · break-glass: {one.break_glass_used:,}" if one.break_glass_used else ""
    return [section(short(f"{one.group}, {one.tier} tier: {asked}", _LINE)), context(bold(called))]


def _person(one: PersonMetrics) -> list[Block]:
    gave = f"{one.approved:,} approved, {one.rejected:,} rejected, {one.looked:,} opened"
    return [
        section(short(f"{one.name}: {one.waiting:,} waiting", _LINE)),
        context(bold(f"{gave} · answers in {one.answer.words}")),
    ]


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _left(all_of_them: Sequence[object], what: str) -> list[Block]:
    left = len(all_of_them) - _MOST
    return [context(bold(f"… {left:,} more {what}, listed by an operator"))] if left > 0 else []
