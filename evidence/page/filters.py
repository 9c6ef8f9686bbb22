"""How the report's template shows values: whatever stands in a bundle becomes text, set apart in direction."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from evidence.page.cards import blocks_of
from evidence.reading.requests import Card, Request
from evidence.reading.shown import beginning, lines, visible
from evidence.reading.words import KINDS, counted, listed, moment
from receipts.canonical import Apart, built

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
