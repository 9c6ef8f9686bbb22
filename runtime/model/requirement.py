"""Requirements of policy: who has to sign, how many, until when, and when the allowed effect may begin.

It may begin not before a moment, between times of the week, and within a time of its approval.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import isodate

from runtime.model.delivery import Quiet
from runtime.model.stored import Stored


@dataclass(frozen=True)
class ExecuteWhen:
    """What policy says, parsed.

    `between` are times of the week by the clock of `zone`, both none where it may begin at any time. `lasts` counts
    from the approval or, for what needs none, from when it was proposed.
    """

    not_before: datetime | None
    between: tuple[Quiet, ...]
    zone: ZoneInfo | None
    lasts: timedelta

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "ExecuteWhen":
        """Read what policy's contract lets through."""
        return cls(
            not_before=datetime.fromisoformat(document["not_before"]) if "not_before" in document else None,
            between=tuple(Quiet.of(window) for window in document.get("between", ())),
            zone=ZoneInfo(document["time_zone"]) if "time_zone" in document else None,
            lasts=isodate.parse_duration(document["within"]),
        )


@dataclass(frozen=True)
class NextInLine:
    """Groups that are asked, too, once `after` (ISO 8601) has passed."""

    after: str
    to: tuple[str, ...]

    @property
    def waits(self) -> timedelta:
        """Return how long they are not asked."""
        duration: timedelta = isodate.parse_duration(self.after)
        return duration


@dataclass(frozen=True)
class BreakGlass:
    """Who may do without the others, how often each `within` a time; who hears of it, who reviews it and within what.

    Durations are ISO 8601.
    """

    groups: tuple[str, ...]
    at_most: int
    within: str
    tell: tuple[str, ...]
    review_by: tuple[str, ...]
    review_within: str

    @property
    def lasts(self) -> timedelta:
        """Return the time within which it is counted."""
        duration: timedelta = isodate.parse_duration(self.within)
        return duration

    @property
    def review_lasts(self) -> timedelta:
        """Return the time within which it is to be reviewed."""
        duration: timedelta = isodate.parse_duration(self.review_within)
        return duration


@dataclass(frozen=True)
class SignerClass:
    """Of these groups so many distinct people must approve; with `all_groups`, a person of its own for each group."""

    groups: tuple[str, ...]
    quorum: int
    all_groups: bool

    @property
    def words(self) -> str:
        """Return how many are needed, of which groups."""
        if not self.all_groups or len(self.groups) == 1:
            return f"{self.quorum} of {' or '.join(self.groups)}"
        each = f"1 of each of {' and '.join(self.groups)}"
        return each if self.quorum <= len(self.groups) else f"{self.quorum} people, {each}"


@dataclass(frozen=True)
class Requirement(Stored):
    """What an authorization must fulfil; `groups` are any-of, or all-of with `all_groups`.

    Each of the `classes` must be fulfilled, too; one person may count in several.
    """

    leaves_out_defaults = True

    quorum: int
    groups: tuple[str, ...]
    all_groups: bool
    exclude: tuple[str, ...]
    reason_required: bool
    escalate_to: tuple[NextInLine, ...]  # in the order of their time
    expires_in: str  # ISO 8601 duration
    break_glass: BreakGlass | None = None
    sign_with: str = ""  # with what a vote to approve has to be signed, "" where a click will do
    pause_on_question: str = ""  # how long the clock stands still at most, in all (ISO 8601); "" where it goes on
    editors_may_sign: bool = False  # who edited what is asked for; policy says so, or excludes them
    execute: Mapping[str, Any] | None = None  # when it is carried out once it is approved, as policy says it
    classes: tuple[SignerClass, ...] = ()
    veto: tuple[str, ...] = ()  # groups of which alone a no ends the request; none where any no does

    @classmethod
    def of_one(cls, groups: Sequence[str], lasts: timedelta, *, reason_required: bool = False) -> "Requirement":
        """Return the requirement of one person out of the groups."""
        return cls(1, tuple(groups), False, (), reason_required, (), isodate.duration_isoformat(lasts))  # noqa: FBT003

    @property
    def told_apart(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups as they are told: each for itself where each must sign, else all as one."""
        return tuple((group,) for group in dict.fromkeys(self.groups)) if self.all_groups else (self.groups,)

    def is_ended_by(self, groups: Iterable[str]) -> bool:
        """Return whether a no that carries these groups ends the request; another one is on record, and no more."""
        return not self.veto or not set(self.veto).isdisjoint(groups)

    @property
    def when(self) -> ExecuteWhen | None:
        """Return when it is carried out once it is approved, None where at once."""
        return ExecuteWhen.of(self.execute) if self.execute else None

    @property
    def leads(self) -> tuple[str, ...]:
        """Return the groups that may decide once time has run short, each once."""
        return tuple(dict.fromkeys(group for entry in self.escalate_to for group in entry.to))

    @property
    def pauses(self) -> timedelta:
        """Return how long the clock may stand still in all while questions to whoever asked are open."""
        duration: timedelta = isodate.parse_duration(self.pause_on_question or "PT0S")
        return duration

    @property
    def lasts(self) -> timedelta:
        """Return how long people have."""
        duration: timedelta = isodate.parse_duration(self.expires_in)
        return duration

    def electorate(self, joined: Sequence[str]) -> tuple[str, ...]:
        """Return the groups whose members may vote; of those next in line, the ones that have `joined` by now."""
        return (*self.groups, *joined)
