"""Everything there is to know about an approval, as modal pages: what a card has no room for. One can decide there."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from bot.views import references
from bot.views.blocks import Block, bold, button, context, plain_text
from bot.views.buttons import decide_buttons
from bot.views.everything import everything
from bot.views.full import Unit
from bot.views.more import more_menus
from bot.views.text import Shown
from runtime.model.states import ApprovalStatus
from runtime.services.approval_view import ApprovalView

_PAGE_BLOCKS = 90
_PAGE_BYTES = 200_000


def _pages(view: ApprovalView) -> Iterator[list[Block]]:
    """Yield page by page: whoever wants one has those before it made, and none behind the next."""
    page: list[Block] = []
    used = 0
    for unit in everything(view):
        cost = len(json.dumps(unit))
        if page and (len(page) + len(unit) > _PAGE_BLOCKS or used + cost > _PAGE_BYTES):
            yield page
            page, used = [], 0
        used += cost
        _add(page, unit)
    yield page


def _add(page: list[Block], unit: Unit) -> None:
    """Add blocks to a page; rows that follow each other share a block, up to Slack's ten fields."""
    for block in unit:
        is_row = set(block) == {"type", "fields"} and page and set(page[-1]) == {"type", "fields"}
        if is_row and len(page[-1]["fields"]) + len(block["fields"]) <= _MOST_FIELDS:
            page[-1] = {**page[-1], "fields": [*page[-1]["fields"], *block["fields"]]}
        else:
            page.append(block)


_MOST_FIELDS = 10


def _turn(view: ApprovalView, page: int, *, is_last: bool) -> list[Block]:
    targets = zip(references.PAGE_ACTIONS, ("Back", "Next"), (page - 1, page + 1), strict=True)
    return [
        button(action, words, references.PageRef(**references.of(view), page=to).model_dump_json())
        for action, words, to in targets
        if to >= 0 and not (is_last and to > page)
    ]


def _buttons(view: ApprovalView, page: int, *, is_last: bool) -> list[Block]:
    """Return what decides the request, as long as it is open, and what turns the page."""
    is_open = view.status is ApprovalStatus.REQUESTED
    decide, more = (decide_buttons(view), more_menus(view)) if is_open else ([], [])
    elements = [*decide, *_turn(view, page, is_last=is_last), *more]
    return [{"type": "actions", "elements": elements}] if elements else []


def details_modal(view: ApprovalView, page: int) -> dict[str, Any]:
    """Return one page of everything; a page beyond the last is the last."""
    *_, modal = itertools.islice(details_modals(view), page + 1)
    return modal


def details_modals(view: ApprovalView) -> Iterator[dict[str, Any]]:
    """Yield everything, page by page; each is made when it is asked for, with a look at whether there is another."""
    pages = _pages(view)
    blocks = next(pages)
    for number in itertools.count():
        following = next(pages, None)
        yield _modal(view, blocks, number, is_last=following is None)
        if following is None:
            return
        blocks = following


def _modal(view: ApprovalView, blocks: list[Block], page: int, *, is_last: bool) -> dict[str, Any]:
    more = f" of {page + 1}" if is_last else ", more follow"
    numbered = "" if is_last and not page else f"Page {page + 1}{more} · "
    where = f"{numbered}Revision {view.revision} of the request"
    return {
        "type": "modal",
        "callback_id": references.DETAILS_MODAL,
        "title": plain_text(Shown("Everything asked")),
        "close": plain_text(Shown("Close")),
        "blocks": [context(bold(where)), *blocks, *_buttons(view, page, is_last=is_last)],
    }
