"""The counter at which operators stand: what they want done to runs is recorded in the inbox, where workers find it."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.clock import Clock
from runtime.engine import new_id
from runtime.model.notification import CancelPayload, Notification
from runtime.store import notifications
from runtime.store.database.pool import Pool
from runtime.store.database.signals import announce

PAUSE = 0.1


@dataclass(frozen=True)
class OperatorDesk:
    """The desk of one tenant. It needs the database alone."""

    pool: Pool
    clock: Clock
    tenant: str

    async def cancel(self, run_id: str, reason: str) -> str:
        """Ask for a run to stop; return the notification's id."""
        notification = Notification(
            notification_id=new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=new_id("cancel"),
            correlation_key=run_id,
            payload=CancelPayload(run_id=run_id, reason=reason),
            actor=Actor(id="operator", kind="system"),
            request_id=new_id("req"),
        )
        async with self.pool.connection() as conn:
            notification_id = await notifications.record(conn, notification, self.clock())
            await announce(conn)
        return notification_id

    async def outcome(self, notification_id: str, patience: float) -> Mapping[str, Any] | None:
        """Return the facts of what became of it, or None if no worker has applied it within `patience` seconds."""
        until = time.monotonic() + patience
        while True:
            async with self.pool.connection() as conn:
                facts = await notifications.outcome_of(conn, notification_id)
            if facts is not None or time.monotonic() >= until:
                return facts
            await asyncio.sleep(PAUSE)
