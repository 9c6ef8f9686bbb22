"""What cards say of edits: who edited what, and what stands in the place of a request that was edited."""

from collections.abc import Iterator, Sequence

from bot.views import references
from bot.views.blocks import Block, bold, button, plain_text, rows_of
from bot.views.changes import ABSENT, Change
from bot.views.full import Unit, change_units, pair
from bot.views.shown import Level, change_blocks, group, left_out
from runtime.model.approval import ResultCode
from runtime.services.approval_view import ApprovalView, EditsView


def edited_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return who made the request what it is, and what is another than the run had asked for."""
    if view.edited is None:
        return []
    changes = _changes(view.edited)
    said = [level.value(f"{name}: {reason}") for name, reason in view.edited.reasons[-level.others :]]
    by = rows_of([(bold("Edited by"), plain_text(words)) for words in said])
    rest = left_out(len(changes) - level.changes, "change") + left_out(len(view.edited.reasons) - len(said), "edit")
    return group("Edited since it was requested", [*change_blocks(changes[: level.changes], level), *by, *rest])


def edited_units(view: ApprovalView) -> Iterator[Unit]:
    """Yield who made the request what it is, and what is another than the run had asked for, in full."""
    if view.edited is None:
        return
    for change in _changes(view.edited):
        yield from change_units(change)
    for name, reason in view.edited.reasons:
        yield from pair(name, reason)


def _changes(edited: EditsView) -> Sequence[Change]:
    return [
        Change((one.name,), ABSENT if one.before is None else one.before, ABSENT if one.after is None else one.after)
        for one in edited.changes
    ]


def replacement_button(view: ApprovalView) -> list[Block]:
    """Return the button that opens the request that stands in the place of this one, once there is one."""
    if not view.replaced_by:
        return []
    ref = references.PageRef(id=view.replaced_by, digest="", page=0)
    is_outgrown = view.result is not None and view.result.code is ResultCode.OUTGROWN
    words = "Show the new request" if is_outgrown else "Show the edited version"
    return [button(references.SHOW_REPLACEMENT, words, ref.model_dump_json())]
