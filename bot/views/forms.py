"""Forms: the modals in which people request something: which runbook, and the payload of its trigger as form fields.

A field can hold text, a choice, yes or no, a number, a date, a moment, or a list of text. A schema with anything else
cannot be filled in by form; the answer names what does not fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bot.views.blocks import Block, plain_text, section
from bot.views.text import Shown, chunks, render, short, units
from bot.views.values import label
from runtime.services.requests import Form

_MOST_FIELDS, _MOST_OPTIONS, _LONGEST_NAME = 90, 100, 200
_LONG = 200
"""Texts that may be longer get several lines."""
_COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"})


class FieldKind(StrEnum):
    """How a field is filled in."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    CHOICE = "choice"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    MOMENT = "moment"
    LIST = "list"


TEXTS = (FieldKind.TEXT, FieldKind.LONG_TEXT)


@dataclass(frozen=True)
class FormField:
    """A property of the trigger. `options` are the values of a choice, in the schema's order.

    `longest` is how many characters a text may have, `shortest` how many it must, as the schema says; 0 for nothing.
    """

    name: str
    kind: FieldKind
    label: str
    hint: str
    is_required: bool
    options: Sequence[Any] = field(default=())
    longest: int = 0
    shortest: int = 0


_KINDS = {"integer": FieldKind.INTEGER, "number": FieldKind.NUMBER}
_FORMATS = {"date": FieldKind.DATE, "date-time": FieldKind.MOMENT}


def fields_of(schema: Mapping[str, Any]) -> tuple[list[FormField], list[str]]:
    """Return the fields of a trigger's schema, and the names of what can be none.

    What is required comes first, in the schema's order; the rest by name, as definitions keep no order of them.
    """
    properties, required = schema.get("properties", {}), schema.get("required", [])
    fields = [_field(name, spec, is_required=name in required) for name, spec in properties.items()]
    unfit = [name for name, found in zip(properties, fields, strict=True) if found is None]
    unfit += [name for name in required if name not in properties]
    unfit += sorted(_COMPOSED & schema.keys()) + list(properties)[_MOST_FIELDS:]
    place = {name: index for index, name in enumerate(required)}
    return sorted((one for one in fields if one), key=lambda one: (place.get(one.name, len(place)), one.name)), unfit


def _field(name: str, spec: Any, *, is_required: bool) -> FormField | None:
    if not isinstance(spec, dict) or _COMPOSED & spec.keys() or not 0 < len(name) <= _LONGEST_NAME:
        return None
    options = _options(spec)
    kind = FieldKind.CHOICE if options else _kind(spec)
    if kind is None or len(options) > _MOST_OPTIONS:
        return None
    return FormField(
        name,
        kind,
        str(spec.get("title") or label((name,))),
        str(spec.get("description", "")),
        is_required,
        options,
        longest=int(spec.get("maxLength", 0)) if kind in TEXTS else 0,
        shortest=int(spec.get("minLength", 0)) if kind in TEXTS else 0,
    )


def _options(spec: Mapping[str, Any]) -> Sequence[Any]:
    if "const" in spec:
        return [spec["const"]]
    options: Sequence[Any] = spec.get("enum", [True, False] if spec.get("type") == "boolean" else [])
    return options


def _kind(spec: Mapping[str, Any]) -> FieldKind | None:
    kind = spec.get("type")
    if kind == "string":
        text = FieldKind.LONG_TEXT if spec.get("maxLength", 0) > _LONG else FieldKind.TEXT
        return _FORMATS.get(spec.get("format", ""), text)
    if kind == "array":
        return FieldKind.LIST if _is_text(spec.get("items")) else None
    return _KINDS.get(kind) if isinstance(kind, str) else None


def _is_text(items: Any) -> bool:
    return isinstance(items, dict) and items.get("type") == "string" and not _COMPOSED & items.keys()


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
