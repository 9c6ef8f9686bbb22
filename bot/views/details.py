"""Details of a request: everything there is to know about it, in full, as the pages of the modal "Show all".

Sections come in the order in which people ask for them. The modal has what a card has no room for, and its reader can
decide there.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from bot.views import references
from bot.views.blocks import Block, bold, button, context, heading, plain_text, utc
from bot.views.buttons import decide_buttons
from bot.views.edits import edited_units
from bot.views.facts import diff_of
from bot.views.more_menu import more_menus
from bot.views.text import Shown
from bot.views.value_blocks import Unit, change_units, piece_units, value_units
from bot.views.values import Grid, Row, laid_out
from bot.views.wording import (
    execution_times,
    explanation,
    headline,
    result_words,
    undone_by,
    verdict_word,
    vote_notes,
    vote_word,
)
from runtime.model.approval import AskKind
from runtime.model.states import ApprovalStatus
from runtime.services.approval_view import ApprovalView

Section = tuple[str, Iterator[Unit]]


def detail_units(view: ApprovalView) -> Iterator[Unit]:
    """Yield what belongs together, section by section; nothing is cut."""
    for words, found in _sections(view):
        first = next(found, None)
        if first is not None:
            yield [{"type": "divider"}, heading(words), *first]
            yield from found


def _sections(view: ApprovalView) -> Iterator[Section]:
    is_review = view.kind is AskKind.TASK
    yield "Action", _happens(view)
    yield "Edited since it was requested", edited_units(view)
    yield "Summary", _declared(view)
    yield "Changes", (unit for change in diff_of(view).changes for unit in change_units(change))
    yield "To review" if is_review else "New values", _fields(view, "after")
    yield "Current values", _fields(view, "before")
    yield "Progress", _progress(view)
    yield "Request", _who(view)
    yield "Policy", _rules(view)
    yield "Questions", _questions(view)
    yield "Decisions", _votes(view)
    yield "Reference", _ids(view)


def _named(*known: tuple[str, Any]) -> Iterator[Unit]:
    for name, value in known:
        yield from value_units(name, value)


def _happens(view: ApprovalView) -> Iterator[Unit]:
    yield from _named(("Title", headline(view)))
    if view.status is ApprovalStatus.REQUESTED:
        yield from _named(("Consequence", explanation(view)))
    if view.kind is not AskKind.TASK:
        yield from _named(("Connector", view.connector), ("Operation", view.operation), ("Target", view.target))
        yield from _named(("Tier", view.tier), ("Undone by", undone_by(view)))
    if view.result:
        yield from _named(("Outcome", result_words(view.result)))


def _declared(view: ApprovalView) -> Iterator[Unit]:
    """Yield what is declared, unwritten; of a long list, what is kept of it, and how much that is."""
    if view.declared.summary:
        yield from _named(("Meaning", view.declared.summary))
    for field in view.declared.fields:
        yield from piece_units(Row((field.label,), field.value))
    for table in view.declared.tables:
        yield from piece_units(Grid((table.title,), tuple(label for label, _ in table.columns), table.lines))
        if table.count > len(table.lines):
            yield [context(bold(f"The first {len(table.lines):,} of {table.count:,} lines"))]


def _fields(view: ApprovalView, which: str) -> Iterator[Unit]:
    for field in view.fields:
        if which == "before" and field.before is None:
            continue
        for piece in laid_out(getattr(field, which), (field.name,)):
            yield from piece_units(piece)


def _progress(view: ApprovalView) -> Iterator[Unit]:
    if view.progress is None:
        return
    yield from _named(("Updated", utc(view.progress.at)), ("Message", view.progress.message))
    for name, value in (view.progress.data or {}).items():
        for piece in laid_out(value, (name,)):
            yield from piece_units(piece)


def _who(view: ApprovalView) -> Iterator[Unit]:
    yield from _named(("Requested by", view.requester), ("Submitted by", view.submitted_by), ("Why", view.purpose))
    yield from _named(("Run", view.run_title), ("Reference", view.reference))
    if view.assignee is not None:
        yield from _named(("Claimed by", view.assignee_name))


def _rules(view: ApprovalView) -> Iterator[Unit]:
    for code, message in view.reasons:
        yield from _named(("Rule", message), ("Rule ID", code))
    yield from _named(("Approvals needed", str(view.quorum)))
    words = "From all of these groups" if view.all_groups else "From any of these groups"
    yield from _named(*((words, group) for group in view.groups))
    yield from _named(*(("Among them", one) for one in view.classes))
    yield from _named(*(("May veto", group) for group in view.veto))
    yield from _named(("When", execution_times(view)))
    if view.sign_with:
        yield from _named(("Signed with", view.sign_with))
    yield from _named(("Reason needed", "yes" if view.reason_required else "no"))


def _votes(view: ApprovalView) -> Iterator[Unit]:
    for vote in view.votes:
        said = "Used break-glass" if vote.ticket else vote_word(view, vote).capitalize()
        lapsed = "" if vote.counts else " · no longer counts"
        yield from _named((f"{said} · {utc(vote.at)}{lapsed}", vote.person_name))
        if vote.ticket:
            yield from _named(("Ticket", vote.ticket))
        if notes := vote_notes(vote):
            yield from _named(("Note", notes))
        yield from _named(("Reason", vote.reason))
    for vote in view.withdrawn:
        word = verdict_word(view.kind, vote.verdict, leaves_open=vote.leaves_open)
        said = f"{word.capitalize()} · {utc(vote.at)} · withdrawn"
        yield from _named((said, vote.person_name), ("Reason", vote.reason))


def _questions(view: ApprovalView) -> Iterator[Unit]:
    for one in view.questions:
        yield from _named((f"Asked · {utc(one.asked_at)}", one.person_name), ("Question", one.question))
        if one.answer is not None:
            yield from _named(("Answered by", one.answer["name"]), ("Answer", one.answer["text"]))


def _ids(view: ApprovalView) -> Iterator[Unit]:
    yield from _named(("Status", view.status.value), ("Asked at", utc(view.requested_at)))
    yield from _named(("Expires at", utc(view.expires_at)), ("Run id", view.run_id), ("Step", view.step))
    yield from _named(("Tenant", view.tenant), ("Approval id", view.approval_id))
    yield from _named(("SHA-256 of the action", view.digest))
    for label, url in view.links:
        yield from _named(("Reference", label), ("Trigger ID", url))


_PAGE_BLOCKS = 90
_PAGE_BYTES = 200_000


def _pages(view: ApprovalView) -> Iterator[list[Block]]:
    """Yield page by page: whoever wants one has those before it made, and none behind the next."""
    page: list[Block] = []
    used = 0
    for unit in detail_units(view):
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
