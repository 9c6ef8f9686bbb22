"""What a card says of edits: of those that made the request what it is, or of the one that put another in its place."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from runtime.engine import Engine
from runtime.model.approval import AskKind, ResultCode
from runtime.services.approval_view import ApprovalView, EditsView
from runtime.services.editing_counter import editable_verb
from runtime.services.fields import changed_by, edits_before, shown_fields
from runtime.store.database.pool import Conn
from runtime.store.edits import replacement_of


async def seen_edits(
    engine: Engine, conn: Conn, row: dict[str, Any], view: ApprovalView, edits: Sequence[Mapping[str, Any]]
) -> ApprovalView:
    """Return the view with what it says of the edits of its effect, and of what may be edited now."""
    if view.kind is not AskKind.EFFECT:
        return view
    if edits:
        known = {**row, "edits": edits}
        before = edits_before(known)
        view = replace(view, fields=shown_fields(known, view.kind), edited=_seen(before) if before else None)
    if view.result is not None and view.result.code is ResultCode.REPLACED:
        return replace(view, replaced_by=await replacement_of(conn, view.approval_id))
    return replace(view, can_edit=await editable_verb(engine, conn, row) is not None)


def _seen(edits: Sequence[Mapping[str, Any]]) -> EditsView:
    return EditsView(
        by=tuple(dict.fromkeys(edit["person_name"] for edit in edits)),
        changes=changed_by(edits),
        reasons=tuple((edit["person_name"], edit["reason"]) for edit in edits),
    )
