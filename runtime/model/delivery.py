"""Delivery of direct messages: quiet hours, urgency, and what becomes of a message just before it is sent.

The directory says of each person how they are told. Quiet hours are times of the week, by the person's own clock, in
which nobody writes to them. The rank says whether a message waits for the end of quiet hours, and whether it stands by
itself. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import IntEnum, StrEnum
from typing import Any
from zoneinfo import ZoneInfo

from runtime.model.action import Tier


class Rank(IntEnum):
    """The kinds of direct messages, the most urgent first.

    An alarm goes out at once, at any hour. A question waits for the end of quiet hours. Both are always messages by
    themselves. Of each other kind a person gets so many an hour by themselves, as the directory says.
    """

    ALARM = 0
    QUESTION = 1
    REQUEST = 2  # to decide: a card, or that it was escalated to them
    REMINDER = 3
    NEWS = 4

    @property
    def is_alone(self) -> bool:
        """Return whether it is a message by itself, however much was said before."""
        return self in (Rank.ALARM, Rank.QUESTION)


_ALARMS = frozenset({"card_tampered", "break_glass_used", "review_late", "unfulfillable"})
_QUESTIONS = frozenset({"question_asked", "question_answered", "request_handed", "step_needs_attention"})


def rank_of(kind: str, *, asks: bool) -> Rank:
    """Return how urgent a message of this kind is; `asks` says that it asks the person to decide a request."""
    if kind in _ALARMS:
        return Rank.ALARM
    if kind in _QUESTIONS:
        return Rank.QUESTION
    if kind == "reminder":
        return Rank.REMINDER
    return Rank.REQUEST if asks else Rank.NEWS


@dataclass(frozen=True)
class Notice:
    """A message that is about to go to one person."""

    key: str  # idempotency key of its effect
    account: str  # id of the Slack account that is told
    said: Mapping[str, Any]
    card_of: str | None  # the approval that it is about
    asks: bool  # the person to decide that
    is_alarm: bool = False  # whatever its words: it is about what is in doubt

    @property
    def rank(self) -> Rank:
        """Return how urgent it is."""
        return Rank.ALARM if self.is_alarm else rank_of(str(self.said["kind"]), asks=self.asks)


@dataclass(frozen=True)
class GatheredMessage:
    """A message that was gathered, and whether what it is about still waits for somebody; True where nothing does.

    `title` is what its author calls that, "" where it has none. `card` is where its card stands, as (channel, ts), and
    `link` is our own to it, "" where there is none.
    """

    said: Mapping[str, Any]
    card_of: str | None
    asks: bool
    is_open: bool
    title: str = ""
    card: tuple[str, str] | None = None
    link: str = ""

    @property
    def rank(self) -> Rank:
        """Return how urgent it is."""
        return rank_of(str(self.said["kind"]), asks=self.asks)


@dataclass(frozen=True)
class Gathering:
    """One message to one person for much: the oldest first, and where it stands as (channel, ts), once it does.

    `poster` is the key of the message that posts it; the others wait until it has.
    """

    gathering_id: str
    account: str
    poster: str
    place: tuple[str, str] | None
    items: Sequence[GatheredMessage]


@dataclass(frozen=True)
class SendAlone:
    """It is said by itself."""


@dataclass(frozen=True)
class SendGathered:
    """It is too much, and stands in a message with others."""

    gathering_id: str


@dataclass(frozen=True)
class SendLater:
    """It is said from then on: the person is in their quiet hours."""

    at: datetime


@dataclass(frozen=True)
class NotNeeded:
    """It asks the person for what they may not do, or need not do any more."""


DeliveryTurn = SendAlone | SendGathered | SendLater | NotNeeded


class AnswerTurn(StrEnum):
    """Whose turn it is to give a private answer."""

    OURS = "ours"
    BEGUN = "begun"  # another process gives it, or has died before it could say that it did
    GIVEN = "given"


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_DAY = 24 * 60
_WEEK = 7 * _DAY


@dataclass(frozen=True)
class Quiet:
    """On these days from a minute of the day until another; one that is not later is on the day after.

    Minutes count from midnight, 0 to 1440, by the clock on the wall.
    """

    days: tuple[int, ...]  # 0 is Monday
    begins: int
    ends: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Quiet":
        """Read a period that is sound, as a directory says it: `days`, `from` and `until` as HH:MM."""
        days = tuple(DAYS.index(day) for day in document["days"])
        return cls(days, minute_of_day(document["from"]), minute_of_day(document["until"]))

    @property
    def lasts(self) -> int:
        """Return how many minutes of the clock on the wall it takes."""
        return self.ends - self.begins + (_DAY if self.ends <= self.begins else 0)


@dataclass(frozen=True)
class Hours:
    """Somebody's quiet hours, by the clock of a zone."""

    zone: ZoneInfo
    quiet: Sequence[Quiet]

    def open_at(self, moment: datetime) -> datetime:
        """Return the first moment, not before this one, that is in no quiet hours; there is one in every week."""
        while ends := [end for begin, end in self._near(moment) if begin <= moment < end]:
            moment = max(ends)
        return moment

    def _near(self, moment: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the periods that begin on the day of a moment, or on the day before, or after, by that clock."""
        today = moment.astimezone(self.zone).date()
        for day in (today + timedelta(days=shift) for shift in (-1, 0, 1)):
            for one in self.quiet:
                if day.weekday() in one.days:
                    yield min(self._moments(day, one.begins)), max(self._moments(day, one.begins + one.lasts))

    def _moments(self, day: date, minute: int) -> list[datetime]:
        """Return when the clock shows that minute: on a day that it is changed, that may be twice, or between two.

        Quiet hours take in both, so that a change of the clock never makes them shorter.
        """
        day, minute = day + timedelta(days=minute // _DAY), minute % _DAY
        shown = datetime.combine(day, time(minute // 60, minute % 60), tzinfo=self.zone)
        return [shown.replace(fold=fold).astimezone(UTC) for fold in (0, 1)]


def minute_of_day(text: str) -> int:
    """Return the minute of the day that HH:MM names; raise ValueError. 24:00 is the end of the day."""
    if text == "24:00":
        return _DAY
    moment = time.fromisoformat(text)
    if len(text) != len("HH:MM"):
        raise ValueError(f"{text} is not HH:MM")
    return moment.hour * 60 + moment.minute


def leaves_free_hour(quiet: Sequence[Quiet]) -> bool:
    """Return whether there is an hour in a week that is in none of the periods: somebody can be told something."""
    taken = {
        (day * _DAY + minute) % _WEEK
        for one in quiet
        for day in one.days
        for minute in range(one.begins, one.begins + one.lasts)
    }
    return _WEEK - len(taken) >= 60  # noqa: PLR2004 - minutes of an hour


@dataclass(frozen=True)
class Notices:
    """How one person is told: in no quiet hours but for requests of the tiers that pass, and so often in an hour.

    `per_hour` None is without bound.
    """

    hours: Hours
    passes: frozenset[Tier]
    per_hour: int | None

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Notices":
        """Read what is stored; {} is somebody without quiet hours who is told everything."""
        return cls(
            Hours(
                ZoneInfo(document.get("timezone", "UTC")), [Quiet.of(one) for one in document.get("quiet_hours", ())]
            ),
            frozenset(Tier(tier) for tier in document.get("passes", ())),
            document.get("per_hour"),
        )

    @property
    def is_ever_quiet(self) -> bool:
        """Return whether there are times in which the person is left alone."""
        return bool(self.hours.quiet)

    def from_when(self, now: datetime, tier: Tier | None) -> datetime:
        """Return from when the person may be told something about a request of a tier; None for what is about none."""
        return now if tier in self.passes else self.hours.open_at(now)


NOTHING_SAID = Notices.of({})
"""Of whom the directory says nothing, or whom it does not know."""


def reminder_times(document: Mapping[str, Any], lasts: timedelta) -> Sequence[timedelta]:
    """Return how long after it was opened a request is to be remembered, as the tenant's `remind` says, {} for never.

    The pause before each is `factor` times the one before; what would come after the request's end is left out.
    """
    pause, after = timedelta(seconds=document.get("first", 0)), timedelta()
    moments = []
    for _ in range(document.get("at_most", 0)):
        after += pause
        if after >= lasts:
            break
        moments.append(after)
        pause *= document["factor"]
    return moments
