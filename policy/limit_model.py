"""Limits in a tenant's data, parsed strictly, with what the configuration lists beside them.

The shape is that of `rego/countersign/shape.rego`. What does not parse is not compared by what it asks for.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from policy.contract import Text
from policy.execution_windows import Day, ExecuteWhen, Window, zones

Tier = Literal["low", "medium", "high"]
TIERS: tuple[Tier, ...] = ("low", "medium", "high")
_UNITS = {"D": 86400, "H": 3600, "M": 60, "S": 1}
_DURATION = r"^P([1-9][0-9]{0,8}D|T[1-9][0-9]{0,8}[HMS])$"
_YEARS = range(1970, 9000)
_CLOSE = {"connector", "operation", "runbook"}
"""The members of `when` beside which a limit may say how much a run writes."""


def as_number(value: Any) -> Decimal:
    """Return a number of JSON as it is written; raise ValueError of anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("is no number")
    return Decimal(str(value))


def _decimal(text: str) -> str:
    if not re.fullmatch(r"(0|[1-9][0-9]{0,29})(\.[0-9]{1,30})?", text):
        raise ValueError("is no decimal number")
    return text


def _zone(name: str) -> str:
    if name not in zones():
        raise ValueError("is no time zone of the IANA database, such as Europe/Zurich")
    return name


def _moment(text: str) -> str:
    if datetime.fromisoformat(text).year not in _YEARS:
        raise ValueError("is too long ago or too far off")
    return text


def _lasts(when: ExecuteWhen) -> ExecuteWhen:
    if not re.fullmatch(_DURATION, when.within):
        raise ValueError("`within` is no duration of one unit")
    return when


def seconds(duration: str) -> int:
    """Return how long a duration of one unit lasts."""
    return int(duration.strip("PTDHMS")) * _UNITS[duration[-1]]


Moment = Annotated[
    str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"), AfterValidator(_moment)
]
Number = Annotated[Decimal, BeforeValidator(as_number)]
Scalar = str | bool | int | float
Names = Annotated[frozenset[Text], Field(min_length=1)]
Zone = Annotated[str, AfterValidator(_zone)]
Execute = Annotated[ExecuteWhen, AfterValidator(_lasts)]
Duration = Annotated[str, Field(pattern=_DURATION)]


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FieldTest(_Exact):
    """A test of a field: each of its members has to be met."""

    over: Number | None = None
    under: Number | None = None
    one_of: tuple[Scalar, ...] | None = Field(default=None, alias="in", min_length=1)
    matches: Text | None = None


class WeekWindow(_Exact):
    """On these days from a time of the day until another; where it is not later, until it on the next day."""

    days: tuple[Day, ...] = Field(min_length=1)
    since: str = Field(alias="from", pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")
    until: str = Field(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")


DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY = 1440
"""Minutes of a day."""
WHOLE_WEEK = (1 << DAY * len(DAYS)) - 1


def open_minutes(windows: Iterable[WeekWindow | Window]) -> int:
    """Return the minutes of the week, Monday's first as the lowest bit, at which one of the windows is open."""
    found = 0
    for window in windows:
        since, until = (int(text[:2]) * 60 + int(text[3:]) for text in (window.since, window.until))
        lasts = until - since if window.since < window.until else until - since + DAY
        for day in window.days:
            found |= (1 << lasts) - 1 << DAYS.index(day) * DAY + since
    return found & WHOLE_WEEK | found >> DAY * len(DAYS)


class TimeOfWeek(_Exact):
    """Times of the week by the clock of a zone."""

    between: tuple[WeekWindow, ...] = Field(min_length=1)
    time_zone: Zone


class When(_Exact):
    """The conditions of a limit, of which each has to be met; what is not named does not matter."""

    connector: Names | None = None
    operation: Names | None = None
    fields: Annotated[dict[str, FieldTest], Field(min_length=1)] | None = None
    requester: Names | None = None
    requester_groups: Names | None = None
    requester_kind: Names | None = None
    agent: Names | None = None
    runbook: Names | None = None
    time: TimeOfWeek | None = None

    def concerns(self, connector: str, operation: str) -> bool:
        """Return whether the limit may hold for an operation."""
        pairs = ((self.connector, connector), (self.operation, operation))
        return all(names is None or name in names for names, name in pairs)


class BudgetSum(_Exact):
    """The most that a field may add up to, in one currency."""

    field: str
    currency_field: str
    currency: str
    at_most: Annotated[str, AfterValidator(_decimal)]


class Budget(_Exact):
    """How many effects, or how much in all, in a day or a month."""

    by: Literal["requester", "agent", "target"]
    per: Literal["day", "month"]
    time_zone: Zone
    count: int | None = Field(default=None, ge=1)
    sum: BudgetSum | None = None
    over: Literal["deny", "wait", "approve"]


class Limit(_Exact):
    """A limit: its conditions, and what it asks for where they are met."""

    comment: str
    when: When
    effective_from: Moment | None = None
    tier: Tier | None = None
    requirement: Text | None = None
    quorum: int | None = Field(default=None, ge=1)
    exclude: tuple[Text, ...] = ()
    sign_with: Literal["passkey"] | None = None
    expires_in: Duration | None = None
    execute: Execute | None = None
    writes_per_run: int | None = Field(default=None, ge=0)
    notify: tuple[Text, ...] = ()
    budget: Budget | None = None

    @model_validator(mode="after")
    def _is_close(self) -> Self:
        if self.writes_per_run is not None and not self.when.model_fields_set <= _CLOSE:
            raise ValueError("`writes_per_run` goes with a connector, an operation and a runbook alone")
        return self

    @property
    def demanded(self) -> str | None:
        """Return the requirement that is asked for at once: where a budget asks for it, only once that is spent."""
        return self.requirement if self.budget is None or self.budget.over != "approve" else None

    @property
    def meaning(self) -> str:
        """Return the limit without what is said of it to people; equal if it asks for the same at the same time."""
        return json.dumps(self.model_dump(mode="json", exclude={"comment"}), sort_keys=True, default=sorted)


class Operation(BaseModel):
    """What the tenant's list says of an operation."""

    model_config = ConfigDict(strict=True)
    tier: Tier
    execute: Execute | None = None


class Connector(BaseModel):
    """A connector in the tenant's list."""

    model_config = ConfigDict(strict=True)
    chat: bool
    operations: dict[str, Operation]


class Tenant(BaseModel):
    """What counts of a tenant's configuration where its limits are compared."""

    model_config = ConfigDict(strict=True)
    writes_per_run: int
    connectors: dict[str, Connector]
    limits: dict[str, Limit] = {}

    def listed(self, connector: str, operation: str) -> Operation | None:
        """Return what is listed of an operation."""
        entry = self.connectors.get(connector)
        return entry.operations.get(operation) if entry else None


def read_tenant(config: Mapping[str, Any]) -> Tenant | None:
    """Return a tenant's configuration as far as it counts for limits; None if it does not parse."""
    try:
        return Tenant.model_validate_json(json.dumps(config))
    except (ValidationError, ValueError, TypeError):
        return None
