"""A JSON value as labelled rows and tables; nothing of it is lost but the order of an object's members."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bot.views.blocks import Block, bold, plain_text
from bot.views.text import Shown, inline, short

Path = tuple[str | int, ...]
LABEL = 80

_CALLED_BY = frozenset({"name", "title", "label"})
_MACHINE = re.compile(r"[0-9a-fA-F]{32,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAMED = {"null": "none", "true": "yes", "false": "no", '""': "empty", "[]": "no entries", "{}": "nothing"}


class _Missing:
    """Stands in a table where an object does not have the member."""


MISSING: Final = _Missing()
NO_MEMBER = "—"


@dataclass(frozen=True)
class Row:
    """A value that is no object under the path that leads to it; a list holds no lists and no objects."""

    path: Path
    value: Any

    @property
    def count(self) -> int:
        """Return how many values this is."""
        return 1


@dataclass(frozen=True)
class Grid:
    """A list of flat objects: one line each, under the names of all their members; MISSING where one has none."""

    path: Path
    columns: tuple[str, ...]
    lines: tuple[tuple[Any, ...], ...]

    @property
    def count(self) -> int:
        """Return how many lines this has."""
        return len(self.lines)


Piece = Row | Grid


def laid_out(value: Any, path: Path = ()) -> Iterator[Piece]:
    """Yield the rows and tables that show a value, in its order."""
    if isinstance(value, dict) and value:
        for name, member in value.items():
            yield from laid_out(member, (*path, name))
    elif not isinstance(value, list) or all(map(is_flat, value)):
        yield Row(path, value)
    elif columns := _columns(value):
        yield Grid(path, columns, tuple(tuple(item.get(name, MISSING) for name in columns) for item in value))
    else:
        for number, item in enumerate(value, 1):
            yield from laid_out(item, (*path, number))


def is_flat(value: Any) -> bool:
    """Tell whether a value stands in one cell."""
    return not isinstance(value, dict | list)


def _columns(items: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of all members of flat objects, what they are called by first; of anything else, none."""
    if not all(isinstance(item, dict) and item and all(map(is_flat, item.values())) for item in items):
        return ()
    names = dict.fromkeys(name for item in items for name in item)
    return tuple(sorted(names, key=lambda name: name not in _CALLED_BY))


def is_for_machines(value: Any) -> bool:
    """Tell whether a value is an id or a digest, which people compare, and do not read."""
    return isinstance(value, str) and _MACHINE.fullmatch(value) is not None


def has_id(value: Any) -> bool:
    """Tell whether there is an id or a digest in a value."""
    return isinstance(value, str) and _MACHINE.search(value) is not None


def label(path: Path, limit: int = LABEL) -> Shown:
    """Return a path in words."""
    return Shown(" · ".join(inline(part, limit) for part in words(path)) or "—")


def words(path: Path) -> list[str]:
    """Return the parts of a path as people write them, the first with a capital."""
    parts = [str(part).replace("_", " ") for part in path]
    return [parts[0][:1].upper() + parts[0][1:], *parts[1:]] if parts else []


def text_of(value: Any) -> str | None:
    """Return a text as it is, in quotation marks where it might not be seen as it is; None for what is no text."""
    if not isinstance(value, str) or not value:
        return None
    is_plain = value == value.strip() and not value.startswith('"') and value != NO_MEMBER
    return value if is_plain else json.dumps(value, ensure_ascii=False)


def word_of(value: Any) -> str:
    """Return the fixed words, or the number, for a value that is no text."""
    found = json.dumps(value)
    return found if isinstance(value, int | float) and not isinstance(value, bool) else _NAMED[found]


def cell(value: Any, chars: int, lines: int) -> Block:
    """Return a value alone: a text in plain type, anything else in bold, so that neither can pass for the other."""
    if value is MISSING:
        return bold(NO_MEMBER)
    if isinstance(value, list) and value:
        return plain_text(line_of(value, chars))
    text = text_of(value)
    return bold(word_of(value)) if text is None else plain_text(short(text, chars, lines))


def line_of(values: Sequence[Any], chars: int) -> Shown:
    """Return values in one line; what is left out is counted."""
    shown, used = list[Shown](), 0
    for value in values:
        part = in_line(value, chars)
        if shown and used + len(part) > chars:
            break
        shown.append(part)
        used += len(part) + 3
    rest = len(values) - len(shown)
    return Shown(f"{' · '.join(shown)}{f' · … {rest:,} more — Show all' if rest else ''}")


def in_line(value: Any, chars: int) -> Shown:
    """Return a value as a part of a line."""
    if value is MISSING:
        return Shown(NO_MEMBER)
    text = text_of(value)
    return inline(word_of(value) if text is None else text, chars)
