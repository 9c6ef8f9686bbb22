"""State machines: the states of runs, steps, effects, approvals, waits, notifications, bundles and definitions.

`runtime/model/states.py` alone says which state may follow which. The planner checks each move of a run and of a step
against its tables, and the store each move of an effect. Effects, approvals, waits and notifications move by
compare-and-set: an UPDATE names the state that it leaves. CHECK constraints in the database list the same states.
"""

from collections.abc import Mapping
from enum import StrEnum


class RunStatus(StrEnum):
    """Status of a run: computed from the statuses of its steps, in the commit that changes them.

    One commit may pass through `running` on the way from one wait to the next.
    """

    QUEUED = "queued"
    """A trigger was claimed; no step has begun. A worker starts the run, within a second if it has room.
    No deadline: the run waits as long as no worker runs."""
    RUNNING = "running"
    """A step is ready, or an attempt at one is under way. Each commit on a step moves the run on.
    It takes precedence: a run with one step at work and one that waits for signatures is running."""
    WAITING_APPROVAL = "waiting_approval"
    """A step waits for signatures, or for the answer whether an attempt acted; no step has work to do.
    Votes or the approval's expiry move it on. The question about an attempt has no deadline."""
    WAITING = "waiting"
    """Every step that is not over waits: for another system, a review, a signal, a timer or a child run.
    The answer or the wait's deadline moves it on. It is a few rows in the database, so weeks cost nothing."""
    FAILED_RETRYABLE = "failed_retryable"
    """An attempt did nothing and will be repeated; no other step has work to do. A worker repeats it after the
    verb's pause, until the tries are used up or the deadline of the effect passes."""
    NEEDS_ATTENTION = "needs_attention"
    """A failed step waits for a person; others may wait for answers, and none has work to do. An operator says
    how it continues: retry, supply, skip or end. No deadline."""
    SUCCEEDED = "succeeded"
    """Final. Every step succeeded, was skipped, or failed with a branch; or one of its steps was an `end`.
    A worker seals its evidence once the effects of its steps have settled."""
    FAILED_TERMINAL = "failed_terminal"
    """Final. A step failed for good and no branch took the failure; what had not ended is canceled.
    Its evidence is sealed like that of a success."""
    CANCELED = "canceled"
    """Final. A person, a caller or the parent run stopped it; what had not ended is canceled.
    Its evidence is sealed like that of a success."""


class ApprovalStatus(StrEnum):
    """Status of a request to people: for an action, a review, or the question whether an attempt acted."""

    REQUESTED = "requested"
    """People are asked; the card is in Slack. Votes, an edit, a cancellation or `expires_at` end it.
    An escalation may add people or time. A question about an attempt in doubt does not expire."""
    APPROVED = "approved"
    """Final. The votes fulfil the requirement. It serves one attempt: the transaction that begins the attempt
    sets `consumed_at`. It serves another only if that attempt is known to have done nothing."""
    REJECTED = "rejected"
    """Final. One person rejected, and one rejection is enough. The action is not performed.
    Of a question about an attempt it means that the action did not happen."""
    EXPIRED = "expired"
    """Final. Too few people decided in time. Expiry is never consent: the action is not performed,
    and the step fails."""
    CANCELED = "canceled"
    """Final. The request was withdrawn: the run or the step ended first, or an edit replaced it.
    A later vote is `stale`."""


class StepStatus(StrEnum):
    """Status of a step of a run."""

    PENDING = "pending"
    """Waits for the steps that it needs, or for its block to begin. The planner moves it on in the commit
    that ends the last of them. No deadline."""
    READY = "ready"
    """Free to act: a worker can lease its read, or its effect is in the outbox. A worker takes it, within a
    second if it has room; an effect waits until its deadline, one day unless policy says otherwise."""
    RUNNING = "running"
    """An attempt has begun and its outcome is not on record. It lasts as long as the verb's timeout.
    If the worker dies, a sweep takes the step back when the lease ends, after 30 seconds."""
    WAITING_APPROVAL = "waiting_approval"
    """Its effect waits for signatures, or people are asked whether an attempt acted. Votes move it on, or the
    approval's expiry. The question about an attempt has no deadline."""
    PARKED = "parked"
    """A durable step whose answer is still to come, or a step with other steps inside that go on. The answer,
    a signal, a timer, a child run's end or the wait's deadline ends it. An operator may supply or skip it."""
    FAILED_RETRYABLE = "failed_retryable"
    """An attempt did nothing and another follows. A worker takes it after the verb's pause, until the tries are
    used up or the deadline passes. Where somebody has to fix the cause, operators were told once."""
    NEEDS_ATTENTION = "needs_attention"
    """It failed, and the runbook leaves failures of it to a person (`on_error: needs_attention`). An operator retries,
    supplies, skips or ends it; no deadline. Work that was under way for it no longer counts."""
    SUCCEEDED = "succeeded"
    """Final. Its result is on record: the step made it, or a person supplied it.
    The steps that need it may start."""
    FAILED_HANDLED = "failed_handled"
    """Final. It failed, and the runbook has a branch for this failure, which runs.
    The run can still succeed."""
    FAILED_TERMINAL = "failed_terminal"
    """Final. It failed for good and no branch took the failure. The run fails with it,
    and what has not ended is canceled."""
    SKIPPED = "skipped"
    """Final, without a result. Its condition was false, a step that it needs was skipped, an `end` came first,
    or an operator skipped it."""
    CANCELED = "canceled"
    """Final. The run failed or was canceled before the step ended. Its open wait is closed;
    an effect that has not begun is withdrawn."""


class EffectStatus(StrEnum):
    """Status of an effect in the outbox: a write, a governed read, a chat message or a webhook."""

    PENDING = "pending"
    """In the outbox, free to be leased from `next_try_at` on. A worker leases it, within a second if it has room.
    It fails at `give_up_at`: one day after the proposal, or what policy says (`execute`); what waits for a
    budget has a day from when that begins again."""
    LEASED = "leased"
    """A worker takes it through the gate. A lease lasts 30 seconds (COUNTERSIGN_LEASE_SECONDS), and the worker
    extends it. A sweep takes an expired lease back: to `pending` if no attempt had begun, else to `in_doubt`."""
    DEFERRED = "deferred"
    """Policy asked for signatures, and people are asked. Enough votes, or an edit, make it `pending` again.
    A rejection, the approval's expiry or the end of the run makes it `rejected`."""
    IN_DOUBT = "in_doubt"
    """An attempt may have acted, and nobody knows. The gate tries again under the same key, reads the target
    back, or asks people, as the verb declares. It lasts until somebody knows; only chat messages are given up."""
    BLOCKED = "blocked"
    """The target refused for a reason that somebody can fix, such as a 401 or a channel without the bot.
    Operators are told once. Workers try again, after pauses of 2 seconds to 2 minutes, until the deadline."""
    DISPATCHED = "dispatched"
    """Final. The action happened: the connector, the target read back, or a person says so.
    The receipt of the success is on record."""
    REJECTED = "rejected"
    """Final. Nothing was done: policy denied it, people rejected it or let it expire,
    or its step or run ended first."""
    FAILED = "failed"
    """Final. It did not happen and is not tried again: the target refused, the tries are used up, or the deadline
    passed. A chat message whose fate nobody knows ends here too."""


class WaitStatus(StrEnum):
    """Status of a wait: for an approval, a review, another system, a timer, a child run or a signal."""

    ACTIVE = "active"
    """A step waits. An answer, a vote, a signal, a timer or the deadline ends it. A step has at most one,
    beside the wait for the approval of its effect."""
    COMPLETED = "completed"
    """Final. What the step waited for has come, or the moment of its timer.
    A later answer is `stale`."""
    TIMED_OUT = "timed_out"
    """Final. The deadline passed first. The approval expires, or the step fails for want of an answer,
    which a branch of the runbook may take."""
    CANCELED = "canceled"
    """Final. The step or the run ended first, or an edit replaced the request.
    A later answer is `stale`."""


class WaitType(StrEnum):
    """What a step is parked on."""

    APPROVAL = "approval"
    HUMAN_TASK = "human_task"
    EXTERNAL = "external"
    TIMER = "timer"
    CHILD_RUN = "child_run"
    SIGNAL = "signal"


class NotificationStatus(StrEnum):
    """Status of a notification in the inbox: a click, an answer, a deadline, a signal or a command."""

    RECEIVED = "received"
    """On record, not yet applied. The process that recorded it applies it; after two seconds any worker does.
    A fault of the program leaves it here: it is tried again after pauses that grow to ten minutes."""
    EARLY = "early"
    """It came before anything waited for it, and is looked at again when its wait opens. After seven days it is
    a dead letter; a signal is `stale` when its run ends."""
    APPLIED = "applied"
    """Final. It counted; its outcome says what it changed.
    A repeated delivery finds this row and answers with its outcome."""
    DUPLICATE = "duplicate"
    """Final. A second vote by the same person; it changed nothing.
    A repeated delivery of the very same click makes no row, and so no duplicate."""
    STALE = "stale"
    """Final. It came too late: what it was for had ended or changed since, or the deadline had been extended.
    It changed nothing."""
    REFUSED = "refused"
    """Final. It was understood and may not count: a voter who may not vote, a caller who may not answer,
    a missing or wrong token, a result outside the verb's schema."""
    DEAD_LETTER = "dead_letter"
    """It was for nobody, is no notification of its kind, or could not be delivered to a subscriber.
    A person requeues or drops it, which is a notification too. No deadline."""
    DROPPED = "dropped"
    """Final. A person dropped the dead letter, with a reason.
    It changed nothing."""


class BundleStatus(StrEnum):
    """Status of a finished run's evidence bundle, from the moment its sealing begins."""

    SEALING = "sealing"
    """The effects of the run's steps have settled, and its last leaf is fixed. It is stored once its leaves are in
    the log under a checkpoint and the archive takes it. Workers retry both without limit, with growing pauses.
    It waits for no card, message, other run or other tenant."""
    STORED = "stored"
    """Final. The archive has it; its SHA-256, place and retention are on record.
    A leaf says so in the run's chain."""
    STUCK = "stuck"
    """A retry cannot help: something else has its name in the archive, its records make no bundle, or a fault
    of the program stopped it twelve times. Operators are told once. `countersign evidence retry` retries it;
    after a conflict it is stored under another name (`RUN.2.zip`), and the chain names the object in the way."""


class DefinitionStatus(StrEnum):
    """Status of a version of a runbook, in one tenant."""

    DRAFT = "draft"
    """Stored in the tenant, and starts no run. An operator activates or retires it, with a reason; policy and
    people decide. A start activates it only where COUNTERSIGN_ACTIVATION says so. No deadline."""
    ACTIVE = "active"
    """New runs start with it. It retires by command, or when another version is activated without `--beside`.
    Runs go on with the version that they began with."""
    RETIRED = "retired"
    """No new run starts with it; its runs go on.
    An operator may activate it again, to go back."""


Table = Mapping[StrEnum, frozenset[StrEnum]]


class IllegalTransitionError(Exception):
    """A state machine was asked for a step that its table does not have."""


def _ends(*states: StrEnum) -> dict[StrEnum, frozenset[StrEnum]]:
    return dict.fromkeys(states, frozenset())


_R, _S, _E, _N = RunStatus, StepStatus, EffectStatus, NotificationStatus
_RUN_ENDS = {_R.SUCCEEDED, _R.FAILED_TERMINAL, _R.CANCELED}
_STEP_ENDS = {_S.SUCCEEDED, _S.FAILED_HANDLED, _S.FAILED_TERMINAL, _S.SKIPPED, _S.CANCELED}
_STEP_FAILS = {_S.FAILED_HANDLED, _S.FAILED_TERMINAL, _S.NEEDS_ATTENTION}

RUN: Table = {
    _R.QUEUED: frozenset({_R.RUNNING, _R.CANCELED}),
    _R.RUNNING: frozenset({_R.WAITING_APPROVAL, _R.WAITING, _R.FAILED_RETRYABLE, _R.NEEDS_ATTENTION, *_RUN_ENDS}),
    _R.WAITING_APPROVAL: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    _R.WAITING: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    _R.FAILED_RETRYABLE: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
    _R.NEEDS_ATTENTION: frozenset({_R.RUNNING, _R.FAILED_TERMINAL, _R.CANCELED}),
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
    _S.NEEDS_ATTENTION: frozenset({_S.READY, _S.PARKED, _S.SUCCEEDED, _S.SKIPPED, _S.FAILED_TERMINAL, _S.CANCELED}),
    **_ends(*_STEP_ENDS),
}

EFFECT: Table = {
    _E.PENDING: frozenset({_E.LEASED, _E.REJECTED}),
    _E.LEASED: frozenset({_E.DISPATCHED, _E.DEFERRED, _E.REJECTED, _E.FAILED, _E.IN_DOUBT, _E.BLOCKED, _E.PENDING}),
    _E.BLOCKED: frozenset({_E.LEASED, _E.REJECTED}),
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
    return step is StepStatus.NEEDS_ATTENTION or is_final(STEP, step)


def check(table: Table, before: StrEnum, after: StrEnum) -> None:
    """Raise IllegalTransitionError unless `after` may follow `before`; staying is not a transition."""
    if after != before and after not in table[before]:
        raise IllegalTransitionError(f"{type(before).__name__}: {before} -> {after} is not in the table")


def check_run(before: RunStatus, after: RunStatus) -> None:
    """Check a run's move; one commit may pass through `running` on its way from one wait to the next."""
    if RunStatus.RUNNING in RUN[before] and after in RUN[RunStatus.RUNNING]:
        return
    check(RUN, before, after)
