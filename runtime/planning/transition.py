"""What the planner takes and returns: a snapshot of the run, the event, and the transition that follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.definitions.cel.outcomes import Outcome
from runtime.definitions.model import Verb
from runtime.model.run import RepairAction, StepState
from runtime.model.states import RunStatus, StepStatus

Json = Any


@dataclass(frozen=True)
class Snapshot:
    """A run as it stands: everything that a plan may depend on.

    `steps` are in the definition's order; `others` says which of the statuses that have not ended occur among the steps
    that are left out, and `whole` whether none are. `state` is the business state, `reference` the business reference.
    `signers` are those who signed for each step, in order, where the definition reads that.
    `evaluated` is what costly expressions gave elsewhere; where it is None they are evaluated with the others.
    """

    run_id: str
    tenant: str
    status: RunStatus
    trigger: Mapping[str, Json]
    steps: Mapping[str, StepState]
    others: frozenset[StepStatus] = frozenset()
    whole: bool = True
    state: Mapping[str, Json] = field(default_factory=dict)
    reference: str = ""
    started_at: str = ""
    signers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    evaluated: Mapping[str, Outcome] | None = None


class NotLoadedError(LookupError):
    """The plan reaches steps that the snapshot leaves out: `paths`, or all where that is None."""

    def __init__(self, paths: frozenset[str] | None) -> None:
        super().__init__("every step" if paths is None else ", ".join(sorted(paths)))
        self.paths = paths


@dataclass(frozen=True)
class Started:
    """A worker took the queued run."""


@dataclass(frozen=True)
class StepMoved:
    """Something happened to one step: an attempt began, was deferred, parked, resumed, failed or succeeded."""

    path: str
    status: StepStatus
    result: Json = None
    error: str = ""
    error_code: str = ""


@dataclass(frozen=True)
class StepRepaired:
    """A person repaired a step that needs attention, or waits; `result` is what they supplied."""

    path: str
    act: RepairAction
    reason: str
    result: Json = None


@dataclass(frozen=True)
class Canceled:
    """Somebody asked for the run to stop."""

    reason: str


Event = Started | StepMoved | StepRepaired | Canceled


@dataclass(frozen=True)
class Proposal:
    """A side effect that a step wants: the action, and the key under which it may happen once."""

    path: str
    verb: Verb
    params: Mapping[str, Json]
    target: str
    idempotency_key: str
    correlation_key: str  # of the wait that a durable verb opens; "" for others
    nth: int = 1  # of the effects that the step has wanted: it may be kept, and tried anew
    until: str = ""  # the moment at which its wait ends, RFC 3339; "" where the verb's timeout says when


@dataclass(frozen=True)
class Read:
    """A read that a worker should do, with its resolved params."""

    path: str
    verb: Verb
    params: Mapping[str, Json]


@dataclass(frozen=True)
class Timer:
    """A step that waits for time to pass, an ISO 8601 duration, or for a moment to come, an RFC 3339 time."""

    path: str
    duration: str = ""
    until: str = ""


@dataclass(frozen=True)
class SignalWait:
    """A step that waits for a signal to its run, for an ISO 8601 duration, or until an RFC 3339 time."""

    path: str
    name: str
    duration: str = ""
    until: str = ""


@dataclass(frozen=True)
class Ended:
    """What an `end` said: the run's outcome and result. `has_result` says that it gives one, which may be null."""

    outcome: str
    result: Json
    has_result: bool = False


@dataclass
class Transition:
    """What is to be committed: the steps that changed, the run's new status, and what the steps want.

    `entered` are those of the steps that had no row, `kept` what a step keeps that did not move. `state` and
    `reference` are the run's where they changed; `ended` is what an `end` said, and `output` what a run that
    succeeds gives, which may be null where it `has_output`.
    """

    run: RunStatus
    steps: dict[str, StepState] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    signals: list[SignalWait] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    kept: dict[str, Json] = field(default_factory=dict)
    state: dict[str, Json] | None = None
    reference: str | None = None
    ended: Ended | None = None
    output: Json = None
    has_output: bool = False
    output_error: str = ""

    def want_nothing(self) -> None:
        """Take back what the steps wanted."""
        for wishes in (self.proposals, self.reads, self.timers, self.signals):
            wishes.clear()
