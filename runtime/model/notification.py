"""An inbound fact, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.model.states import NotificationStatus


@dataclass(frozen=True)
class Notification:
    """An inbound fact."""

    notification_id: str
    tenant: str
    kind: str
    dedupe_key: str
    correlation_key: str
    payload: Mapping[str, Any]
    actor: Mapping[str, str]
    request_id: str
    status: str = "received"
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Applied:
    """What became of a notification, and the facts to keep with it."""

    status: NotificationStatus
    facts: dict[str, Any]
