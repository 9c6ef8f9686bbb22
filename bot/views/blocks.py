"""The few Block Kit shapes that cards, modals and App Home are made of. They take `Shown` text only."""

import json
import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.views.text import Shown

Block = dict[str, Any]

SECTION_LIMIT = 3000
_ROWS_PER_SECTION = 5
_USER = re.compile(r"[UW][A-Z0-9]{1,20}")
_USER_GROUP = re.compile(r"S[A-Z0-9]{1,20}")
_SAFE_URL = re.compile(r"https?://[!-;=?-{}~]{1,2000}")


def plain_text(text: Shown) -> Block:
    """Return a text object in which nothing has a meaning, emoji codes included."""
    return {"type": "plain_text", "text": text, "emoji": False}


def mrkdwn_text(text: Shown) -> Block:
    """Return a text object for our own formatting; `verbatim` keeps Slack from finding links and names in it."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def bold(words: str) -> Block:
    """Return fixed words of ours in bold."""
    return mrkdwn_text(Shown(f"*{words}*"))


def header(text: Shown) -> Block:
    """Return the large first line."""
    return {"type": "header", "text": plain_text(text)}


def section(text: Shown) -> Block:
    """Return a paragraph."""
    return {"type": "section", "text": plain_text(text)}


def table(lines: Sequence[Sequence[Shown]], *, right: Collection[int] = ()) -> Block:
    """Return a table whose first line is its head; Slack takes one a message, none in a view. `right` holds numbers."""
    cells = [[{"type": "raw_text", "text": text} for text in line] for line in lines]
    columns = [{"align": "right" if at in right else "left", "is_wrapped": True} for at in range(len(lines[0]))]
    return {"type": "table", "rows": cells, "column_settings": columns}


def heading(words: str) -> Block:
    """Return fixed words of ours above a group of rows."""
    return {"type": "section", "text": bold(words)}


def rows(pairs: Sequence[tuple[Block, Shown]]) -> list[Block]:
    """Return two columns: a text object beside data in plain text."""
    return rows_of([(label, plain_text(value)) for label, value in pairs])


def rows_of(pairs: Sequence[tuple[Block, Block]]) -> list[Block]:
    """Return two columns of text objects."""
    return [{"type": "section", "fields": [cell for pair in part for cell in pair]} for part in _parts(pairs)]


def _parts(pairs: Sequence[tuple[Block, Block]]) -> list[Sequence[tuple[Block, Block]]]:
    return [pairs[at : at + _ROWS_PER_SECTION] for at in range(0, len(pairs), _ROWS_PER_SECTION)]


def context(*elements: Block) -> Block:
    """Return small print."""
    return {"type": "context", "elements": list(elements)}


def button(action_id: str, words: str, value: str, **more: Any) -> Block:
    """Return a button with fixed words of ours."""
    return {"type": "button", "action_id": action_id, "text": plain_text(Shown(words)), "value": value, **more}


def overflow(action_id: str, options: Sequence[tuple[str, str]]) -> Block:
    """Return a menu behind three dots: fixed words of ours, each with its value."""
    entries = [{"text": plain_text(Shown(words)), "value": value} for words, value in options]
    return {"type": "overflow", "action_id": action_id, "options": entries}


def call_of(users: Sequence[str]) -> Shown:
    """Return a call of people and user groups by their Slack ids; what is no id calls nobody."""
    people = [f"<@{user}>" for user in users if _USER.fullmatch(user)]
    people += [f"<!subteam^{group}>" for group in users if _USER_GROUP.fullmatch(group)]
    return Shown(f"For {' '.join(people)}" if people else "")


def date(moment: datetime) -> Shown:
    """Return a date that Slack shows in the reader's own time zone, with UTC for where it cannot."""
    token = "{date_short_pretty} {time}"  # noqa: S105 - Slack's name for a format
    return Shown(f"<!date^{int(moment.timestamp())}^{token}|{utc(moment)}>")


def utc(moment: datetime) -> str:
    """Return a moment to the minute."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def dated(text: Shown, moments: Sequence[datetime]) -> Shown:
    """Return text for a mrkdwn object in which these moments, written in UTC, are in the reader's own time zone."""
    for moment in moments:
        text = Shown(text.replace(utc(moment), date(moment)))
    return text


def link(label: Shown, url: str) -> Shown | None:
    """Return a link, or None for an address that is not plainly http(s)."""
    return Shown(f"<{url.replace('&', '&amp;')}|{label}>") if _SAFE_URL.fullmatch(url) else None


def size(blocks: Sequence[Block]) -> int:
    """Return the length of the blocks as JSON."""
    return len(json.dumps(blocks, ensure_ascii=False))
