"""A step as the planner and the workers know it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.states import StepStatus


@dataclass(frozen=True)
class StepState:
    """What the planner knows of a step."""

    status: StepStatus
    result: Any = None
    error: str = ""


@dataclass(frozen=True)
class ReadLease:
    """A read that this worker may do; `attempt` is its fencing token. `waited` of the attempts were not even taken."""

    run_id: str
    tenant: str
    path: str
    params: Mapping[str, Any]
    attempt: int
    waited: int
    held: bool  # operators were told
    started_at: datetime | None
    definition_name: str
    definition_version: int
