"""Everything there is to know about an approval, in full, as modal pages: what a card has no room for."""

import json
from collections.abc import Iterator
from typing import Any

from bot.cards import references
from bot.cards.blocks import Block, bold, button, context, plain_text, section, utc
from bot.cards.text import Shown, chunks, render
from bot.cards.wording import result_words, undone_by
from runtime.desk.model import ApprovalView

_CHUNK = 2900
_PAGE_BLOCKS = 90
_PAGE_BYTES = 200_000

Entry = tuple[str, str]


def _field_entries(view: ApprovalView) -> Iterator[Entry]:
    total = len(view.fields)
    for number, field in enumerate(view.fields, 1):
        place = f"Field {number} of {total}"
        yield f"{place} · name", render(field.name)
        if field.before is not None:
            yield f"{place} · value now", render(field.before)
            yield f"{place} · value after", render(field.after)
        else:
            yield f"{place} · value", render(field.after)


def _policy_entries(view: ApprovalView) -> Iterator[Entry]:
    for code, message in view.reasons:
        yield "Rule that asked", render(code)
        yield "Its reason", render(message)
    yield "Approvals needed", str(view.quorum)
    for group in view.groups:
        yield "From all of these groups" if view.all_groups else "From any of these groups", render(group)
    yield "Reason needed", "yes" if view.reason_required else "no"


def _vote_entries(view: ApprovalView) -> Iterator[Entry]:
    for number, vote in enumerate(view.votes, 1):
        yield f"Vote {number} · {vote.verdict.value} · {utc(vote.at)}", render(vote.person_name)
        yield f"Vote {number} · reason", render(vote.reason)


def _work_entries(view: ApprovalView) -> Iterator[Entry]:
    if view.assignee is not None:
        yield "Worked on by", render(view.assignee_name)
    if view.progress is not None:
        yield f"How far it has come · {utc(view.progress.at)}", render(view.progress.message)
        for number, (name, value) in enumerate((view.progress.data or {}).items(), 1):
            yield f"Progress {number} · name", render(name)
            yield f"Progress {number} · value", render(value)


def entries(view: ApprovalView) -> Iterator[Entry]:
    """Return every value of an approval under fixed words of ours; nothing is cut."""
    yield "Connector", render(view.connector)
    yield "Operation", render(view.operation)
    yield "Target", render(view.target)
    yield from _field_entries(view)
    yield "Asked by", render(view.requester)
    yield "Submitted by", render(view.submitted_by)
    yield "Why", render(view.purpose)
    yield "Tier", render(view.tier)
    yield "Undone by", render(undone_by(view))
    yield from _policy_entries(view)
    yield from _work_entries(view)
    yield from _vote_entries(view)
    yield "Status", view.status.value
    if view.result:
        yield "What became of it", render(result_words(view.result))
    yield "Asked at", utc(view.requested_at)
    yield "Expires at", utc(view.expires_at)
    yield "Run", render(view.run_title)
    yield "Run id", render(view.run_id)
    yield "Step", render(view.step)
    yield "Tenant", render(view.tenant)
    yield "Approval id", render(view.approval_id)
    yield "SHA-256 of the action", render(view.digest)
    for number, (label, url) in enumerate(view.links, 1):
        yield f"Reference {number} · name", render(label)
        yield f"Reference {number} · address", render(url)


def _entry_blocks(label: str, value: str) -> Iterator[tuple[Block, Block]]:
    parts = chunks(value, _CHUNK)
    for number, part in enumerate(parts, 1):
        of_many = f" · part {number} of {len(parts)}" if len(parts) > 1 else ""
        yield context(bold(f"{label}{of_many}")), section(part)


def _pages(view: ApprovalView) -> list[list[Block]]:
    pages: list[list[Block]] = [[]]
    used = 0
    for entry in entries(view):
        for pair in _entry_blocks(*entry):
            cost = len(json.dumps(pair))
            if len(pages[-1]) + len(pair) > _PAGE_BLOCKS or used + cost > _PAGE_BYTES:
                pages.append([])
                used = 0
            pages[-1].extend(pair)
            used += cost
    return pages


def _turn(view: ApprovalView, page: int, count: int) -> list[Block]:
    targets = zip(references.PAGE_ACTIONS, ("Back", "Next"), (page - 1, page + 1), strict=True)
    buttons = [
        button(action, words, references.PageRef(**references.of(view), page=to).model_dump_json())
        for action, words, to in targets
        if 0 <= to < count
    ]
    return [{"type": "actions", "elements": buttons}] if buttons else []


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
        "blocks": [context(bold(where)), *blocks, *_turn(view, page, count)],
    }
