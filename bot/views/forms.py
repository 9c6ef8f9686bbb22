"""The modals in which people ask for something: which runbook, and what its trigger says."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bot.views.blocks import Block, plain_text, section
from bot.views.fields import TEXTS, FieldKind, FormField
from bot.views.text import Shown, chunks, render, short, units
from runtime.services.front_model import Form

CHOOSE_MODAL = "countersign_choose_runbook"
FORM_MODAL = "countersign_request_form"
MODALS = (CHOOSE_MODAL, FORM_MODAL)
RUNBOOK = "runbook"
MOST_RUNBOOKS = 100

_LABEL, _HINT, _OPTION, _LONGEST, _METADATA = 150, 300, 75, 3000, 3000


class FormRef(BaseModel):
    """A form's private metadata: the runbook and its version as the person saw them, and where to answer."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    runbook: Annotated[str, Field(min_length=1, max_length=200)]
    version: Annotated[int, Field(ge=1)]
    channel: str | None


class ChooseRef(BaseModel):
    """The chooser's private metadata: where to answer, and what a form begins with."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    channel: str | None
    quoted: str = ""


def chooser_modal(forms: Sequence[Form], channel: str | None, quoted: str = "") -> dict[str, Any]:
    """Return the modal in which a person says what they ask for; an option's value is the runbook's name.

    `quoted` is the message that they ask it of: the form begins with as much of it as a modal can carry.
    """
    options = [_option(f"{form.title} ({form.name})", form.name) for form in forms[:MOST_RUNBOOKS]]
    element = {"type": "static_select", "action_id": RUNBOOK, "options": options}
    asks = {
        "type": "input",
        "block_id": RUNBOOK,
        "label": plain_text(Shown("What do you ask for?")),
        "element": element,
    }
    return _modal(CHOOSE_MODAL, "Next", _carrying(channel, quoted), [asks])


def _carrying(channel: str | None, quoted: str) -> ChooseRef:
    """Return the metadata with as much of a message as there is room for."""
    ref = ChooseRef(channel=channel, quoted=quoted[:_METADATA])
    while len(ref.model_dump_json()) > _METADATA:
        ref = ChooseRef(channel=channel, quoted=ref.quoted[: len(ref.quoted) * 9 // 10])
    return ref


def form_modal(form: Form, fields: Sequence[FormField], channel: str | None, quoted: str = "") -> dict[str, Any]:
    """Return the form of a runbook; a message that it is asked of stands in the first field that takes a text."""
    about = short(f"{form.title}. {form.description}" if form.description else form.title, 2000, lines=20)
    texts = [one for one in fields if one.kind in TEXTS]
    first = next((one for one in texts if one.kind is FieldKind.LONG_TEXT), next(iter(texts), None))
    ref = FormRef(runbook=form.name, version=form.version, channel=channel)
    inputs = [_quoting(one, quoted) if one is first and quoted else field_input(one) for one in fields]
    return _modal(FORM_MODAL, "Request", ref, [section(about), *inputs])


def _quoting(one: FormField, quoted: str) -> Block:
    """Return a field that begins with a message, cut to what the field takes; its hint says so."""
    begins = _cut(quoted, _most(one))
    cut = f"The message was cut: the first {len(begins):,} of {len(quoted):,} characters."
    shown = one if begins == quoted else replace(one, hint=" ".join(filter(None, (one.hint, cut))))
    return field_input(shown, {"value": begins})


def _most(one: FormField) -> int:
    """Return how many characters a text input takes: what the schema says, as far as Slack goes."""
    return min(one.longest or _LONGEST, _LONGEST)


def _cut(text: str, most: int) -> str:
    """Return as much of a text as fits, by the units in which Slack counts."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def _modal(callback: str, submit: str, ref: BaseModel, blocks: list[Block]) -> dict[str, Any]:
    return {
        "type": "modal",
        "callback_id": callback,
        "title": plain_text(Shown("New request")),
        "submit": plain_text(Shown(submit)),
        "close": plain_text(Shown("Cancel")),
        "private_metadata": ref.model_dump_json(),
        "blocks": blocks,
    }


def field_input(one: FormField, start: Mapping[str, Any] | None = None) -> Block:
    """Return the input of a field, beginning with a value where one is given: of a choice, its place."""
    return {
        "type": "input",
        "block_id": one.name,
        "label": plain_text(short(one.label, _LABEL, lines=1)),
        "optional": not one.is_required,
        "element": {"action_id": one.name, **_element(one, start or {}), **_initial(one, start or {})},
        **({"hint": plain_text(hint)} if (hint := _hint(one)) else {}),
    }


def _initial(one: FormField, start: Mapping[str, Any]) -> Block:
    if "option" in start:
        place = start["option"]
        return {"initial_option": _option(_word(one.options[int(place)]), place)}
    return {f"initial_{name}": value for name, value in start.items()}


def _hint(one: FormField) -> Shown | None:
    words = {FieldKind.LIST: "One per line.", FieldKind.INTEGER: "A whole number.", FieldKind.NUMBER: "A number."}
    hint = " ".join(filter(None, (one.hint, words.get(one.kind, ""))))
    return short(hint, _HINT, lines=5) if hint else None


def _element(one: FormField, start: Mapping[str, Any]) -> Block:
    match one.kind:
        case FieldKind.CHOICE:
            options = [_option(_word(value), str(index)) for index, value in enumerate(one.options)]
            return {"type": "static_select", "options": options}
        case FieldKind.DATE:
            return {"type": "datepicker"}
        case FieldKind.MOMENT:
            return {"type": "datetimepicker"}
    long = one.kind in (FieldKind.LONG_TEXT, FieldKind.LIST)
    # a value of today may take more units than the schema counts characters
    most = max(_most(one), units(str(start.get("value", ""))))
    least = {"min_length": min(one.shortest, most)} if one.shortest and one.is_required else {}
    return {"type": "plain_text_input", "multiline": long, "max_length": most, **least}


def _word(value: Any) -> str:
    return ("Yes" if value else "No") if isinstance(value, bool) else render(value)


def _option(words: str, value: str) -> Block:
    parts = chunks(words, _OPTION - 1)
    return {"text": plain_text(Shown(f"{parts[0]}…") if len(parts) > 1 else parts[0]), "value": value}
