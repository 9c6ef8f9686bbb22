"""Everything there is to know about an approval, as modal pages: what a card has no room for. One can decide there."""

import json
from typing import Any

from bot.cards import references
from bot.cards.blocks import Block, bold, button, context, plain_text
from bot.cards.layout.full import Unit
from bot.cards.request.buttons import decide_buttons
from bot.cards.request.everything import everything
from bot.cards.request.more import more_menus
from bot.cards.text import Shown
from runtime.desk.model import ApprovalView
from runtime.model.states import ApprovalStatus

_PAGE_BLOCKS = 90
_PAGE_BYTES = 200_000


def _pages(view: ApprovalView) -> list[list[Block]]:
    pages: list[list[Block]] = [[]]
    used = 0
    for unit in everything(view):
        cost = len(json.dumps(unit))
        if len(pages[-1]) + len(unit) > _PAGE_BLOCKS or used + cost > _PAGE_BYTES:
            pages.append([])
            used = 0
        used += cost
        _add(pages[-1], unit)
    return pages


def _add(page: list[Block], unit: Unit) -> None:
    """Add blocks to a page; rows that follow each other share a block, up to Slack's ten fields."""
    for block in unit:
        is_row = set(block) == {"type", "fields"} and page and set(page[-1]) == {"type", "fields"}
        if is_row and len(page[-1]["fields"]) + len(block["fields"]) <= _MOST_FIELDS:
            page[-1] = {**page[-1], "fields": [*page[-1]["fields"], *block["fields"]]}
        else:
            page.append(block)


_MOST_FIELDS = 10


def _turn(view: ApprovalView, page: int, count: int) -> list[Block]:
    targets = zip(references.PAGE_ACTIONS, ("Back", "Next"), (page - 1, page + 1), strict=True)
    return [
        button(action, words, references.PageRef(**references.of(view), page=to).model_dump_json())
        for action, words, to in targets
        if 0 <= to < count
    ]


def _buttons(view: ApprovalView, page: int, count: int) -> list[Block]:
    """Return what decides the request, as long as it is open, and what turns the page."""
    is_open = view.status is ApprovalStatus.REQUESTED
    decide, more = (decide_buttons(view), more_menus(view)) if is_open else ([], [])
    elements = [*decide, *_turn(view, page, count), *more]
    return [{"type": "actions", "elements": elements}] if elements else []


def details_modal(view: ApprovalView, page: int) -> dict[str, Any]:
    """Return one page of everything; a page beyond the last is the last."""
    modals = details_modals(view)
    return modals[min(page, len(modals) - 1)]


def details_modals(view: ApprovalView) -> list[dict[str, Any]]:
    """Return everything, page by page."""
    pages = _pages(view)
    return [_modal(view, blocks, number, len(pages)) for number, blocks in enumerate(pages)]


def _modal(view: ApprovalView, blocks: list[Block], page: int, count: int) -> dict[str, Any]:
    where = f"Page {page + 1} of {count} · revision {view.revision} of the request"
    return {
        "type": "modal",
        "callback_id": references.DETAILS_MODAL,
        "title": plain_text(Shown("Everything asked")),
        "close": plain_text(Shown("Close")),
        "blocks": [context(bold(where)), *blocks, *_buttons(view, page, count)],
    }
