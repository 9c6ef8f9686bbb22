"""What was entered into a form, as the payload of the trigger."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.payloads import Input
from bot.views.fields import FieldKind, FormField

_INTEGER, _NUMBER = re.compile(r"-?[0-9]{1,15}"), re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def payload_of(
    fields: Sequence[FormField], entered: Mapping[str, Mapping[str, Input]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what was entered, by property, and what cannot be read, by property; what was left empty is left out."""
    payload: dict[str, Any] = {}
    faults: dict[str, str] = {}
    for one in fields:
        given = entered.get(one.name, {}).get(one.name, Input())
        try:
            value = _value(one, given)
        except ValueError as error:
            faults[one.name] = str(error)
        else:
            payload |= {} if value is None else {one.name: value}
    return payload, faults


def _value(one: FormField, given: Input) -> Any:
    match one.kind:
        case FieldKind.CHOICE:
            return _chosen(one, given)
        case FieldKind.DATE:
            return given.selected_date
        case FieldKind.MOMENT:
            return _moment(given.selected_date_time)
    if not given.value:
        return None
    match one.kind:
        case FieldKind.INTEGER:
            return int(_matching(_INTEGER, given.value, "Please enter a whole number, in digits."))
        case FieldKind.NUMBER:
            text = _matching(_NUMBER, given.value, "Please enter a number, such as 12 or 12.5.")
            return float(text) if "." in text else int(text)
        case FieldKind.LIST:
            return [line.strip() for line in given.value.splitlines() if line.strip()]
    return given.value


def _chosen(one: FormField, given: Input) -> Any:
    if given.selected_option is None:
        return None
    index = given.selected_option.value
    if not index.isascii() or not index.isdigit() or int(index) >= len(one.options):
        raise ValueError("Please choose one of the options.")
    return one.options[int(index)]


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"


def _matching(pattern: re.Pattern[str], text: str, fault: str) -> str:
    if not pattern.fullmatch(text.strip()):
        raise ValueError(fault)
    return text.strip()
