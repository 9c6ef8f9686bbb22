"""*Edit and resubmit*: the modal with what may be edited, each field filled with its value now."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bot.views import references
from bot.views.blocks import bold, plain_text, rows, section
from bot.views.fields import FieldKind, FormField, fields_of
from bot.views.forms import field_input
from bot.views.modals import reason_input
from bot.views.text import Shown, render, short
from runtime.services.editing_model import EditForm

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


def block_of(name: str) -> str:
    """Return the block, and the action, of a param's field."""
    return f"{_PREFIX}{name}"


def start_of(one: FormField, present: Mapping[str, Any]) -> dict[str, Any]:
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
    named = [replace(one, name=block_of(one.name), label=one.label) for one in edit_fields(form)]
    starts = [start_of(one, form.present) for one in edit_fields(form)]
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
