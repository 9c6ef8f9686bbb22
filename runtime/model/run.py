"""A run as a trigger claims it, and its steps as the planner and the workers know them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from runtime.model.states import StepStatus


@dataclass(frozen=True)
class NewRun:
    """What a trigger claims."""

    run_id: str
    tenant: str
    trigger_type: str
    trigger_ref: str
    trigger: Mapping[str, Any]
    trigger_digest: str  # of the trigger, keyed by the salt
    requested_by: str
    requester_kind: str
    submitted_by: str
    requester_accounts: Sequence[tuple[str, str]]
    request_id: str
    salt: str
    genesis_hash: str
    parent: Mapping[str, Any] | None = None  # run_id and step that started it, how deep, and the token that waits


@dataclass(frozen=True)
class StepState:
    """What the planner knows of a step.

    `error_code` says of what kind an error is (`runtime.model.errors`). `held` is what a node that calls no verb keeps
    while it goes on: the branch that was taken, the item of an iteration.
    """

    status: StepStatus
    result: Any = None
    error: str = ""
    error_code: str = ""
    held: Any = None


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
