"""The picture of a run's time: to scale, how long each step took and people were waited for, and who did what when."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from console.pages import words
from console.scales import DURATIONS, pace_of
from runtime.model.metrics import duration_words
from runtime.model.states import WaitType
from runtime.services.approval_view import ApprovalView

MOST = 40
"""Steps that have a bar: those that took longest."""
LEFT, WIDTH, ROW, TOP = 210, 1100, 26, 30
_RIGHT = 16
_LEAST = 3.0  # of a bar, so that it can be seen
_LABEL = 28  # characters
_TICKS = 8
_PEOPLE = (WaitType.APPROVAL, WaitType.HUMAN_TASK)
_OTHERS = {
    WaitType.EXTERNAL: "another system",
    WaitType.TIMER: "a moment",
    WaitType.CHILD_RUN: "another run",
    WaitType.SIGNAL: "a signal",
}
_DID = {"success": "was done", "failure": "failed", "refusal": "was refused", "in_doubt": "is in doubt"}


@dataclass(frozen=True)
class Bar:
    """A part of a row: `kind` is `work`, `people` or `others`, for whom it waited."""

    x: float
    width: float
    kind: str
    says: str


@dataclass(frozen=True)
class Moment:
    """Something that happened at a moment: `kind` is `asked`, `yes`, `no`, `act` or `failed`."""

    at: datetime
    step: str
    kind: str
    says: str


@dataclass(frozen=True)
class Row:
    """A step with its bars, and the moments in it by their places."""

    y: float
    step: str
    label: str
    bars: Sequence[Bar]
    marks: Sequence[tuple[float, Moment]]


@dataclass(frozen=True)
class Timeline:
    """What is drawn; `ticks` are (place, words). `moments` are all of them in their order; `more` steps have no bar."""

    height: float
    rows: Sequence[Row]
    ticks: Sequence[tuple[float, str]]
    moments: Sequence[Moment]
    more: int
    waited: timedelta


@dataclass(frozen=True)
class _Scale:
    """From moments to places."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return max((self.end - self.start).total_seconds(), 1.0)

    def x(self, at: datetime) -> float:
        share = (at - self.start).total_seconds() / self.seconds
        return round(LEFT + min(max(share, 0.0), 1.0) * (WIDTH - LEFT - _RIGHT), 1)

    def bar(self, since: datetime, until: datetime | None, kind: str, says: str) -> Bar:
        last = until or self.end
        took = duration_words(max((last - since).total_seconds(), 0.0))
        x = self.x(since)
        return Bar(x, max(round(self.x(last) - x, 1), _LEAST), kind, f"{says} {took}{'' if until else ' so far'}")

    def ticks(self) -> list[tuple[float, str]]:
        pace = pace_of(self.seconds, _TICKS, DURATIONS)
        count = min(int(self.seconds / pace), 2 * _TICKS)
        return [
            (self.x(self.start + timedelta(seconds=pace * number)), _elapsed(pace * number))
            for number in range(count + 1)
        ]


def _elapsed(seconds: float) -> str:
    return duration_words(seconds) if seconds else "0"


def timeline_of(
    run: Mapping[str, Any],
    requests: Sequence[ApprovalView],
    receipts: Sequence[Mapping[str, Any]],
    now: datetime,
) -> Timeline:
    """Return the picture of a run that was read in full, of requests in it, and receipts of its steps' effects."""
    scale = _Scale(run["created_at"], run["finished_at"] or now)
    moments = sorted([*_asked(requests), *_acted(receipts)], key=lambda one: one.at)
    begun = list(_begun(run))
    longest = sorted(begun, key=lambda one: one.at - (one.step["finished_at"] or scale.end))[:MOST]
    rows = [_row(number, one, moments, scale) for number, one in enumerate(sorted(longest, key=lambda one: one.at))]
    return Timeline(
        height=TOP + ROW * len(rows) + 8,
        rows=rows,
        ticks=scale.ticks(),
        moments=moments,
        more=len(begun) - len(rows),
        waited=_waited(run["waits"], scale.end),
    )


@dataclass(frozen=True)
class _Begun:
    """A step that has begun to work or to wait, and its waits, the first one first."""

    at: datetime
    step: Mapping[str, Any]
    waits: Sequence[Mapping[str, Any]]


def _begun(run: Mapping[str, Any]) -> Iterator[_Begun]:
    """Yield the steps that took time; one that only decides or stores something takes none."""
    waits: dict[str, list[Mapping[str, Any]]] = {}
    for wait in sorted(run["waits"], key=lambda one: one["created_at"]):
        waits.setdefault(wait["step"], []).append(wait)
    for step in run["steps"]:
        own = waits.get(step["path"], [])
        times = [wait["created_at"] for wait in own] + ([step["started_at"]] if step["started_at"] else [])
        if times:
            yield _Begun(min(times), step, own)


def _row(number: int, one: _Begun, moments: Sequence[Moment], scale: _Scale) -> Row:
    bars = [scale.bar(first, last, "work", "was at work for") for first, last in _at_work(one)]
    for wait in one.waits:
        kind, whom = ("people", "people") if wait["type"] in _PEOPLE else ("others", _OTHERS[wait["type"]])
        bars.append(scale.bar(wait["created_at"], wait["resolved_at"], kind, f"waited for {whom}"))
    path: str = one.step["path"]
    marks = [(scale.x(moment.at), moment) for moment in moments if moment.step == path]
    label = path if len(path) <= _LABEL else f"…{path[1 - _LABEL :]}"
    return Row(TOP + ROW * number, path, label, bars, marks)


def _at_work(one: _Begun) -> Iterator[tuple[datetime, datetime | None]]:
    """Yield when a step was at work: from its begin to its end, but for its waits; None is still going on."""
    since: datetime | None = one.at
    for wait in one.waits:
        if since is not None and wait["created_at"] > since:
            yield since, wait["created_at"]
        since = None if since is None or wait["resolved_at"] is None else max(since, wait["resolved_at"])
    end = one.step["finished_at"]
    if since is not None and (end is None or end > since):
        yield since, end


def _asked(requests: Sequence[ApprovalView]) -> Iterator[Moment]:
    for one in requests:
        yield Moment(one.requested_at, one.step, "asked", f"{', '.join(one.groups)} were asked")
        for vote in one.votes:
            kind = "no" if vote.verdict.is_no else "yes"
            yield Moment(vote.at, one.step, kind, f"{vote.person_name} {words(vote.verdict)}")


def _acted(receipts: Sequence[Mapping[str, Any]]) -> Iterator[Moment]:
    for one in receipts:
        kind = "act" if one["outcome"] == "success" else "failed"
        yield Moment(one["at"], one["step"], kind, f"the action {_DID[one['outcome']]}")


def _waited(waits: Sequence[Mapping[str, Any]], end: datetime) -> timedelta:
    """Return for how long at least one person was waited for; what lies side by side counts once."""
    spans = sorted((one["created_at"], one["resolved_at"] or end) for one in waits if one["type"] in _PEOPLE)
    total, until = timedelta(0), None
    for first, last in spans:
        begins = first if until is None else max(first, until)
        total += max(last - begins, timedelta(0))
        until = last if until is None else max(until, last)
    return total
