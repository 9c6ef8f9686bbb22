"""App Home: what waits for me, what I asked for, what I decided, and what is held for operators."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.home.entries import asked_for_blocks, decided_blocks, waiting_blocks
from bot.home.menus import menus, narrowed_to, sections, turns
from bot.home.state import HomeState, Section
from bot.views.blocks import Block, bold, context, header, section
from bot.views.held import held_item
from bot.views.text import Shown, plain
from runtime.model.pages import COUNTED, Page
from runtime.services.held_model import HeldWaiting
from runtime.services.home_model import AskedFor, Choices, Entry, Waiting

SHOWN, HELD_SHOWN = 10, 8
"""Entries of a page, and held steps: five blocks and three each, within a view's hundred."""

_NONE = {
    Section.WAITING: "When your signature is needed, the request appears here and in its channel.",
    Section.LATE: "Nothing is due soon: each request has more than a quarter of its time left.",
    Section.MINE: "Your requests appear here. /countersign request opens a form.",
    Section.DECIDED: "What you approve or reject appears here.",
}
_HEADINGS = {Section.MINE: "My requests", Section.DECIDED: "What I decided"}


@dataclass(frozen=True)
class Seen:
    """What there is to draw: the page of the section, by what it may be narrowed, and what is held for the person.

    `workspace` is the address of the workspace, as Slack gives it.
    """

    state: HomeState
    found: Waiting | Page[AskedFor] | Page[Entry]
    choices: Choices
    held: HeldWaiting
    workspace: str
    leads: bool = False  # there are figures for the person


def home(seen: Seen, *, now: datetime) -> dict[str, Any]:
    """Return the Home tab of a person."""
    state = seen.state
    page = seen.found.page if isinstance(seen.found, Waiting) else seen.found
    is_open = isinstance(seen.found, Waiting)
    blocks = [
        sections(state, leads=seen.leads),
        header(Shown(_heading(seen))),
        *menus(state, seen.choices, can_choose=is_open and len(page.entries) > 1),
        *narrowed_to(state),
        {"type": "divider"},
        *_entries(seen, page.entries, now),
        *turns(page),
        *_held(seen),
    ]
    return {"type": "home", "private_metadata": state.model_dump_json(), "blocks": blocks}


def _heading(seen: Seen) -> str:
    if not isinstance(seen.found, Waiting):
        return _HEADINGS[seen.state.section]
    return counted(seen.found.total, is_late=seen.state.section is Section.LATE, held=bool(seen.held.total))


def counted(total: int, *, is_late: bool = False, held: bool = False) -> str:
    """Return in words how many requests wait for a person."""
    if not total:
        return (
            "Nothing is due soon"
            if is_late
            else "No requests are waiting for you"
            if held
            else "Nothing is waiting for you"
        )
    many = f"{COUNTED:,}+" if total > COUNTED else f"{total:,}"
    return f"{many} request{'s' if total != 1 else ''} for you{', due soon' if is_late else ''}"


def _entries(seen: Seen, entries: Sequence[AskedFor | Entry], now: datetime) -> list[Block]:
    if not entries:
        return [section(Shown("No matches." if seen.state.is_narrowed else _NONE[seen.state.section]))]
    return [block for entry in entries for block in _entry(seen, entry, now)]


def _entry(seen: Seen, entry: AskedFor | Entry, now: datetime) -> list[Block]:
    if isinstance(entry, AskedFor):
        return asked_for_blocks(entry, seen.workspace, now)
    shown = decided_blocks if seen.state.section is Section.DECIDED else waiting_blocks
    return shown(entry, seen.workspace, now)


def _held(seen: Seen) -> list[Block]:
    held = seen.held
    if not held.total:
        return []
    words = f"{held.total:,} held step{'s' if held.total != 1 else ''} for an operator"
    more = held.total - len(held.views)
    left_out = [context(bold(f"… {more:,} more appear as these are settled"))] if more else []
    return [header(Shown(words)), *(block for view in held.views for block in held_item(view)), *left_out]


def home_refusal(text: str) -> dict[str, Any]:
    """Return the Home tab for someone who may not decide anything."""
    return {"type": "home", "blocks": [header(Shown("Countersign")), section(plain(text))]}
