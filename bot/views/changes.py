"""What changes between two JSON values, down to the nested fields. Values in, values out."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Final

from bot.views.values import Path

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
