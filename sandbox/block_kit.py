"""Block Kit as this workspace accepts it: Slack's limits for messages and views.

Small rules check a JSON value and say, in Slack's words and with a JSON pointer, what is wrong with it.
"""

import json
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sandbox.slack_errors import SlackError

Rule = Callable[[Any, str], Iterator[str]]


def _at(message: str, path: str) -> str:
    return f"{message} [json-pointer:{path or '/'}]"


def string(longest: int, shortest: int = 1) -> Rule:
    """Return a rule for a string of limited length."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield _at("must be a string", path)
        elif len(value) > longest:
            yield _at(f"must be less than {longest + 1} characters", path)
        elif len(value) < shortest:
            yield _at(f"must be more than {shortest - 1} characters", path)

    return check


def boolean(value: Any, path: str) -> Iterator[str]:
    """Check a boolean."""
    if not isinstance(value, bool):
        yield _at("must be a boolean", path)


def integer(lowest: int, highest: int) -> Rule:
    """Return a rule for a whole number within bounds."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
            yield _at(f"must be an integer between {lowest} and {highest}", path)

    return check


def one_of(*allowed: str) -> Rule:
    """Return a rule for one of a few words."""

    def check(value: Any, path: str) -> Iterator[str]:
        if value not in allowed:
            yield _at(f"value must be one of: {', '.join(allowed)}", path)

    return check


def url(value: Any, path: str) -> Iterator[str]:
    """Check a link."""
    yield from string(3000)(value, path)
    if isinstance(value, str) and not value.startswith(("http://", "https://")):
        yield _at("invalid url", path)


def array(item: Rule, most: int, fewest: int = 1) -> Rule:
    """Return a rule for a list of limited length."""

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield _at("must be an array", path)
            return
        if len(value) > most:
            yield _at(f"no more than {most} items allowed", path)
        if len(value) < fewest:
            yield _at(f"must provide at least {fewest} items", path)
        for position, one in enumerate(value):
            yield from item(one, f"{path}/{position}")

    return check


def obj(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """Return a rule for an object with these members and no others."""
    known = {**required, **(optional or {})}

    def check(value: Any, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield _at("must be an object", path)
            return
        for name in required:
            if name not in value:
                yield _at(f"missing required field: {name}", path)
        for name, member in value.items():
            if name in known:
                yield from known[name](member, f"{path}/{name}")
            else:
                yield _at(f"invalid additional property: {name}", path)

    return check


def by_type(rules: Mapping[str, Rule]) -> Rule:
    """Return a rule that goes by the object's ``type``."""

    def check(value: Any, path: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            yield _at("missing required field: type", path)
        elif kind not in rules:
            yield _at(f"unsupported type: {kind}", f"{path}/type")
        else:
            yield from rules[kind](value, path)

    return check


def both(*rules: Rule) -> Rule:
    """Return a rule that holds when all of these do."""

    def check(value: Any, path: str) -> Iterator[str]:
        for rule in rules:
            yield from rule(value, path)

    return check


MESSAGE_BLOCKS, VIEW_BLOCKS = 50, 100
MESSAGE_BLOCK_CHARACTERS = 13_200
VIEW_BYTES = 250_000
TABLE_ROWS, TABLE_COLUMNS, TABLE_CHARACTERS = 100, 20, 10_000
INTERACTIVE = {
    "button",
    "static_select",
    "users_select",
    "overflow",
    "radio_buttons",
    "checkboxes",
    "plain_text_input",
    "datepicker",
    "datetimepicker",
}

_TYPE = {"type": string(30)}
_ACTION = {"action_id": string(255)}
_BLOCK = {"block_id": string(255)}


def _plain(longest: int) -> Rule:
    return by_type({"plain_text": obj({**_TYPE, "text": string(longest)}, {"emoji": boolean})})


def _text(longest: int) -> Rule:
    mrkdwn = obj({**_TYPE, "text": string(longest)}, {"verbatim": boolean})
    return by_type({"plain_text": _plain(longest), "mrkdwn": mrkdwn})


_CONFIRM = obj(
    {"title": _plain(100), "text": _text(300), "confirm": _plain(30), "deny": _plain(30)},
    {"style": one_of("primary", "danger")},
)
_OPTION = obj({"text": _text(75), "value": string(150)}, {"description": _text(75)})
_BUTTON = obj(
    {**_TYPE, "text": _plain(75)},
    {
        **_ACTION,
        "value": string(2000),
        "url": url,
        "style": one_of("primary", "danger"),
        "confirm": _CONFIRM,
        "accessibility_label": string(75),
    },
)
_SELECT = obj(
    {**_TYPE, "options": array(_OPTION, 100)},
    {**_ACTION, "placeholder": _plain(150), "initial_option": _OPTION, "confirm": _CONFIRM},
)
_USERS = obj(_TYPE, {**_ACTION, "placeholder": _plain(150), "initial_user": string(25), "confirm": _CONFIRM})
_OVERFLOW_OPTION = obj({"text": _plain(75), "value": string(150)}, {"description": _plain(75), "url": url})
_OVERFLOW = obj({**_TYPE, "options": array(_OVERFLOW_OPTION, 5)}, {**_ACTION, "confirm": _CONFIRM})
_RADIO = obj(
    {**_TYPE, "options": array(_OPTION, 10)},
    {**_ACTION, "initial_option": _OPTION, "confirm": _CONFIRM},
)
_CHECKBOXES = obj(
    {**_TYPE, "options": array(_OPTION, 10)},
    {**_ACTION, "initial_options": array(_OPTION, 10), "confirm": _CONFIRM},
)
_DISPATCH = obj({"trigger_actions_on": array(one_of("on_enter_pressed", "on_character_entered"), 2)})
_INPUT = obj(
    _TYPE,
    {
        **_ACTION,
        "placeholder": _plain(150),
        "initial_value": string(3000, 0),
        "multiline": boolean,
        "min_length": integer(0, 3000),
        "max_length": integer(1, 3000),
        "focus_on_load": boolean,
        "dispatch_action_config": _DISPATCH,
    },
)
_DATE = obj(_TYPE, {**_ACTION, "placeholder": _plain(150), "initial_date": string(10), "confirm": _CONFIRM})
_MOMENT = obj(_TYPE, {**_ACTION, "initial_date_time": integer(0, 9_999_999_999), "confirm": _CONFIRM})
_INPUTS = {"plain_text_input": _INPUT, "datepicker": _DATE, "datetimepicker": _MOMENT}
_CHOOSERS = {"static_select": _SELECT, "users_select": _USERS, "radio_buttons": _RADIO, "checkboxes": _CHECKBOXES}
_PRESSED = {"button": _BUTTON, "overflow": _OVERFLOW}


def _distinct_actions(block: Any, path: str) -> Iterator[str]:
    """Check that action ids are distinct within the block."""
    elements = block.get("elements") if isinstance(block, dict) else None
    ids = [one.get("action_id") for one in elements or [] if isinstance(one, dict) and "action_id" in one]
    if len(ids) != len(set(map(str, ids))):
        yield f"action_id must be unique within a block [json-pointer:{path}/elements]"


def _says_something(block: Any, path: str) -> Iterator[str]:
    """Check that a section has text or fields."""
    if isinstance(block, dict) and not block.get("text") and not block.get("fields"):
        yield f"missing required field: text or fields [json-pointer:{path}]"


_STYLE = obj({}, {"bold": boolean, "italic": boolean, "strike": boolean, "code": boolean})
_RICH_ELEMENT = by_type(
    {
        "text": obj({**_TYPE, "text": string(40_000)}, {"style": _STYLE}),
        "link": obj({**_TYPE, "url": url}, {"text": string(3000, 0), "style": _STYLE, "unsafe": boolean}),
        "emoji": obj({**_TYPE, "name": string(100)}, {"style": _STYLE}),
        "user": obj({**_TYPE, "user_id": string(25)}, {"style": _STYLE}),
        "channel": obj({**_TYPE, "channel_id": string(25)}, {"style": _STYLE}),
        "broadcast": obj({**_TYPE, "range": one_of("here", "channel", "everyone")}),
    }
)
_RICH_LINE = obj({**_TYPE, "elements": array(_RICH_ELEMENT, 1000, 0)}, {"border": integer(0, 1)})
_RICH_LIST = obj(
    {**_TYPE, "elements": array(_RICH_LINE, 1000), "style": one_of("bullet", "ordered")},
    {"indent": integer(0, 8), "border": integer(0, 1), "offset": integer(0, 1000)},
)
_RICH_PARTS = by_type(
    {
        "rich_text_section": _RICH_LINE,
        "rich_text_preformatted": _RICH_LINE,
        "rich_text_quote": _RICH_LINE,
        "rich_text_list": _RICH_LIST,
    }
)
_ANYWHERE: dict[str, Rule] = {
    "header": obj({**_TYPE, "text": _plain(150)}, _BLOCK),
    "section": both(
        obj(
            _TYPE,
            {
                **_BLOCK,
                "text": _text(3000),
                "fields": array(_text(2000), 10),
                "accessory": by_type({**_PRESSED, **_CHOOSERS}),
                "expand": boolean,
            },
        ),
        _says_something,
    ),
    "context": obj({**_TYPE, "elements": array(_text(3000), 10)}, _BLOCK),
    "divider": obj(_TYPE, _BLOCK),
    "actions": both(
        obj({**_TYPE, "elements": array(by_type({**_PRESSED, **_CHOOSERS}), 25)}, _BLOCK),
        _distinct_actions,
    ),
    "input": obj(
        {**_TYPE, "label": _plain(2000), "element": by_type({**_INPUTS, **_CHOOSERS})},
        {**_BLOCK, "hint": _plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
    "rich_text": obj({**_TYPE, "elements": array(_RICH_PARTS, 1000)}, _BLOCK),
}
_BLOCKS = by_type(_ANYWHERE)
_TABLE_CELL = by_type(
    {
        "raw_text": obj({**_TYPE, "text": string(TABLE_CHARACTERS)}),
        "rich_text": obj({**_TYPE, "elements": array(_RICH_PARTS, 1000)}, _BLOCK),
    }
)
_COLUMN = obj({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean})
_TABLE = obj(
    {**_TYPE, "rows": array(array(_TABLE_CELL, TABLE_COLUMNS), TABLE_ROWS)},
    {**_BLOCK, "column_settings": array(_COLUMN, TABLE_COLUMNS)},
)
_IN_MESSAGES = by_type({**_ANYWHERE, "table": _TABLE})
_VIEW_COMMON = {"private_metadata": string(3000, 0), "callback_id": string(255), "external_id": string(255, 0)}
_MODAL = obj(
    {**_TYPE, "title": _plain(24), "blocks": array(_BLOCKS, VIEW_BLOCKS)},
    {**_VIEW_COMMON, "submit": _plain(24), "close": _plain(24), "clear_on_close": boolean, "notify_on_close": boolean},
)
_HOME = obj({**_TYPE, "blocks": array(_BLOCKS, VIEW_BLOCKS, 0)}, _VIEW_COMMON)


def _repeated_ids(blocks: Any, path: str) -> Iterator[str]:
    """Check that block ids are distinct within the message or view."""
    seen: set[str] = set()
    for position, block in enumerate(blocks if isinstance(blocks, list) else []):
        block_id = block.get("block_id") if isinstance(block, dict) else None
        if isinstance(block_id, str) and block_id in seen:
            yield f"block_id already exists: {block_id} [json-pointer:{path}/{position}/block_id]"
        seen.add(str(block_id) if block_id else f"#{position}")


def _characters(value: Any) -> int:
    """Count what is written under ``text`` anywhere in the blocks."""
    if isinstance(value, list):
        return sum(map(_characters, value))
    if not isinstance(value, dict):
        return 0
    return sum(len(one) if name == "text" and isinstance(one, str) else _characters(one) for name, one in value.items())


def _tables(blocks: list[dict[str, Any]]) -> Iterator[str]:
    """Check that a message has one table at most, and that its cells are not too long together."""
    tables = [(at, one) for at, one in enumerate(blocks) if one.get("type") == "table"]
    yield from (f"only_one_table_allowed [json-pointer:/blocks/{at}]" for at, _ in tables[1:])
    if sum(_characters(one) for _, one in tables) > TABLE_CHARACTERS:
        yield f"table must have no more than {TABLE_CHARACTERS} characters in its cells"


def check_message_blocks(blocks: Any) -> list[dict[str, Any]]:
    """Return a message's blocks with ids filled in, or refuse them as Slack does."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackError("invalid_blocks_format")
    problems = [*array(_IN_MESSAGES, MESSAGE_BLOCKS, 0)(blocks, "/blocks"), *_repeated_ids(blocks, "/blocks")]
    problems += _tables(blocks)
    if problems:
        raise SlackError("invalid_blocks", *problems)
    if _characters(blocks) > MESSAGE_BLOCK_CHARACTERS:
        raise SlackError("msg_blocks_too_long")
    return fill_ids(blocks)


def check_view(view: Any, kind: str) -> dict[str, Any]:
    """Return a view with ids filled in, or refuse it as Slack does."""
    if not isinstance(view, dict):
        raise SlackError("invalid_arguments", "must be an object [json-pointer:/view]")
    problems = list(by_type({kind: _MODAL if kind == "modal" else _HOME})(view, "/view"))
    problems += _repeated_ids(view.get("blocks"), "/view/blocks")
    if kind == "modal" and "submit" not in view and any(b.get("type") == "input" for b in _dicts(view.get("blocks"))):
        problems.append("missing required field: submit [json-pointer:/view]")
    if problems:
        raise SlackError("invalid_arguments", *problems)
    if len(json.dumps(view, ensure_ascii=False).encode()) > VIEW_BYTES:
        raise SlackError("view_too_large")
    return {**view, "blocks": fill_ids(view["blocks"])}


def _dicts(values: Any) -> list[dict[str, Any]]:
    return [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []


def _new_id() -> str:
    return secrets.token_urlsafe(4)[:5]


def fill_ids(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks with a new block_id and action_id wherever there is none."""
    return [{**_with_action_ids(block), "block_id": block.get("block_id") or _new_id()} for block in blocks]


def _with_action_ids(block: dict[str, Any]) -> dict[str, Any]:
    filled = dict(block)
    for name in ("accessory", "element"):
        if name in block:
            filled[name] = {**block[name], "action_id": block[name].get("action_id") or _new_id()}
    if block["type"] == "actions":
        filled["elements"] = [{**one, "action_id": one.get("action_id") or _new_id()} for one in block["elements"]]
    return filled


def elements(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the interactive elements of a block."""
    found = [block.get("accessory"), block.get("element"), *(block.get("elements") or [])]
    yield from (one for one in found if one and one.get("type") in INTERACTIVE)
