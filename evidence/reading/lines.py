"""The lines of the audit log, each read when it is looked at: all of them together are many times their bytes."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

Line = dict[str, Any]


class ToldLine(NamedTuple):
    """The place of a line, the event of which it tells, and the approval about which it does; "" for none."""

    place: slice
    event: str
    approval_id: str


_FEW = 16
"""Lines that may be held together: each has 64 KiB at most, which may be a megabyte as values."""


class Lines:
    """The lines that are objects, in their order; whether they are leaves is for verification to say."""

    def __init__(self, data: bytes, told: Iterable[ToldLine] | None = None) -> None:
        self._data = data
        self._starts, self._ends = array("Q"), array("Q")
        self._events: list[str] = []
        self._about: dict[str, list[int]] = {}
        shared: dict[str, str] = {}
        for place, event, about in told_lines(data) if told is None else told:
            self._starts.append(place.start)
            self._ends.append(place.stop)
            if about:
                self._about.setdefault(about, []).append(len(self._events))
            self._events.append(shared.setdefault(event, event))

    def __iter__(self) -> Iterator[Line]:
        """Give all lines."""
        return map(self.read, range(len(self._events)))

    def read(self, number: int) -> Line:
        """Return a line by its number, from 0."""
        found: Line = orjson.loads(memoryview(self._data)[self._starts[number] : self._ends[number]])
        return found

    def of(self, *events: str) -> "Some":
        """Return the lines that tell of one of these events."""
        return Some(self, array("Q", [number for number, event in enumerate(self._events) if event in events]))

    def about(self, approval_id: str) -> Iterable[Line]:
        """Return the lines about an approval, as their data says, or else their correlation; a few are read at once."""
        found = Some(self, self._about.get(approval_id, ()))
        return list(found) if len(found.numbers) <= _FEW else found


@dataclass(frozen=True)
class Some:
    """Some of the lines."""

    lines: Lines
    numbers: Sequence[int]

    def __iter__(self) -> Iterator[Line]:
        """Give each, as often as somebody asks."""
        return map(self.lines.read, self.numbers)

    def __reversed__(self) -> Iterator[Line]:
        """Give each, the last one first."""
        return map(self.lines.read, reversed(self.numbers))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.numbers)


def told_lines(data: bytes) -> Iterator[ToldLine]:
    """Give the lines that are objects."""
    for line in lines_in(data):
        value = any_value(data[line])
        if isinstance(value, dict):
            about = approval_in(value.get("data")) or approval_in(value.get("correlation"))
            yield ToldLine(line, str(value.get("event")), about)


def approval_in(value: Any) -> str:
    """Return the id of the approval that an object names; "" where it names none."""
    found = value.get("approval_id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def lines_in(data: bytes) -> Iterator[slice]:
    """Give the place of each line, without its end."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield slice(start, end)
        start = end + 1


def any_value(data: bytes) -> Any:
    """Return JSON as a value; None where it is none. Whether it is canonical is for verification to say."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
