"""The counter at which operators stand: acts on runs, each recorded through the inbox, and what they look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.notification import CancelPayload, Notification


@dataclass(frozen=True)
class OperatorDesk:
    """The desk of one tenant."""

    engine: Engine
    tenant: str

    async def cancel(self, run_id: str, reason: str) -> Mapping[str, Any]:
        """Ask for a run to stop; return the facts of what became of it."""
        notification = Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=self.engine.new_id("cancel"),
            correlation_key=run_id,
            payload=CancelPayload(run_id=run_id, reason=reason),
            actor=Actor(id="operator", kind="system"),
            request_id=self.engine.new_id("req"),
        )
        return await inbox.apply(self.engine, await inbox.record(self.engine, notification))
