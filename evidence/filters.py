"""Template filters: how the report shows values. Whatever stands in a bundle becomes text, set apart in direction.

A card as people saw it is taken apart for the page: what Slack's blocks say, without what they do.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evidence.reading.markdown import beginning, lines, visible
from evidence.reading.material import Record, record, records, text
from evidence.reading.requests import Card, Request
from evidence.reading.words import KINDS, counted, listed, moment
from receipts.canonical import Apart, built

Part = tuple[bool, str]
"""Whether it is strong, and the text."""
Block = tuple[str, list[Part]]
"""`head`, `words`, `grid` (in pairs, side by side), `soft`, `buttons`, or `rule` for a line between."""
People = Mapping[str, str]
"""Names of people by their Slack accounts."""

_DATE = re.compile(r"<!date\^[^|<>]*\|([^<>]*)>")
_USER = re.compile(r"<@([A-Z0-9]+)>")
_LINK = re.compile(r"<(https?://[^|<>]*)\|([^<>]*)>")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def blocks_of(document: Record, people: People) -> list[Block]:
    """Return the blocks of a card; of one in another form, its text for notifications. `people` are for mentions."""
    card = record(document, "card") or document
    found = [block for one in records(card, "blocks") for block in _block(one, people)]
    return found or [("words", [(False, text(card, "text"))])]


def _block(block: Record, people: People) -> Iterator[Block]:
    match text(block, "type"):
        case "header":
            yield "head", [_part(record(block, "text"), people)]
        case "divider":
            yield "rule", []
        case "context":
            yield "soft", [_part(one, people) for one in records(block, "elements")]
        case "actions":
            yield "buttons", [_part(record(one, "text"), people) for one in records(block, "elements")]
        case _:
            yield from _section(block, people)


def _section(block: Record, people: People) -> Iterator[Block]:
    if block.get("text"):
        yield "words", [_part(record(block, "text"), people)]
    if fields := [_part(one, people) for one in records(block, "fields")]:
        yield "grid", fields


def _part(told: Record, people: People) -> Part:
    """Return a text object: fixed words in bold, mentions and dates as what they stand for, data as it is."""
    said = text(told, "text")
    if text(told, "type") != "mrkdwn":
        return False, said
    is_strong = len(said) > 2 and said[0] == said[-1] == "*"  # noqa: PLR2004 - both stars, and what is between
    said = _LINK.sub(
        r"\2 (\1)",
        _USER.sub(lambda found: _mention(found[1], people), _DATE.sub(r"\1", said.strip("*") if is_strong else said)),
    )
    for entity, character in _ENTITIES:
        said = said.replace(entity, character)
    return is_strong, said


def _mention(account: str, people: People) -> str:
    """Return a mention as the person's name, as text of Slack's markup; an unknown one as its account."""
    name = people.get(account) or f"@{account}"
    for entity, character in reversed(_ENTITIES):
        name = name.replace(character, entity)
    return name


_LONGEST = 4_000
"""Characters of one text."""
_LARGEST = 20_000
"""Characters of a JSON value that is taken apart; what is larger is shown as text, and cut."""
_DEEPEST = 5
"""Levels that are taken apart."""
_MOST = 200
"""Entries of one list."""
_ID = 16
"""Characters of a digest or a key's id."""
_HIDDEN = re.compile(r"\[redacted(:[0-9a-f]{32})?\]")


def data(value: Any) -> Markup:
    """Return a text or a JSON value as it is, each of its characters visible; a cut is said."""
    if value is None or value == "":
        return Markup('<span class="soft">none</span>')
    text, size = beginning(value, _LONGEST)
    more = size - _LONGEST
    shown = Markup('<bdi class="words">{}</bdi>').format(lines(text))
    return shown + Markup(' <span class="soft">… {} more characters</span>').format(f"{more:,}") if more > 0 else shown


def spaced(name: str) -> Markup:
    """Return a name of a field or step with spaces."""
    return data(name.replace("_", " "))


def line(text: str) -> str:
    """Return data for a place where there is no markup, on one line."""
    return visible(" ".join(text.split()))[:_MOST]


def opened(value: Any) -> Any:
    """Return a JSON value itself where it stands apart, unless it is too large to be taken apart."""
    return built(value) if isinstance(value, Apart) and beginning(value, 0)[1] <= _LARGEST else value


def form(value: Any, depth: int) -> str:
    """Return how a JSON value is shown: as `hidden`, `entries`, `items` or `text`."""
    if isinstance(value, str) and _HIDDEN.fullmatch(value):
        return "hidden"
    is_small = depth > 0 or beginning(value, 0)[1] <= _LARGEST
    if not value or depth >= _DEEPEST or not is_small:
        return "text"
    return "entries" if isinstance(value, dict) else "items" if isinstance(value, list) else "text"


def some(all_: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """Return the first entries."""
    return list(all_.items() if isinstance(all_, Mapping) else all_)[:_MOST]


def left_out(all_: Sequence[Any] | Mapping[str, Any]) -> int:
    """Return how many more there are."""
    return max(0, len(all_) - _MOST)


def capital(text: str) -> str:
    """Return a text that begins a sentence."""
    return text[:1].upper() + text[1:]


def kind(code: str) -> str:
    """Return what kind of request it is."""
    return KINDS.get(code, "A request")


def caption(request: Request, card: Card) -> str:
    """Say whose card it is."""
    signed = [vote.name for vote in request.votes[:_MOST] if vote.card is card]
    return f"The card that {listed(signed)} saw" if signed else "The card as posted"


def short(identifier: str) -> str:
    """Return the beginning of a long id."""
    return identifier if len(identifier) <= _ID else f"{identifier[:_ID]}…"


FILTERS: dict[str, Callable[..., Any]] = {
    "blocks": blocks_of,
    "capital": capital,
    "caption": caption,
    "count": counted,
    "data": data,
    "form": form,
    "kind": kind,
    "left_out": left_out,
    "line": line,
    "moment": moment,
    "opened": opened,
    "short": short,
    "some": some,
    "spaced": spaced,
}
