"""Webhook subscriptions of a tenant: which events of runs go to which webhook. Values in, values out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

from runtime.model.action import Tier

CONNECTOR, OPERATION = "webhook", "deliver"
"""The connector and the operation under which policy is asked about a delivery."""
DELIVER = f"{CONNECTOR}::{OPERATION}"


class EventName(StrEnum):
    """What can be subscribed to; there is nothing else."""

    RUN_STARTED = "run.started"
    RUN_NEEDS_ATTENTION = "run.needs_attention"
    RUN_COMPLETED = "run.completed"
    RUN_FAILED = "run.failed"
    RUN_CANCELED = "run.canceled"
    APPROVAL_REQUESTED = "approval.requested"
    APPROVAL_DECIDED = "approval.decided"
    EFFECT_SETTLED = "effect.settled"
    BREAK_GLASS_USED = "break_glass.used"

    @property
    def is_of_step(self) -> bool:
        """Return whether it is about one step, and so has a verb and a tier."""
        return not self.startswith("run.")


@dataclass(frozen=True)
class Where:
    """What an event has to be about, all of it; what is empty fits. ``*`` in a pattern stands for any text."""

    runbooks: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = ()

    def fits_run(self, runbook: str) -> bool:
        """Return whether it is for runs of this runbook."""
        return _like(self.runbooks, runbook)

    def fits_step(self, verb: str, tier: Tier | None) -> bool:
        """Return whether it is for a step that calls this verb; "" and None are of a step that calls none."""
        return _like(self.verbs, verb) and (not self.tiers or tier in self.tiers)


@dataclass(frozen=True)
class Subscription:
    """Which events are told, and to whom. `digest` is that of all that the tenant's file says of it."""

    name: str
    on: frozenset[EventName]
    where: Where
    target: str  # the origin of its URL, ``https://host``: what policy is asked about; the path may be a secret
    digest: str

    @property
    def gone_key(self) -> str:
        """Return the key of the dead letters that end it."""
        return gone_key(self.name, self.digest)


def gone_key(name: str, digest: str) -> str:
    """Return the correlation key of dead letters that end a subscription: its receiver is gone, or took too few.

    They end it until somebody has one looked at again; what was changed in the file since is another subscription.
    """
    return f"gone:{name}:{digest}"


def dead_letter_key(name: str, digest: str) -> str:
    """Return the correlation key of a subscription's other dead letters."""
    return f"delivery:{name}:{digest}"


def letter_key(effect_id: str) -> str:
    """Return the dedupe key of what is said of a delivery that failed: it is a dead letter, or is sent again."""
    return f"word_delivery:{effect_id}"


def _like(patterns: Sequence[str], name: str) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
