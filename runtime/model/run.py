"""Runs as a trigger claims them, and their steps as the planner and the workers know them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
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
    about: str = ""  # of its runbook's runs no other goes on about the same


@dataclass(frozen=True)
class StepState:
    """What the planner knows of a step.

    `error_code` says of what kind an error is (`runtime.model.steps`). `kept` is what a node that calls no verb keeps
    while it goes on: the branch that was taken, the item of an iteration.
    """

    status: StepStatus
    result: Any = None
    error: str = ""
    error_code: str = ""
    kept: Any = None


class RepairAction(StrEnum):
    """How a person lets a step that needs attention go on."""

    RETRY = "retry"  # anew from its start
    SUPPLY = "supply"  # with a result that they give it
    SKIP = "skip"  # without it
    END = "end"  # not at all: the run fails


WHILE_WAITING = frozenset({RepairAction.SUPPLY, RepairAction.SKIP})
"""How a person lets a step go on that waits, and has not failed."""


@dataclass(frozen=True)
class Tried:
    """What a step has wanted of the world so far: how many effects, and whether one succeeded, or is not settled."""

    effects: int
    done: bool
    unsettled: bool


@dataclass(frozen=True)
class FoundStep:
    """A step, whatever its status, with its run. `signed` says that people were asked for their signatures on it."""

    run_id: str
    path: str
    verb: str
    status: StepStatus
    error: str
    error_code: str
    run_status: str
    version: int  # of the step: how often a person has let it go on
    title: str
    definition_name: str
    definition_version: int
    trigger_type: str
    trigger_ref: str
    requested_by: str
    submitted_by: str
    signed: bool
    updated_at: datetime  # the run's

    def is_as(self, other: "FoundStep") -> bool:
        """Return whether nothing has happened to the step between the two; its run may have moved."""
        return replace(self, run_status=other.run_status, updated_at=other.updated_at) == other


@dataclass(frozen=True)
class ReadLease:
    """A read that this worker may do; `attempt` is its fencing token. `waited` of the attempts were not even taken."""

    run_id: str
    tenant: str
    path: str
    params: Mapping[str, Any]
    attempt: int
    waited: int
    was_blocked: bool  # operators were told
    started_at: datetime | None
    definition_name: str
    definition_version: int
