"""Show data as data: exact, visible, and without meaning to Slack.

Every source character becomes one atom: itself, an entity (``&amp;``), or a token such as ``⟨U+202E⟩`` for what
cannot be seen or would reorder, hide or blank out what stands beside it. `⟨` itself is always a token, so the
original can be read back from what is shown.
"""

import bisect
import functools
import itertools
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any, NewType

# Text that is ready for a Slack text object: fixed words of ours, or data that went through this module.
Shown = NewType("Shown", str)

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
# Letters and marks that draw nothing, or change how their neighbour is drawn, although their category is harmless.
_BLANKS = (
    frozenset(map(chr, [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0]))
    | frozenset(map(chr, range(0x180B, 0x1810)))
    | frozenset(map(chr, range(0xFE00, 0xFE10)))
    | frozenset(map(chr, range(0xE0100, 0xE01F0)))
)
# Padding long enough to push what follows out of sight.
_PADDING = re.compile(r"(?<= {16}) |(?<=\n\n)\n")
# What mrkdwn would read as formatting, an emoji, a quotation or a link; entities do not help against these.
_MARKUP = re.compile(r"[*~`]|(?<![^\W_])_|_(?![^\W_])|:(?=[^\s:]+:)|:(?=//)|^>", re.MULTILINE)
# What looks like them in a text that people only read, and means nothing to Slack.
_LOOK_ALIKES = {"*": "∗", "~": "∼", "`": "ˋ", "_": "ˍ", ":": "∶", ">": "›"}  # noqa: RUF001 - that is their purpose
# Of such characters alone most texts are made: each is shown as itself, without a closer look.
_HARMLESS = re.compile(r"[!-%'-;=?-~]*+(?: (?! {16})[!-%'-;=?-~]*+)*+")
# What stands between the parts of our lines, and between a value and what it becomes.
_SEPARATORS = re.compile("[·→…]")
_COMBINING = frozenset({"Mn", "Me", "Mc"})
_STACKED = 4
"""Marks in a row on one letter that are drawn; no language needs more, and more cover the lines around them."""
# A nested value that is longer stands on several lines.
_LONG = 60
# A break at white space is looked for in the last fifth of a chunk.
_SOFT_BREAK_SHARE = 5


# Texts of which it is remembered how they are shown: names, titles and labels stand on one card after the other.
_KEPT = 1024


def _token(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


class _Atoms(dict[str, str]):
    """What each character is shown as, remembered."""

    def __missing__(self, char: str) -> str:
        hidden = char == "⟨" or char in _BLANKS or unicodedata.category(char) in _HIDDEN_CATEGORIES
        self[char] = _token(char) if hidden and char not in " \n" else _ENTITIES.get(char, char)
        return self[char]


_ATOMS = _Atoms()


def _atoms(text: str, *patterns: re.Pattern[str]) -> list[str]:
    if _HARMLESS.fullmatch(text) and not any(pattern.search(text) for pattern in patterns):
        return list(text)
    tokens = {match.start() for pattern in (_PADDING, *patterns) for match in pattern.finditer(text)}
    tokens.update(_stacked(text))
    return [_token(char) if at in tokens else _ATOMS[char] for at, char in enumerate(text)]


def _stacked(text: str) -> Iterator[int]:
    """Yield where a mark stands on a letter that has enough of them."""
    if text.isascii():
        return
    row = 0
    for at, char in enumerate(text):
        row = row + 1 if unicodedata.category(char) in _COMBINING else 0
        if row > _STACKED:
            yield at


def plain(text: str) -> Shown:
    """Return data for a plain_text object."""
    return Shown("".join(_atoms(text)))


def mrkdwn(text: str) -> Shown:
    """Return data for a mrkdwn context: also bold, code, emoji codes, quotations and bare links lose their meaning."""
    return Shown("".join(_atoms(text, _MARKUP)))


def legible(text: str) -> Shown:
    """Return data for a notification or a message: what mrkdwn would read as markup is a character that looks like it.

    It is for reading: what people decide by, or copy, stands in `plain` or `mrkdwn`.
    """
    marks = {match.start() for match in _MARKUP.finditer(text)}
    atoms = enumerate(_atoms(text))
    return Shown("".join(_LOOK_ALIKES[text[at]] if at in marks else atom for at, atom in atoms))


def short_legible(text: str, limit: int) -> Shown:
    """Return the first `limit` characters of data for a notification; a cut is always said."""
    head, hidden = clip(text, limit, 1)
    return Shown(f"{legible(head)}… {hidden:,} more characters" if hidden else legible(head))


def units(text: str) -> int:
    """Return the length in UTF-16 code units, the largest of the ways in which a limit may be counted."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@functools.cache
def _cost(atom: str) -> int:
    return units(atom)


def _sums(atoms: list[str]) -> list[int]:
    """Return how long the text is up to each character."""
    return [0, *itertools.accumulate(map(_cost, atoms))]


def _fit(text: str, sums: list[int], start: int, limit: int) -> int:
    """Return where the part that begins at `start` must end, never before a mark that belongs to its neighbour."""
    hard = end = bisect.bisect_right(sums, sums[start] + limit) - 1
    while start < end < len(text) and unicodedata.category(text[end]) in _COMBINING:
        end -= 1
    return end if end > start else hard


def chunks(text: str, limit: int) -> list[Shown]:
    """Split data into parts of at most `limit` units, at white space where it can; joined they are `plain(text)`."""
    atoms, parts, start = _atoms(text), [], 0
    sums = _sums(atoms)
    while start < len(atoms):
        end = _fit(text, sums, start, limit)
        if end < len(atoms):
            soft = max(text.rfind("\n", start, end), text.rfind(" ", start, end)) + 1
            end = soft if soft > end - limit // _SOFT_BREAK_SHARE and soft > start else end
        parts.append(Shown("".join(atoms[start:end])))
        start = end
    return parts


def clip(text: str, limit: int, lines: int) -> tuple[str, int]:
    """Return the head of data that is shown in at most `limit` units and `lines` lines, and how much is left out."""
    window = text[: limit + 1]
    end = _fit(window, _sums(_atoms(window)), 0, limit)
    line_ends = [match.start() for match in re.finditer("\n", window)]
    if len(line_ends) >= lines:
        end = min(end, line_ends[lines - 1])
    return text[:end], len(text) - end


def more(hidden: int) -> str:
    """Return the words that say how much of a value is left out."""
    return f"… {hidden:,} more character{'s' if hidden > 1 else ''} — Show all"


def short(text: str, limit: int, lines: int = 3) -> Shown:
    """Return data cut to `limit` units; a cut is always said."""
    head, hidden = clip(text, limit, lines)
    gap = "\n" if lines > 1 else " "
    return Shown(f"{plain(head)}{gap}{more(hidden)}" if hidden else plain(head))


def inline(text: str, limit: int) -> Shown:
    """Return data for a place in a line of ours, cut to `limit` units: one line, without what parts our own words."""
    return _inline(text, limit, _SEPARATORS)


def inline_mrkdwn(text: str, limit: int) -> Shown:
    """Return data for a place in a line of ours in a mrkdwn context."""
    return _inline(text, limit, _SEPARATORS, _MARKUP)


@functools.lru_cache(_KEPT)
def _inline(text: str, limit: int, *patterns: re.Pattern[str]) -> Shown:
    line = one_line(text) or render(text)
    window = line[: limit + 1]
    atoms = _atoms(window, *patterns)
    end = _fit(window, _sums(atoms), 0, limit)
    hidden = len(line) - end
    return Shown(f"{''.join(atoms[:end])}{f'… {hidden:,} more' if hidden else ''}")


def short_mrkdwn(text: str, limit: int) -> Shown:
    """Return the first `limit` characters of data for a mrkdwn context; a cut is always said."""
    head, hidden = clip(text, limit, 1)
    return Shown(f"{mrkdwn(head)}… {hidden:,} more characters" if hidden else mrkdwn(head))


def render(value: Any) -> str:
    """Return a JSON value as text that stands for no other value: a string as it is, unless it could be mistaken."""
    if isinstance(value, str) and value and value == value.strip() and not _is_json(value):
        return value
    compact = json.dumps(value, ensure_ascii=False)
    long = isinstance(value, dict | list) and len(compact) > _LONG
    return json.dumps(value, ensure_ascii=False, indent=2) if long else compact


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def one_line(text: str) -> str:
    """Return a name or title on one line, with single spaces."""
    return " ".join(text.split())


def visible_length(text: str) -> int:
    """Count the characters that a reader can see."""
    return sum(1 for _ in _seen(text))


def _seen(text: str) -> Iterator[str]:
    return (char for char in text if not char.isspace() and not _ATOMS[char].startswith("⟨U+"))
