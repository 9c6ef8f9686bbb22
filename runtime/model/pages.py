"""A page of a list that is read by its keys: what is narrowed, and where the page begins."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

Entry = TypeVar("Entry")

COUNTED = 500
"""Requests are counted as far as that; one more says that there are more."""


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """What a list is narrowed to; "", and None, leave it wide."""

    runbook: str = ""  # its name
    tier: str = ""
    group: str = ""  # one of those that are asked
    text: str = ""  # in reference, target, what is done or its runbook's name; in any case of letters
    is_due_soon: bool = False  # less than a quarter of its time is left
    ids: Sequence[str] | None = None  # these requests alone


@dataclass(frozen=True)
class Edge:
    """Where a page begins: behind the entry of these keys, or where it goes `back` it ends before it."""

    at: datetime
    id: str
    back: bool


@dataclass(frozen=True)
class Page(Generic[Entry]):
    """A page in its order. `first` and `last` are the keys of its entries, None on a page without any."""

    entries: Sequence[Entry]
    has_before: bool
    has_after: bool
    first: Edge | None = None
    last: Edge | None = None


def cut(rows: Sequence[dict[str, Any]], edge: Edge | None, limit: int) -> Page[dict[str, Any]]:
    """Return the page of rows that were read from an edge, one more than the limit to know of more.

    Each row has its keys as `key_at` and `key_id`.
    """
    goes_back = edge is not None and edge.back
    has_more = len(rows) > limit
    kept = list(reversed(rows[:limit])) if goes_back else list(rows[:limit])
    first = Edge(kept[0]["key_at"], kept[0]["key_id"], back=True) if kept else None
    last = Edge(kept[-1]["key_at"], kept[-1]["key_id"], back=False) if kept else None
    before, after = (has_more, True) if goes_back else (edge is not None, has_more)
    return Page(kept, before, after, first, last)
