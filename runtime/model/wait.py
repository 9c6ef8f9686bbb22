"""A durable block, as a row."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


class CorrelationInUseError(Exception):
    """Another run is already waiting under this correlation key."""


@dataclass(frozen=True)
class Wait:
    """A durable block."""

    wait_id: str
    run_id: str
    step: str
    type: str
    correlation_key: str
    token: str
    deadline: datetime
    escalate_at: datetime | None
    escalate_to: Sequence[str]
    status: str
    approval_id: str | None


@dataclass(frozen=True)
class DueWait:
    """A wait whose moment has come."""

    wait_id: str
    token: str
