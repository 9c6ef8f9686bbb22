"""The transition tables of every state machine (design, section 5): the only place that says what may follow what.

A test compares them with the diagrams in docs/architecture.md and with the CHECK constraints in the database.
"""

from collections.abc import Mapping
from enum import StrEnum


class RunStatus(StrEnum):
    """Where a run stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    WAITING = "waiting"
    FAILED_RETRYABLE = "failed_retryable"
    HELD = "held"
    SUCCEEDED = "succeeded"
    FAILED_TERMINAL = "failed_terminal"
    CANCELED = "canceled"


class ApprovalStatus(StrEnum):
    """Where a request to people stands."""

    REQUESTED = "requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    CANCELED = "canceled"


class StepStatus(StrEnum):
    """Where a step stands. A step whose effect waits in the outbox is ready; running means an attempt has begun.

    A step in which others stand is parked while they go on. A failure that a branch took up is handled. What is held
    has failed, and waits for a person to say how it goes on.
    """

    PENDING = "pending"
    READY = "ready"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    PARKED = "parked"
    FAILED_RETRYABLE = "failed_retryable"
    HELD = "held"
    SUCCEEDED = "succeeded"
    FAILED_HANDLED = "failed_handled"
    FAILED_TERMINAL = "failed_terminal"
    SKIPPED = "skipped"
    CANCELED = "canceled"


class EffectStatus(StrEnum):
    """Where an effect stands in the outbox."""

    PENDING = "pending"
    LEASED = "leased"
    DEFERRED = "deferred"
    IN_DOUBT = "in_doubt"
    HELD = "held"
    DISPATCHED = "dispatched"
    REJECTED = "rejected"
    FAILED = "failed"


class WaitStatus(StrEnum):
    """Where a wait stands."""

    ACTIVE = "active"
    COMPLETED = "completed"
    TIMED_OUT = "timed_out"
    CANCELED = "canceled"


class WaitType(StrEnum):
    """What a step is parked on."""

    APPROVAL = "approval"
    HUMAN_TASK = "human_task"
    EXTERNAL = "external"
    TIMER = "timer"
    CHILD_RUN = "child_run"
    SIGNAL = "signal"


class NotificationStatus(StrEnum):
    """What became of an inbound fact. Early, it waits for its wait; refused, it was understood and may not count."""

    RECEIVED = "received"
    EARLY = "early"
    APPLIED = "applied"
    DUPLICATE = "duplicate"
    STALE = "stale"
    REFUSED = "refused"
    DEAD_LETTER = "dead_letter"
    DROPPED = "dropped"


class BundleStatus(StrEnum):
    """Where the evidence of a finished run stands, once its sealing has begun. Stuck, it waits for somebody to act."""

    SEALING = "sealing"
    STORED = "stored"
    STUCK = "stuck"


class DefinitionStatus(StrEnum):
    """Where a version of a runbook stands in a tenant: active, new runs may start with it."""

    DRAFT = "draft"
    ACTIVE = "active"
    RETIRED = "retired"


Table = Mapping[StrEnum, frozenset[StrEnum]]


class IllegalTransitionError(Exception):
    """A state machine was asked for a step that its table does not have."""


def _ends(*states: StrEnum) -> dict[StrEnum, frozenset[StrEnum]]:
    return dict.fromkeys(states, frozenset())


_R, _S, _E, _N = RunStatus, StepStatus, EffectStatus, NotificationStatus
_RUN_ENDS = {_R.SUCCEEDED, _R.FAILED_TERMINAL, _R.CANCELED}
_STEP_ENDS = {_S.SUCCEEDED, _S.FAILED_HANDLED, _S.FAILED_TERMINAL, _S.SKIPPED, _S.CANCELED}
_STEP_FAILS = {_S.FAILED_HANDLED, _S.FAILED_TERMINAL, _S.HELD}

RUN: Table = {
    _R.QUEUED: frozenset({_R.RUNNING, _R.CANCELED}),
    _R.RUNNING: frozenset({_R.WAITING_APPROVAL, _R.WAITING, _R.FAILED_RETRYABLE, _R.HELD, *_RUN_ENDS}),
    _R.WAITING_APPROVAL: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    _R.WAITING: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    _R.FAILED_RETRYABLE: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    _R.HELD: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    **_ends(*_RUN_ENDS),
}

STEP: Table = {
    _S.PENDING: frozenset({_S.READY, _S.PARKED, _S.SUCCEEDED, _S.SKIPPED, *_STEP_FAILS, _S.CANCELED}),
    _S.READY: frozenset(
        {_S.RUNNING, _S.WAITING_APPROVAL, _S.SUCCEEDED, _S.FAILED_RETRYABLE, *_STEP_FAILS, _S.CANCELED}
    ),
    _S.RUNNING: frozenset(
        {_S.READY, _S.SUCCEEDED, _S.WAITING_APPROVAL, _S.PARKED, _S.FAILED_RETRYABLE, *_STEP_FAILS, _S.CANCELED}
    ),
    _S.WAITING_APPROVAL: frozenset({_S.READY, _S.SUCCEEDED, _S.PARKED, _S.FAILED_RETRYABLE, *_STEP_FAILS, _S.CANCELED}),
    _S.PARKED: frozenset({_S.SUCCEEDED, _S.SKIPPED, *_STEP_FAILS, _S.CANCELED}),
    _S.FAILED_RETRYABLE: frozenset(
        {_S.RUNNING, _S.READY, _S.SUCCEEDED, _S.WAITING_APPROVAL, *_STEP_FAILS, _S.CANCELED}
    ),
    _S.HELD: frozenset({_S.READY, _S.PARKED, _S.SUCCEEDED, _S.SKIPPED, _S.FAILED_TERMINAL, _S.CANCELED}),
    **_ends(*_STEP_ENDS),
}

EFFECT: Table = {
    _E.PENDING: frozenset({_E.LEASED, _E.REJECTED}),
    _E.LEASED: frozenset({_E.DISPATCHED, _E.DEFERRED, _E.REJECTED, _E.FAILED, _E.IN_DOUBT, _E.HELD, _E.PENDING}),
    _E.HELD: frozenset({_E.LEASED, _E.REJECTED}),
    _E.DEFERRED: frozenset({_E.PENDING, _E.REJECTED}),
    _E.IN_DOUBT: frozenset({_E.LEASED, _E.PENDING, _E.DISPATCHED, _E.FAILED}),
    **_ends(_E.DISPATCHED, _E.REJECTED, _E.FAILED),
}

APPROVAL: Table = {
    ApprovalStatus.REQUESTED: frozenset(
        {ApprovalStatus.APPROVED, ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED, ApprovalStatus.CANCELED}
    ),
    **_ends(ApprovalStatus.APPROVED, ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED, ApprovalStatus.CANCELED),
}

WAIT: Table = {
    WaitStatus.ACTIVE: frozenset({WaitStatus.COMPLETED, WaitStatus.TIMED_OUT, WaitStatus.CANCELED}),
    **_ends(WaitStatus.COMPLETED, WaitStatus.TIMED_OUT, WaitStatus.CANCELED),
}

NOTIFICATION: Table = {
    _N.RECEIVED: frozenset({_N.EARLY, _N.APPLIED, _N.DUPLICATE, _N.STALE, _N.REFUSED, _N.DEAD_LETTER}),
    _N.EARLY: frozenset({_N.RECEIVED, _N.STALE, _N.DEAD_LETTER}),
    _N.DEAD_LETTER: frozenset({_N.RECEIVED, _N.DROPPED}),
    **_ends(_N.APPLIED, _N.DUPLICATE, _N.STALE, _N.REFUSED, _N.DROPPED),
}

BUNDLE: Table = {
    BundleStatus.SEALING: frozenset({BundleStatus.STORED, BundleStatus.STUCK}),
    BundleStatus.STUCK: frozenset({BundleStatus.SEALING}),
    **_ends(BundleStatus.STORED),
}

DEFINITION: Table = {
    DefinitionStatus.DRAFT: frozenset({DefinitionStatus.ACTIVE, DefinitionStatus.RETIRED}),
    DefinitionStatus.ACTIVE: frozenset({DefinitionStatus.RETIRED}),
    DefinitionStatus.RETIRED: frozenset({DefinitionStatus.ACTIVE}),
}

MACHINES: Mapping[str, Table] = {
    "run": RUN,
    "step": STEP,
    "effect": EFFECT,
    "approval": APPROVAL,
    "wait": WAIT,
    "notification": NOTIFICATION,
    "bundle": BUNDLE,
    "definition": DEFINITION,
}


def is_final(table: Table, state: StrEnum) -> bool:
    """Return whether nothing may follow `state`."""
    return not table[state]


def has_stopped(step: StepStatus) -> bool:
    """Return whether nothing that goes on for a step is wanted any more: it has ended, or a person has to say how."""
    return step is StepStatus.HELD or is_final(STEP, step)


def check(table: Table, before: StrEnum, after: StrEnum) -> None:
    """Raise IllegalTransitionError unless `after` may follow `before`; staying is not a transition."""
    if after != before and after not in table[before]:
        raise IllegalTransitionError(f"{type(before).__name__}: {before} -> {after} is not in the table")


def check_run(before: RunStatus, after: RunStatus) -> None:
    """Check a run's move; one commit may pass through `running` on its way from one wait to the next."""
    if RunStatus.RUNNING in RUN[before] and after in RUN[RunStatus.RUNNING]:
        return
    check(RUN, before, after)
