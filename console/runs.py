"""Runs in the console: a list whose filters stand in the address, and one run in full."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from fastapi import Query

from runtime.model.search import EvidenceState, Sought

PAGE = 50
After = Annotated[int, Query(ge=0, le=2**31 - 1_000)]
"""The record of a run's chain behind which a page begins."""
_VALUE = re.compile(r"[^\x00-\x1f\x7f]{0,200}")


class FilterError(Exception):
    """A filter in the address cannot be read; the message says which, and why."""


@dataclass(frozen=True)
class RunFilters:
    """What a list of runs is narrowed to, as the address has it; "" leaves it wide. Days are whole, in UTC."""

    text: str = ""  # in the business reference, or in a value of the trigger
    person: str = ""  # id or name of who asked, or voted
    runbook: str = ""
    outcome: str = ""  # word with which it ended, its status where it has none
    evidence: str = ""  # state of the bundle
    since: str = ""  # a day
    until: str = ""  # a day, included
    after: str = ""  # the run behind which the list goes on

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "RunFilters":
        """Read an address's query; raise FilterError."""
        for name, value in query.items():
            if name not in cls.__dataclass_fields__:
                raise FilterError(f"{name}: there is no such filter")
            if not _VALUE.fullmatch(value):
                raise FilterError(f"{name}: at most 200 characters, none of which is a control character")
        return cls(**{name: value.strip() for name, value in query.items()})

    def sought(self) -> Sought:
        """Return what is to be found, and one run more than a page shows; raise FilterError."""
        if self.evidence and self.evidence not in set(EvidenceState):
            raise FilterError(f"evidence: none of {', '.join(EvidenceState)}")
        return Sought(
            customer=self.text or None,
            person=self.person or None,
            definition=self.runbook or None,
            outcome=self.outcome or None,
            states=[EvidenceState(self.evidence)] if self.evidence else (),
            since=day_of("since", self.since),
            until=day_of("until", self.until, timedelta(days=1)),
            after=self.after or None,
            limit=PAGE + 1,
        )

    @property
    def said(self) -> dict[str, str]:
        """Return the filters that are set, without the place in the list."""
        return {name: value for name, value in vars(self).items() if value and name != "after"}

    def behind(self, run_id: str) -> dict[str, Any]:
        """Return the query of the list that goes on behind a run."""
        return {**vars(self), "after": run_id}


def day_of(name: str, text: str, more: timedelta = timedelta(0)) -> datetime | None:
    """Return the first moment of a day, or that and more; None for "". Raise FilterError."""
    if not text:
        return None
    try:
        return datetime.combine(date.fromisoformat(text), time(), UTC) + more
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{name}: {text!r} is no day such as 2026-03-31") from error
