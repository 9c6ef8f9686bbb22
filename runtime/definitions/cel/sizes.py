"""How large the values of an expression are at most: known ones are measured, computed ones are bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Json = Any

BYTES_PER_STEP = 256
"""Bytes of text that are copied in about the time of one value."""


@dataclass(frozen=True)
class Size:
    """Values, keys among them, and bytes of their text, all told."""

    nodes: int = 1
    bytes: int = 0

    @property
    def steps(self) -> int:
        """Return what one copy costs."""
        return self.nodes + self.bytes // BYTES_PER_STEP

    @property
    def memory(self) -> int:
        """Return about how many bytes one copy holds."""
        return 64 * self.nodes + self.bytes

    def __add__(self, other: "Size") -> "Size":
        """Return the size of both together."""
        return Size(self.nodes + other.nodes, self.bytes + other.bytes)

    def times(self, count: int) -> "Size":
        """Return the size of a list of so many."""
        return Size(1 + self.nodes * count, self.bytes * count)

    def or_larger(self, other: "Size") -> "Size":
        """Return a size that both keep within."""
        return Size(max(self.nodes, other.nodes), max(self.bytes, other.bytes))


def size_of(value: Json) -> Size:
    """Measure a JSON value, at any depth."""
    nodes, length, left = 0, 0, [value]
    while left:
        one = left.pop()
        nodes += 1
        if isinstance(one, str):
            length += utf8_length(one)
        elif isinstance(one, Mapping):
            nodes += len(one)
            length += sum(map(utf8_length, one))
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return Size(nodes, length)


def utf8_length(text: str) -> int:
    """Return how many bytes a text has at most, without looking at each character."""
    return len(text) if text.isascii() else 4 * len(text)


class Known:
    """One of these values."""

    def __init__(self, values: Sequence[Json]) -> None:
        self.values = values

    @cached_property
    def size(self) -> Size:
        """Return the size that none exceeds."""
        sizes = [size_of(value) for value in self.values] or [Size()]
        return Size(max(size.nodes for size in sizes), max(size.bytes for size in sizes))

    @property
    def count(self) -> int:
        """Return how many members none exceeds."""
        return max((len(value) for value in self.values if isinstance(value, list | Mapping)), default=0)

    @cached_property
    def item(self) -> "Known":
        """Return what a loop binds: the items of lists, the keys of objects."""
        return Known([one for value in self.values if isinstance(value, list | Mapping) for one in value])

    def member(self, at: Json) -> "Known":
        """Return the member of that name or place, or any where `at` is None."""
        if isinstance(at, str):
            return Known([value[at] for value in self.values if isinstance(value, Mapping) and at in value])
        if isinstance(at, int):
            return Known([value[at] for value in self.values if isinstance(value, list) and at < len(value)])
        members = (value.values() if isinstance(value, Mapping) else value for value in self.values if _holds(value))
        return Known([member for each in members for member in each])


class Bounded:
    """A value that is computed: not larger than `size`, with no more than `count` members, each within `item`."""

    def __init__(self, size: Size, count: int | None = None, item: "Shape | None" = None) -> None:
        self.size = size
        self.count = size.nodes if count is None else count
        self._item = item

    @property
    def item(self) -> "Shape":
        """Return what a loop binds."""
        return self if self._item is None else self._item

    def member(self, at: Json) -> "Shape":
        """Return any member."""
        return Bounded(self.size) if isinstance(at, str) or self._item is None else self._item


Shape = Known | Bounded


def either(left: Shape, right: Shape) -> Shape:
    """Return a shape that fits what fits one of both."""
    if isinstance(left, Known) and isinstance(right, Known):
        return Known([*left.values, *right.values])
    size, count = left.size.or_larger(right.size), max(left.count, right.count)
    return Bounded(size, count, either(left.item, right.item) if left.count and right.count else None)


def _holds(value: Json) -> bool:
    return isinstance(value, list | Mapping)
