"""The counter at which callers of the HTTP edge bring what a person says of a held step."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.notification import Notification, word_key
from runtime.model.run import FoundStep
from runtime.model.run_payloads import MendPayload
from runtime.services.callers import AnswerConflictError
from runtime.store.held_steps import find_step


@dataclass(frozen=True)
class MendDesk:
    """The desk of one tenant. A run of a type that the caller may not mend is as if it were not there."""

    engine: Engine
    tenant: str

    async def step(self, types: Sequence[str], run_id: str, path: str) -> FoundStep:
        """Return a step of a run of one of these trigger types; raise LookupError."""
        async with self.engine.pool.connection() as conn:
            found = await find_step(conn, self.tenant, run_id, path)
        if found is None or found.trigger_type not in types:
            raise LookupError(f"there is no step {path} of a run {run_id}")
        return found

    async def mend(self, by: Actor, sender_id: str, payload: MendPayload) -> Mapping[str, Any]:
        """Record what a person says and apply it; return the facts of its outcome.

        Sent again under its id, it gets the present outcome. Raise AnswerConflictError where that id was used for
        something else.
        """
        notification = Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=word_key("mend", self.tenant, payload.submitted_by, sender_id),
            correlation_key=payload.run_id,
            payload=payload,
            actor=by,
            request_id=self.engine.new_id("req"),
        )
        recorded = await inbox.record(self.engine, notification)
        if recorded != notification.notification_id:
            first = (await self.engine.addressed(recorded)).notification
            if (first.payload, first.actor) != (payload, by):
                raise AnswerConflictError("this id was used before, for another act; each has an id of its own")
        return await inbox.apply(self.engine, recorded)
