"""Execution windows: when an allowed effect may be carried out, as policy says it.

Parsed strictly, with times by the clock of a zone.
"""

from datetime import datetime
from functools import cache
from typing import Annotated, Literal, Self
from zoneinfo import available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

MOST_WINDOWS = 20
DEFAULT_WITHIN = "P1D"
"""How long after the approval an effect may begin, where nobody says so (ISO 8601 duration)."""

_HOURS = r"^([01][0-9]|2[0-3]):[0-5][0-9]$"
_HOURS_AND_MIDNIGHT = r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


@cache
def zones() -> frozenset[str]:
    """Return the names of all time zones: to find them, each file of the database is opened."""
    return frozenset(available_timezones())


def _zone(name: str) -> str:
    if name not in zones():
        raise ValueError("is no time zone of the IANA database, such as Europe/Zurich")
    return name


def _moment(text: str) -> str:
    datetime.fromisoformat(text)  # a ValueError says which member of it is out of range
    return text


ZoneName = Annotated[str, AfterValidator(_zone)]
"""The name of a time zone."""


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, serialize_by_alias=True)


class Window(_Exact):
    """On these days from a time of the day until another, which is on the day after where it is not later."""

    days: list[Day] = Field(min_length=1, max_length=7)
    since: str = Field(alias="from", pattern=_HOURS)
    until: str = Field(pattern=_HOURS_AND_MIDNIGHT)

    @model_validator(mode="after")
    def _opens(self) -> Self:
        if self.since == self.until:
            raise ValueError(f"a window from {self.since} until {self.until} is empty")
        return self


class ExecuteWhen(_Exact):
    """Begun not before a moment (RFC 3339 UTC), only between times of the week, and within a time after the approval.

    What needs nobody's approval has that time from when it was proposed.
    """

    not_before: Annotated[str, Field(pattern=_MOMENT), AfterValidator(_moment)] | None = Field(
        default=None, exclude_if=lambda moment: moment is None
    )
    between: list[Window] = Field(default=[], max_length=MOST_WINDOWS, exclude_if=lambda windows: not windows)
    time_zone: ZoneName | None = Field(default=None, exclude_if=lambda zone: zone is None)
    within: str = DEFAULT_WITHIN

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if bool(self.between) != (self.time_zone is not None):
            raise ValueError("`between` and `time_zone` are said together, with one window or more")
        return self
