"""The lines of the audit log, each read when it is looked at: all of them together are many times their bytes."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

Line = dict[str, Any]

_FEW = 16
"""Lines that may be held together: each has 64 KiB at most, which may be a megabyte as values."""


class Lines:
    """The lines that are objects, in their order; whether they are leaves is for verification to say."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._starts, self._ends = array("Q"), array("Q")
        self._events: list[str] = []
        self._about: dict[str, list[int]] = {}
        shared: dict[str, str] = {}
        for line in lines_in(data):
            value = any_value(data[line])
            if isinstance(value, dict):
                self._starts.append(line.start)
                self._ends.append(line.stop)
                event = str(value.get("event"))
                if about := _approval(value.get("data")) or _approval(value.get("correlation")):
                    self._about.setdefault(about, []).append(len(self._events))
                self._events.append(shared.setdefault(event, event))

    def __iter__(self) -> Iterator[Line]:
        """Give all lines."""
        return map(self.read, range(len(self._events)))

    def read(self, number: int) -> Line:
        """Return a line by its number, from 0."""
        found: Line = orjson.loads(memoryview(self._data)[self._starts[number] : self._ends[number]])
        return found

    def of(self, *events: str) -> list[Line]:
        """Return the lines that tell of one of these events."""
        return [self.read(number) for number, event in enumerate(self._events) if event in events]

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


def _approval(value: Any) -> str:
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
