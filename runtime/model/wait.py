"""A durable block, as a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


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
    expected_version: int
    deadline: datetime
    escalate_at: datetime | None
    escalate_to: Sequence[str]
    captured: Mapping[str, Any]
    status: str
    approval_id: str | None
