"""Values: a JSON value as labelled rows and tables, and the changes between two values, down to nested fields.

Nothing of a value is lost but the order of an object's members. The diff takes values and returns values.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
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


_MOST_PAIRS = 250_000
"""Items of two lists that are compared each with each; of longer lists, each with the one at its place."""


class _Absent:
    """Stands where there is no value."""


ABSENT: Final = _Absent()


@dataclass(frozen=True)
class Change:
    """A value that becomes another; ABSENT where it is new, or goes."""

    path: Path
    before: Any
    after: Any


@dataclass(frozen=True)
class Diff:
    """What changes, in its order, and how many values stay as they are."""

    changes: tuple[Change, ...]
    same: int


def diff(before: Any, after: Any, path: Path = ()) -> Diff:
    """Return what changes from one value to another."""
    found = list(_compared(before, after, path))
    changes = tuple(one for one in found if isinstance(one, Change))
    return Diff(changes, sum(one for one in found if isinstance(one, int)))


def _compared(before: Any, after: Any, path: Path) -> Iterator[Change | int]:
    """Yield the changes, and the numbers of values between them that stay."""
    if _key(before) == _key(after):
        yield _leaves(after)
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in dict.fromkeys([*after, *before]):
            yield from _compared(before.get(name, ABSENT), after.get(name, ABSENT), (*path, name))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compared_lists(before, after, path)
    elif _is_nested(before) or _is_nested(after):
        yield from _replaced(before, after, path)
    else:
        yield Change(path, before, after)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _replaced(before: Any, after: Any, path: Path) -> Iterator[Change | int]:
    """Yield everything that goes, and everything that comes in its place."""
    if _is_nested(before):
        yield from _compared(before, type(before)(), path)
    elif before is not ABSENT:
        yield Change(path, before, ABSENT)
    if _is_nested(after):
        yield from _compared(type(after)(), after, path)
    elif after is not ABSENT:
        yield Change(path, ABSENT, after)


def _compared_lists(before: list[Any], after: list[Any], path: Path) -> Iterator[Change | int]:
    for old_from, old_to, new_from, new_to in _stretches(before, after):
        for step in range(max(old_to - old_from, new_to - new_from)):
            old, new = old_from + step, new_from + step
            gone = before[old] if old < old_to else ABSENT
            come = after[new] if new < new_to else ABSENT
            yield from _compared(gone, come, (*path, (new if come is not ABSENT else old) + 1))


def _stretches(before: list[Any], after: list[Any]) -> Iterator[tuple[int, int, int, int]]:
    """Yield from where to where one list corresponds to which part of the other."""
    if len(before) * len(after) > _MOST_PAIRS:
        yield 0, len(before), 0, len(after)
        return
    matcher = SequenceMatcher(None, [*map(_key, before)], [*map(_key, after)], autojunk=False)
    yield from (stretch for _, *stretch in matcher.get_opcodes())  # type: ignore[misc]


def _key(value: Any) -> str:
    """Return a text that is equal for equal JSON values; True is not 1."""
    return "" if value is ABSENT else json.dumps(value, sort_keys=True)


def _leaves(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_leaves, members)) if members else 1
