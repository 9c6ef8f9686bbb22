"""A runbook's trigger as fields of a form.

What can be a field: text, a choice, yes or no, numbers, dates, moments, and lists of text. A schema with anything else
cannot be filled in by form, and what that is gets named.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bot.views.values import label

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
