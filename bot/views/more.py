"""The menu "More" on an open request: what a person may do with it beside deciding it.

Slack takes five entries in a menu; where there are more, a second one stands beside the first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from bot.views import references
from bot.views.blocks import Block, overflow
from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView

MOST = 5
"""Entries that Slack takes in one menu."""


@dataclass(frozen=True)
class Entry:
    """One act: its value, what the menu calls it, and whether it is there for a request as it is now."""

    act: str
    label: str
    is_there: Callable[[ApprovalView], bool]


def _has_consequence(view: ApprovalView) -> bool:
    return view.kind is not AskKind.AFTERWARDS


def _can_edit(view: ApprovalView) -> bool:
    return view.can_edit


def _is_decision(view: ApprovalView) -> bool:
    return not view.kind.outlives_run


def _has_votes(view: ApprovalView) -> bool:
    return bool(view.votes)


def _has_glass(view: ApprovalView) -> bool:
    return bool(view.break_glass)


ENTRIES = (
    Entry("edit", "Edit and resubmit…", _can_edit),
    Entry("ask", "Ask a question…", _is_decision),
    Entry("changes", "Request changes…", _is_decision),
    Entry("withdraw", "Withdraw my vote…", _has_votes),
    Entry("hand", "Hand to…", _is_decision),
    Entry("break_glass", "Break the glass…", _has_glass),
    Entry("cancel", "Cancel this request…", _has_consequence),
)


def known_act(act: str) -> str:
    """Return an act of the menu, or raise ValueError."""
    if act not in {entry.act for entry in ENTRIES}:
        raise ValueError(f"no act {act!r} is in the menu")
    return act


class MoreRef(references.CardRef):
    """The value of an entry: the act, and the request as the card showed it. Slack takes 150 characters."""

    act: Annotated[str, AfterValidator(known_act)]


def more_menus(view: ApprovalView) -> list[Block]:
    """Return the menu of an open request, or two where one cannot hold it; for one reader, what they may do now."""
    there = [entry for entry in ENTRIES if entry.is_there(view) and (view.may is None or entry.act in view.may)]
    parts = [there[at : at + MOST] for at in range(0, len(there), MOST)]
    return [_menu(action, view, part) for action, part in zip(references.MORE, parts, strict=False)]


def _menu(action: str, view: ApprovalView, entries: list[Entry]) -> Block:
    values = (MoreRef(**references.of(view), act=entry.act).model_dump_json() for entry in entries)
    return overflow(action, [(entry.label, value) for entry, value in zip(entries, values, strict=True)])
