"""Edits: who edited a request, what replaces it, and the modal "Edit and resubmit" with each field's value now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.views import references
from bot.views.blocks import Block, bold, button, plain_text, rows, rows_of, section
from bot.views.forms import FieldKind, FormField, field_input, fields_of
from bot.views.text import Shown, render, short
from bot.views.value_blocks import Level, Unit, change_blocks, change_units, left_out, under_heading, value_units
from bot.views.values import ABSENT, Change
from bot.views.vote_modals import reason_input
from runtime.model.approval import ResultCode
from runtime.services.approval_view import ApprovalView, EditsView
from runtime.services.editing import EditForm


def edited_blocks(view: ApprovalView, level: Level) -> list[Block]:
    """Return who made the request what it is, and what is another than the run had asked for."""
    if view.edited is None:
        return []
    changes = _changes(view.edited)
    said = [level.value(f"{name}: {reason}") for name, reason in view.edited.reasons[-level.others :]]
    by = rows_of([(bold("Edited by"), plain_text(words)) for words in said])
    rest = left_out(len(changes) - level.changes, "change") + left_out(len(view.edited.reasons) - len(said), "edit")
    return under_heading("Edited since it was requested", [*change_blocks(changes[: level.changes], level), *by, *rest])


def edited_units(view: ApprovalView) -> Iterator[Unit]:
    """Yield who made the request what it is, and what is another than the run had asked for, in full."""
    if view.edited is None:
        return
    for change in _changes(view.edited):
        yield from change_units(change)
    for name, reason in view.edited.reasons:
        yield from value_units(name, reason)


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


_PREFIX = "param:"
"""Before the name of a param in the blocks of its modal, beside which the reason stands."""
_LONGEST = 3000

_MEANS = (
    "Your edits replace this request; signatures start over. Policy decides on the new request. You may not sign what "
    "you edited unless policy lets you. Your reason is kept as evidence, and the requester can read it."
)


def edit_fields(form: EditForm) -> list[FormField]:
    """Return what of a request a modal can show as fields, each filled with its value now."""
    fields, _ = fields_of(form.schema)
    shown = (one for one in fields if len(str(form.present.get(one.name, ""))) <= _LONGEST)
    return [_on_lines(one, form.present) for one in shown]


def _on_lines(one: FormField, present: Mapping[str, Any]) -> FormField:
    """Return the field, of several lines where its value now has them."""
    is_long = one.kind is FieldKind.TEXT and "\n" in str(present.get(one.name, ""))
    return replace(one, kind=FieldKind.LONG_TEXT) if is_long else one


def edit_block(name: str) -> str:
    """Return the block, and the action, of a param's field."""
    return f"{_PREFIX}{name}"


def initial_value(one: FormField, present: Mapping[str, Any]) -> dict[str, Any]:
    """Return with what a field begins, as Slack names it (without `initial_`); nothing where there is no value now."""
    if one.name not in present:
        return {}
    value = present[one.name]
    match one.kind:
        case FieldKind.CHOICE:
            places = [str(place) for place, option in enumerate(one.options) if _is_same(option, value)]
            return {"option": places[0]} if places else {}
        case FieldKind.DATE:
            return {"date": value}
        case FieldKind.MOMENT:
            return {"date_time": int(datetime.fromisoformat(value.upper()).timestamp())}
    return {"value": value if isinstance(value, str) else str(render(value))}


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def edit_modal(form: EditForm, about: str, digest: str, channel: str | None, *, over: bool) -> dict[str, Any]:
    """Return the modal: `about` says what happens to whom; `over`, that it lies over the details."""
    ref = references.EditRef(
        act="edit", id=form.approval_id, digest=digest, stamp=form.stamp, channel=channel, over=over
    )
    named = [replace(one, name=edit_block(one.name), label=one.label) for one in edit_fields(form)]
    starts = [initial_value(one, form.present) for one in edit_fields(form)]
    return {
        "type": "modal",
        "callback_id": references.MORE_MODAL,
        "title": plain_text(Shown("Edit and resubmit")),
        "submit": plain_text(Shown("Resubmit")),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": [
            *rows([(bold("What"), short(about, 300)), (bold("Part of"), short(form.title, 300))]),
            section(Shown(_MEANS)),
            *(field_input(one, start) for one, start in zip(named, starts, strict=True)),
            reason_input("Why do you change it?"),
        ],
    }
