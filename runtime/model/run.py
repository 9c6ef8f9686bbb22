"""A run as a trigger claims it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
