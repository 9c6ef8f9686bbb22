"""A trigger, and what becomes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.model.life import Life


class TriggerError(Exception):
    """The trigger cannot start a run; the message says what is wrong with it."""


class TriggerConflictError(TriggerError):
    """The ref was claimed before, by a trigger that said something else."""


@dataclass(frozen=True)
class Trigger:
    """A wish to start a run. `requested_by` is the actor behind it, `submitted_by` the verified caller that sent it.

    `parent` is the step of another run that starts this one (`NewRun.parent`). `among` are the versions that were
    looked at when the type alone did not say what starts; none where its sender named the runbook.
    """

    tenant: str
    type: str
    ref: str
    payload: Mapping[str, Any]
    requested_by: Actor
    submitted_by: str
    request_id: str
    parent: Mapping[str, Any] | None = None
    among: Sequence[Life] = ()


@dataclass(frozen=True)
class SignalSent:
    """The signal that a trigger became: its name, and the notification as which it was recorded.

    `status` and `reason` say what became of it so far.
    """

    name: str
    notification_id: str
    status: str = "received"
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """The run that a trigger started, or to which it was sent as a signal; `is_new` is False where it came before."""

    run_id: str
    is_new: bool
    signal: SignalSent | None = None
