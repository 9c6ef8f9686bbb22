"""Metrics: how long people take to decide requests, how often they are reminded, and what waits for each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Mark(StrEnum):
    """What happens to a request beside votes, and is counted."""

    LOOKED = "looked"  # a person opened its details or the form of a vote, each once
    REMINDED = "reminded"
    ESCALATED = "escalated"


@dataclass(frozen=True)
class Spread:
    """Seconds of the middle one, and of the one that nine in ten do not exceed; None where there is none."""

    p50: float | None
    p90: float | None


@dataclass(frozen=True)
class GroupMetrics:
    """Requests of a period that asked one group, of one tier. A request that asks two groups counts for each.

    `first_look` is until somebody opened one or voted on it, `decision` until it was approved or rejected.
    """

    group: str
    tier: str
    asked: int
    approved: int
    rejected: int
    expired: int
    canceled: int
    open: int
    late: int  # open although their time is over, or expired
    first_look: Spread
    decision: Spread
    reminders: int
    escalations: int
    break_glass_used: int


@dataclass(frozen=True)
class PersonMetrics:
    """What waits for a person now, and what they decided in a period; `answer` is from the request to their vote.

    `waiting` are open requests to groups of theirs on which they have not voted, and of which none excludes them.
    """

    person: str
    name: str
    groups: Sequence[str]
    waiting: int
    looked: int
    approved: int
    rejected: int
    answer: Spread


@dataclass(frozen=True)
class Metrics:
    """The metrics of a tenant from one moment until before another."""

    since: datetime
    until: datetime
    groups: Sequence[GroupMetrics]
    people: Sequence[PersonMetrics]
