"""Effects: proposed side effects, as rows of the outbox."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from runtime.model.action import Acting
from runtime.model.states import EffectStatus


class LeaseLostError(Exception):
    """Another worker took the effect, or a person settled it, while this one was busy; nothing is written."""


class KeyInUseError(Exception):
    """Another effect is acting, or has acted, under the same idempotency key."""


class PolicyReplacedError(Exception):
    """The answer is of a policy that is not in force: another one is, and has to be asked."""


class OnDoubt(StrEnum):
    """What to do about an attempt without an outcome (design, section 9, step 9)."""

    RETRY = "retry"  # the target honours our key
    RECONCILE = "reconcile"  # read the target back
    ASK = "ask"  # a person looks
    REPEAT = "repeat"  # a read: it changed nothing, whatever became of it


class Purpose(StrEnum):
    """Whom an effect serves: a step of the run, or the people who are told and asked."""

    STEP = "step"
    MESSAGE = "message"


class AttemptOutcome(StrEnum):
    """What a receipt says of one attempt, or of its refusal."""

    SUCCESS = "success"
    FAILURE = "failure"
    REFUSAL = "refusal"
    IN_DOUBT = "in_doubt"


@dataclass(frozen=True, kw_only=True)
class NewEffect(Acting):
    """What the planner, or the system, proposes. The first of its dedupe key stays."""

    effect_id: str
    dedupe_key: str  # of (definition, run, step, command)
    purpose: Purpose
    step: str  # path of the step; "" for a message
    on_doubt: OnDoubt
    correlation_key: str  # of the wait that a durable verb opens; "" for others
    timeout_s: float  # seconds that one call of the connector may take
    settles_s: float  # and after them, seconds within which it still may land
    retry: Mapping[str, Any]  # as `outbox.retry.to_document` writes it

    @property
    def is_again(self) -> bool:
        """Return whether it was leased before: nothing that is proposed was."""
        return False


@dataclass(frozen=True, kw_only=True)
class Effect(Acting):
    """A row of the outbox. Told apart: leases, calls of the connector, and times that nothing could begin."""

    effect_id: str
    run_id: str
    tenant: str
    purpose: Purpose
    step: str  # path of the step; "" for a message
    on_doubt: OnDoubt
    digest: str  # of the canonical action as proposed, or as last begun: SHA-256, hexadecimal
    correlation_key: str  # of the wait that a durable verb opens; "" for others
    timeout_s: float  # seconds that one call of the connector may take
    settles_s: float  # and after them, seconds within which it still may land
    retry: Mapping[str, Any]  # as `outbox.retry.to_document` writes it
    status: EffectStatus
    attempt: int  # leases taken so far: the fencing token that every write of a worker names
    tries: int  # calls of the connector since the effect was last released, but for those that were not even taken
    postponed: int  # times in a row that nothing could be begun, or was not even taken
    was_blocked: bool  # at its last try somebody had to mend something first, and operators were told
    lease_owner: str | None
    give_up_at: datetime  # until then it is tried
    started_at: datetime | None  # an attempt began then, and its outcome is not known yet
    approval_id: str | None  # the newest approval of it
    decision_id: str | None  # policy's decision behind the newest attempt
    before: Mapping[str, Any] | None  # what the target held when the newest attempt was about to begin
    error: str  # what became of the newest attempt, where it was no success
    created_at: datetime

    @property
    def is_message(self) -> bool:
        """Return whether it talks about the work and is not part of it."""
        return self.purpose is Purpose.MESSAGE

    @property
    def is_read(self) -> bool:
        """Return whether it is a governed read: nothing is ever in doubt about that, and it is no write."""
        return self.on_doubt is OnDoubt.REPEAT

    @property
    def is_again(self) -> bool:
        """Return whether it was leased before, and is no fresh work."""
        return self.tries + self.postponed > 0


@dataclass
class ChainedLease:
    """What is leased with a commit; `begun` is its attempt (`outbox.attempts.Attempt`), if that began with it, too.

    `run` is then the run's transaction (`store.run_tx.RunTx`).
    """

    effect: Effect
    begun: Any = None
    run: Any = None


@dataclass
class LeaseSlot:
    """A worker's slot that is free with a commit: one effect that it proposes may have it at once, if it fits."""

    owner: str
    until: datetime
    fits: Callable[[NewEffect], bool]
    chained: ChainedLease | None = None


class SlotOffer:
    """What a worker may take on with somebody else's commit; each try to commit opens a slot of its own."""

    def __init__(self, owner: str = "", fits: Callable[[NewEffect], bool] = lambda _: False) -> None:
        self._owner = owner
        self._fits = fits
        self._slot: LeaseSlot | None = None

    def open(self, until: datetime) -> LeaseSlot:
        """Return a slot for a transaction; what an earlier one was given is undone."""
        self._slot = LeaseSlot(self._owner, until, self._fits)
        return self._slot

    @property
    def chained(self) -> ChainedLease | None:
        """Return what is leased with the commit."""
        return self._slot.chained if self._slot else None
