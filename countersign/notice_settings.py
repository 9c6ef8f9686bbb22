"""What the directory file says of how people are told: time zones, quiet hours, reminders, and how often."""

from typing import Annotated, Any, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from runtime.definitions.durations import LONGEST, parse_duration
from runtime.model.action import Tier
from runtime.model.hours import Quiet, leaves_room, minutes

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

_SHORTEST = 60


def _zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("is no time zone of the IANA database, such as Europe/Zurich")
    return name


def _clock(text: str) -> str:
    try:
        minutes(text)
    except ValueError as error:
        raise ValueError('is no time of the day, such as "18:30"') from error
    return text


def _pause(text: str) -> str:
    if not _SHORTEST <= parse_duration(text).total_seconds() <= LONGEST.total_seconds():
        raise ValueError("is shorter than a minute")
    return text


Zone = Annotated[str, AfterValidator(_zone)]
ClockTime = Annotated[str, AfterValidator(_clock)]
Pause = Annotated[str, AfterValidator(_pause)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, serialize_by_alias=True)


class QuietEntry(_Closed):
    """Quiet hours that begin on each of these days; `until` that is not later is on the next day. 24:00 ends a day."""

    days: Annotated[list[Day], Field(min_length=1, max_length=7)]
    since: ClockTime = Field("00:00", alias="from")
    until: ClockTime = "24:00"


def _room(entries: list[QuietEntry]) -> list[QuietEntry]:
    if not leaves_room([Quiet.of(entry.model_dump()) for entry in entries]):
        raise ValueError("there is no hour of the week left in which anything can be said")
    return entries


QuietHours = Annotated[list[QuietEntry], Field(max_length=20), AfterValidator(_room)]


class RemindEntry(_Closed):
    """Reminders with growing pauses: the first after `first`, each pause `factor` times the one before."""

    first: Pause
    factor: Annotated[float, Field(ge=1, le=100)] = 1
    at_most: Annotated[int, Field(ge=1, le=20)]


class NoticesEntry(_Closed):
    """How the people of the tenant are told, where they say nothing else themselves.

    Requests of a tier that `passes` are told in quiet hours, too. `per_hour` is how many messages one person gets in an
    hour, before more are gathered into one. `remind` holds for what no verb or step says anything else of.
    """

    timezone: Zone = "UTC"
    quiet_hours: QuietHours = []
    passes: list[Annotated[Tier, Field(strict=False)]] = []
    per_hour: Annotated[int, Field(ge=1, le=1000)] | None = None
    remind: RemindEntry | None = None

    def of_person(self, timezone: str | None, quiet_hours: list[QuietEntry] | None) -> dict[str, Any]:
        """Return how a person is told, as it is stored; {} where nobody says anything of it."""
        quiet = self.quiet_hours if quiet_hours is None else quiet_hours
        hours = {
            "timezone": timezone or self.timezone,
            "quiet_hours": [entry.model_dump() for entry in quiet],
            "passes": [str(tier) for tier in self.passes],
        }
        often = {} if self.per_hour is None else {"per_hour": self.per_hour}
        return {**(hours if quiet else {}), **often}

    def reminders(self) -> dict[str, Any]:
        """Return when people are reminded, as it is stored: `first` in seconds; {} for never."""
        if self.remind is None:
            return {}
        first = round(parse_duration(self.remind.first).total_seconds())
        return {"first": first, "factor": self.remind.factor, "at_most": self.remind.at_most}
