"""A request as text: each line a label and a value, as the console shows it and evidence keeps it. Never secrets."""

import json
from collections.abc import Iterator
from typing import Any

from runtime.model.approval import AskKind
from runtime.services.approval_view import ApprovalView, DeclaredTable

LONGEST = 2000
"""Characters of a value."""
MOST = 200
"""Lines; those of a table, too, count."""

Line = tuple[str, str]


def text_of(view: ApprovalView) -> list[Line]:
    """Return what is asked, and what each answer leads to; what is cut off is counted."""
    lines = [(label, _cut(value)) for label, value in _lines(view)]
    if len(lines) <= MOST:
        return lines
    return [*lines[: MOST - 1], ("Not shown", f"{len(lines) - MOST + 1} lines more")]


def _lines(view: ApprovalView) -> Iterator[Line]:
    said, is_review = view.declared, view.kind is AskKind.TASK
    action = f"{view.connector}::{view.operation}"
    yield "Request", said.title or (view.operation if is_review else view.purpose or action)
    if said.summary:
        yield "Summary", said.summary
    if view.mocked:
        yield "On mocks", "Nothing is done for real."
    if not is_review:
        yield "Action", action
        yield "Target", view.target
    yield "Requested by", view.requester
    yield "Run", f"{view.run_title}, {view.reference}"
    for declared in said.fields:
        yield declared.label, _words(declared.value)
    for table in said.tables:
        yield from _table(table)
    yield from _fields(view, said.hide, hidden=False)
    yield from _edits(view)
    if not is_review:
        yield "Tier", view.tier
        yield "Undo", f"by {view.reversible_by}" if view.reversible_by else "This cannot be undone."
    yield from _policy(view)
    if said.approve:
        yield "Approve leads to", said.approve
    if said.reject:
        yield "Reject leads to", said.reject
    yield from _fields(view, said.hide, hidden=True)


def _fields(view: ApprovalView, hide: frozenset[str], *, hidden: bool) -> Iterator[Line]:
    """Give the fields; those that the author leaves off the card come last here."""
    for field in view.fields:
        if (field.name in hide) is hidden:
            yield field.name, _change(field.before, field.after)


def _edits(view: ApprovalView) -> Iterator[Line]:
    if view.edited is None:
        return
    yield "Edited by", ", ".join(view.edited.by)
    for change in view.edited.changes:
        yield f"Asked for: {change.name}", _change(change.before, change.after)
    for name, reason in view.edited.reasons:
        yield f"Reason of {name}", reason


def _policy(view: ApprovalView) -> Iterator[Line]:
    for code, message in view.reasons:
        yield f"Policy ({code})", message
    yield "Signatures", f"{view.quorum} of {', '.join(view.groups)}{', each group' if view.all_groups else ''}"
    for one in view.classes:
        yield "Among them", one
    if view.veto:
        yield "Veto", ", ".join(view.veto)
    if view.sign_with:
        yield "Signed with", view.sign_with
    if view.execute is not None:
        yield "Carried out", f"not before {view.execute.earliest.isoformat()}, within {view.execute.within}"
    if view.shortfall:
        yield "Too few people", view.shortfall


def _table(table: DeclaredTable) -> Iterator[Line]:
    for line in table.lines:
        cells = (f"{label}: {_words(value)}" for (label, _), value in zip(table.columns, line, strict=True))
        yield table.title, "; ".join(cells)
    if table.count > len(table.lines):
        yield table.title, f"{table.count - len(table.lines)} lines more"


def _change(before: Any | None, after: Any) -> str:
    return _words(after) if before is None else f"{_words(before)} → {_words(after)}"


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _cut(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[:LONGEST]}… ({len(value) - LONGEST} characters more)"
