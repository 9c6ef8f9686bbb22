"""Inputs: what a person enters, as Slack reports it, and as Slack checks it before it asks the app.

What a person types after an at sign is a mention of the app, as Slack's own editor makes one.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from sandbox.block_kit import elements
from sandbox.workspace import Workspace

Json = dict[str, Any]


class ActError(Exception):
    """A person tried what is not there to be done."""


def answer(element: Json, given: Any) -> Json:
    """Return an element's state; `given` is text, an option's value, or a list of them (None: what it starts with)."""
    kind = element["type"]
    if kind == "plain_text_input":
        text = element.get("initial_value") if given is None else given
        return {"value": text or None}
    if kind == "checkboxes":
        return {"selected_options": _chosen(element, given, element.get("initial_options", []))}
    if kind in {"static_select", "radio_buttons", "overflow"}:
        start = [element["initial_option"]] if "initial_option" in element else []
        options = _chosen(element, given if given is None else [given], start)
        return {"selected_option": options[0] if options else None}
    if kind == "users_select":
        return {"selected_user": _user(element, given) if given else element.get("initial_user")}
    if kind == "datepicker":
        return {"selected_date": _date(element, given) if given else element.get("initial_date")}
    if kind == "datetimepicker":
        return {"selected_date_time": _moment(element, given) if given else element.get("initial_date_time")}
    return {}


def _user(element: Json, given: Any) -> str:
    if not isinstance(given, str) or not re.fullmatch(r"[UW][A-Z0-9]{1,20}", given):
        raise ActError(f"{element['action_id']} takes the id of a user")
    return given


def _date(element: Json, given: Any) -> str:
    try:
        return date.fromisoformat(given).isoformat()
    except (TypeError, ValueError):
        raise ActError(f"{element['action_id']} takes a date, such as 2026-03-02") from None


def _moment(element: Json, given: Any) -> int:
    """Return seconds since 1970: of ten digits, as Slack has them."""
    if not isinstance(given, str) or not re.fullmatch(r"[0-9]{10}", given):
        raise ActError(f"{element['action_id']} takes a moment, in seconds since 1970")
    return int(given)


def _chosen(element: Json, given: Any, start: list[Json]) -> list[Json]:
    if given is None:
        return start
    options = {option["value"]: option for option in element["options"]}
    unknown = [value for value in given if value not in options]
    if unknown:
        raise ActError(f"{element['action_id']} offers no option {unknown[0]!r}")
    return [options[value] for value in given]


def _fields(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Give every (block, element) that holds a value."""
    for block in blocks:
        yield from ((block, element) for element in elements(block) if element["type"] not in {"button", "overflow"})


def state(blocks: list[Json], values: Mapping[str, Any]) -> Json:
    """Return ``state.values``; `values` goes by ``block_id/action_id`` or by ``action_id``."""
    entered: dict[str, Json] = {}
    used: set[str] = set()
    for block, element in _fields(blocks):
        keys = (f"{block['block_id']}/{element['action_id']}", element["action_id"])
        key = next((one for one in keys if one in values), None)
        used |= {key} if key else set()
        reported = {"type": element["type"], **answer(element, values[key] if key else None)}
        entered.setdefault(block["block_id"], {})[element["action_id"]] = reported
    unknown = sorted(values.keys() - used)
    if unknown:
        raise ActError(f"there is no input {unknown[0]!r} here")
    return entered


def faults(blocks: list[Json], entered: Json) -> dict[str, str]:
    """Return what Slack itself says under an input, by block_id."""
    found: dict[str, str] = {}
    for block, element in _fields(blocks):
        given = entered[block["block_id"]][element["action_id"]]
        value = next((value for name, value in given.items() if name != "type" and value), None)
        if block["type"] == "input" and not value and not block.get("optional"):
            found[block["block_id"]] = "Please complete this required field."
        elif isinstance(value, str):
            fault = _length_fault(element, value)
            found |= {block["block_id"]: fault} if fault else {}
    return found


def _length_fault(element: Json, value: str) -> str:
    shortest, longest = element.get("min_length", 0), element.get("max_length", 3000)
    if len(value) < shortest:
        return f"Must be at least {shortest} characters."
    if len(value) > longest:
        return f"Must be at most {longest} characters."
    return ""


def mentioning(workspace: Workspace, text: str) -> tuple[str, bool]:
    """Return a text in which the app's name is a mention of it, and whether it is there."""
    bot = workspace.user(workspace.app.bot_user_id)
    if bot is None:
        return text, False
    named = re.compile(rf"(?<!\w)@(?:{re.escape(bot.real_name)}|{re.escape(bot.name)})(?!\w)", re.IGNORECASE)
    changed, count = named.subn(f"<@{bot.id}>", text)
    return changed, count > 0
