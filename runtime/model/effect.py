"""A proposed side effect, as a row of the outbox."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class LeaseLostError(Exception):
    """Another worker took the effect, or a person settled it, while this one was busy; nothing is written."""


class KeyInUseError(Exception):
    """Another effect is acting, or has acted, under the same idempotency key."""


@dataclass(frozen=True)
class Effect:
    """A row of the outbox. `fields` are what the connector gets, secrets and all."""

    effect_id: str
    run_id: str
    tenant: str
    step: str
    connector: str
    operation: str
    target: str
    fields: Mapping[str, Any]
    tier: str
    reversible_by: str | None
    redact: Sequence[str]
    idempotency_key: str
    in_doubt: str
    digest: str
    correlation_key: str
    timeout_s: float
    retry: Mapping[str, Any]
    status: str
    attempt: int
    tries: int
    postponed: int
    lease_owner: str | None
    give_up_at: datetime
    started_at: datetime | None
    approval_id: str | None
    decision_id: str | None
    created_at: datetime


@dataclass(frozen=True)
class NewEffect:
    """What the planner, or the system, proposes."""

    effect_id: str
    dedupe_key: str
    step: str
    connector: str
    operation: str
    target: str
    fields: Mapping[str, Any]
    tier: str
    reversible_by: str | None
    redact: Sequence[str]
    idempotency_key: str
    in_doubt: str
    digest: str
    correlation_key: str
    timeout_s: float
    retry: Mapping[str, Any]
