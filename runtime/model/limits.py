"""Limits on what comes in from outside: JSON that can be put on record, text that the database can hold, and rates.

A rate limit is a bucket of tokens for each caller, which fills steadily. Pure: the time is handed in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from receipts.canonical import CanonicalError, dumps

ERROR_LIMIT = 2000
DEPTH = 60
"""Levels of JSON from outside; what wraps it, and canonical JSON's own limit of a hundred, leave room."""


def json_fault(value: Any, depth: int = DEPTH, most: int | None = None) -> str | None:
    """Return why an object from outside cannot be put on record, or None; `most` bytes of JSON, where that is given."""
    if not isinstance(value, dict):
        return f"not an object but {type(value).__name__}"
    try:
        data = dumps(value)
    except CanonicalError as error:
        return str(error)
    if most is not None and len(data) > most:
        return f"{len(data)} bytes as JSON, and at most {most} are kept"
    if b"\\u0000" not in data and data.count(b"[") + data.count(b"{") < depth:
        return None  # as almost always: the rest says what is wrong, if anything is
    for text, level in _texts(value, 1):
        if level > depth:
            return f"nested deeper than {depth} levels"
        if "\x00" in text:
            return "it holds a NUL character"
    return None


def _texts(value: Any, level: int) -> Iterator[tuple[str, int]]:
    """Yield every text, names too, with its level; containers count even if they hold none."""
    if isinstance(value, str):
        yield value, level
    elif isinstance(value, dict | list | tuple):
        yield "", level
        if isinstance(value, dict):
            for name in value:
                yield name, level
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, level + 1)


def error_text(text: str) -> str:
    """Return an error's text as it can be kept: without NUL, and not longer than a person would read."""
    kept = text.replace("\x00", "\\0").encode("utf-8", "replace").decode()
    return kept if len(kept) <= ERROR_LIMIT else f"{kept[:ERROR_LIMIT]} … {len(kept) - ERROR_LIMIT} more characters"


def first_line(error: BaseException) -> str:
    """Return what an error says, without the data that it may quote after its first line."""
    return str(error).strip().partition("\n")[0]


MAX_INTEGER = 2**53 - 1


_MOST_BUCKETS = 10_000
"""Buckets from which on full ones are looked for."""


@dataclass(frozen=True)
class Rate:
    """Requests per second on end, and how many may come at once after a pause."""

    per_second: float
    burst: int


class TokenBuckets:
    """The buckets of one process. A caller that was never heard of has a full one, and full ones are forgotten."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._levels: dict[str, tuple[float, float]] = {}

    @property
    def known(self) -> int:
        """Return how many callers are remembered."""
        return len(self._levels)

    def take(self, caller: str, now: float, count: int = 1) -> float:
        """Take tokens at `now`, in seconds of any steady clock; return 0, or in how many seconds they can be had.

        More than a bucket holds are taken once it is full, and what is missing has to fill before the next are.
        """
        level, at = self._levels.get(caller, (float(self._rate.burst), now))
        if len(self._levels) >= _MOST_BUCKETS:
            self._forget(now)
        level = min(level + (now - at) * self._rate.per_second, float(self._rate.burst))
        missing = min(count, self._rate.burst) - level
        self._levels[caller] = (level if missing > 0 else level - count, now)
        return max(missing, 0.0) / self._rate.per_second

    def _forget(self, now: float) -> None:
        """Drop the buckets that are full by now."""
        rate = self._rate
        self._levels = {
            caller: one
            for caller, one in self._levels.items()
            if one[0] + (now - one[1]) * rate.per_second < rate.burst
        }
