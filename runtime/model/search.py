"""Search: runs as auditors look for them, and pages of lists that are read by their keys.

Runs are found by customer, person, period and the state of their evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar


class UnknownError(Exception):
    """What somebody names is not there; the message says what."""


class UnknownRowError(UnknownError, LookupError):
    """The row behind which a list is to go on is not there."""


class EvidenceState(StrEnum):
    """How it stands with a run's evidence."""

    OPEN = "open"  # the run has not ended
    UNSEALED = "unsealed"  # it has, and its bundle is not begun
    SEALING = "sealing"  # its bundle is begun, and the archive does not have it
    STUCK = "stuck"  # nor will it, until somebody has acted
    SEALED = "sealed"


@dataclass(frozen=True, kw_only=True)
class RunFilter:
    """Filters a list by its runs; None filters nothing. The moments are those of the rows that are listed."""

    reference: str | None = None  # by which people call the run: the whole of it
    requester: str | None = None  # id or printed name of who asked
    trigger: str | None = None  # type of the trigger that started it
    definition: str | None = None  # name of the runbook
    since: datetime | None = None  # it began then or later
    until: datetime | None = None  # before that


@dataclass(frozen=True, kw_only=True)
class Sought(RunFilter):
    """What runs are narrowed to; None and () leave them wide."""

    customer: str | None = None  # text in the business reference, or in a value of the trigger; in any case of letters
    reference_only: bool = False  # not in the trigger's values
    by_definition: bool = False  # that text may stand in the runbook's name as well
    run_id: str | None = None  # this run alone
    run_ids: list[str] | None = None  # these runs
    requested_by: str | None = None  # id of who asked
    started_by_runs: bool = True  # also runs that another run started
    seen_by: str | None = None  # id of the person who looks: what they asked for, or what their groups may decide
    person: str | None = None  # id or printed name of who asked, or voted
    outcome: str | None = None  # word with which it ended, its status where it has none
    states: Sequence[EvidenceState] = ()
    trigger_types: Sequence[str] | None = None
    after: str | None = None  # the run behind which the list goes on
    limit: int | None = None


@dataclass(frozen=True)
class FoundRun:
    """A run with what is known of its evidence; `leaves` of its chain are there, the first of them in the log's place.

    `reference` is the business reference that the run gave itself, or else the trigger's; `outcome` the word with which
    it ended, "" for none.

    `requester_name` is the requester's name as the directory has it now, else the id.

    `waits_for` (step and status of effects), `tries`, `next_try_at` and `error` say why there is no bundle yet, which
    has been so for `open_for`, None where the run has not ended.
    """

    run_id: str
    trigger_ref: str
    reference: str
    trigger_type: str
    definition: str
    definition_version: int
    definition_digest: str
    status: str
    outcome: str
    requested_by: str
    requester_name: str
    created_at: datetime
    finished_at: datetime | None
    state: EvidenceState
    sha256: str | None
    size: int | None
    location: str | None
    stored_at: datetime | None
    leaves: int
    log_index: int | None
    open_for: timedelta | None
    tries: int
    next_try_at: datetime | None
    error: str
    waits_for: Sequence[str]

    @property
    def ending(self) -> str:
        """Return what people are told that it came to, or how it stands."""
        return self.outcome or self.status

    @classmethod
    def of(cls, row: dict[str, Any]) -> "FoundRun":
        """Read a row."""
        return cls(**{**row, "state": EvidenceState(row["state"])})


Entry = TypeVar("Entry")

COUNTED = 500
"""Requests are counted as far as that; one more says that there are more."""


@dataclass(frozen=True, kw_only=True)
class ListFilter:
    """What a list is narrowed to; "", and None, leave it wide."""

    runbook: str = ""  # its name
    tier: str = ""
    group: str = ""  # one of those that are asked
    text: str = ""  # in reference, target, what is done or its runbook's name; in any case of letters
    is_due_soon: bool = False  # less than a quarter of its time is left
    ids: Sequence[str] | None = None  # these requests alone


@dataclass(frozen=True)
class PageEdge:
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
    first: PageEdge | None = None
    last: PageEdge | None = None


def cut_page(rows: Sequence[dict[str, Any]], edge: PageEdge | None, limit: int) -> Page[dict[str, Any]]:
    """Return the page of rows that were read from an edge, one more than the limit to know of more.

    Each row has its keys as `key_at` and `key_id`.
    """
    goes_back = edge is not None and edge.back
    has_more = len(rows) > limit
    kept = list(reversed(rows[:limit])) if goes_back else list(rows[:limit])
    first = PageEdge(kept[0]["key_at"], kept[0]["key_id"], back=True) if kept else None
    last = PageEdge(kept[-1]["key_at"], kept[-1]["key_id"], back=False) if kept else None
    before, after = (has_more, True) if goes_back else (edge is not None, has_more)
    return Page(kept, before, after, first, last)
