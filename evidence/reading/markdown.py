"""Markdown that shows data as data: visible, and without meaning to Markdown.

What cannot be seen, or hides or reorders what stands beside it, is shown as its number: `⟨U+202E⟩`. Which characters
these are is a list of our own, so that it is the same with every Python and in every other language: Unicode's
`Default_Ignorable_Code_Point`, with its places that are kept free, and controls, blanks, what is for private use, and
what is no character. `⟨` itself is one of them, so that nothing can pass for such a number.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from receipts import canonical, piecewise
from receipts.canonical import Apart

HIDDEN = (
    *((0x0000, 0x001F), (0x007F, 0x00A0), (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160)),
    *((0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F)),
    *((0x27E8, 0x27E8), (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164), (0xD800, 0xF8FF), (0xFDD0, 0xFDEF)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0xFFFE, 0xFFFF), (0x1BCA0, 0x1BCA3)),
    *((0x1D173, 0x1D17A), (0xE0000, 0xE0FFF), (0xF0000, 0x10FFFF)),
    *((plane << 16 | 0xFFFE, plane << 16 | 0xFFFF) for plane in range(1, 15)),
)
"""From and to: the characters that are never shown as they are."""

_HIDDEN = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in HIDDEN) + "]")
_MARKUP = re.compile(
    r"[\\`*\[\]<>&~|$#@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    r"|:(?=//)|(?<=[Ww]{3})\."  # what is made a link without being asked to
)
_QUOTES = re.compile("[“”]")
_ENDS = re.compile(r"[`|]")  # of a code span, and of a table's cell in which it stands
_LINES = re.compile(r"\r\n|[\r\n]")
_NEAR = 64
"""Texts that are kept when they were made: the leaves of one step tell of the same names."""


def visible(text: str) -> str:
    """Return data with a number in the place of each character that cannot be seen."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_number, text)


def lines(text: str) -> str:
    """Return data that may have several lines, each visible."""
    return "\n".join(map(visible, _LINES.split(text.replace("\t", "    "))))


def prose(text: str, limit: int) -> str:
    """Return data for a line of Markdown, in which it is nothing but text; a cut is said.

    The quotation marks that we put around it do not occur in it.
    """
    return _prose(text[:limit], len(text) - limit)


@lru_cache(_NEAR)
def _prose(text: str, more: int) -> str:
    cut = f" … ({more:,} more characters)" if more > 0 else ""
    joined = _LINES.sub(" ↵ ", text.replace("\t", " ").strip(" \r\n"))
    return _MARKUP.sub(r"\\\g<0>", _QUOTES.sub(_number, visible(joined))) + cut


def quoted(text: str, limit: int) -> str:
    """Return words of others, for a line of Markdown."""
    return f"“{prose(text, limit)}”"


def quoted_json(value: Any, limit: int) -> str:
    """Return a JSON value between quotation marks, for a line of Markdown."""
    first, size = beginning(value, limit)
    return f"“{_prose(first, size - limit)}”"


def beginning(value: Any, limit: int) -> tuple[str, int]:
    """Return the first characters of a JSON value as text (see `written`), and how many there are of all."""
    if isinstance(value, str):
        return value[:limit], len(value)
    first, size = "", 0
    for part in _parts(value):
        first, size = first + part[: limit - len(first)], size + len(part)
    return first, size


def _parts(value: Any) -> Iterator[str]:
    if isinstance(value, Apart):
        return piecewise.written(value)
    try:
        data = canonical.dumps(value)
    except canonical.CanonicalError as error:  # of a bundle that does not hold
        return iter((f"({error})",))
    return piecewise.written(Apart(data, 0, len(data)))


def is_document(value: Any) -> bool:
    """Return whether a JSON value is an object or a list."""
    return not value.is_text if isinstance(value, Apart) else isinstance(value, dict | list)


def cited(text: str, limit: int) -> str:
    """Return words of others between quotation marks, for a line that is no Markdown; a cut is said."""
    cut = f" … ({len(text) - limit:,} more characters)" if len(text) > limit else ""
    return f"“{_QUOTES.sub(_number, visible(' '.join(text[:limit].split())))}”{cut}"


@lru_cache(_NEAR)
def code(text: str) -> str:
    """Return data as a Markdown code span that it cannot leave, in a table neither."""
    shown = _ENDS.sub(_number, visible(text))
    return f"`{shown}`" if shown.strip(" ") else f'`"{shown}"`'


def written(value: Any) -> str:
    """Return a JSON value as text: a string as it is, anything else in its canonical form."""
    return value if isinstance(value, str) else "".join(_parts(value))


def _number(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"
