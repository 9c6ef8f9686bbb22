"""The counter at which callers of the HTTP edge have runs canceled, and what they did taken back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.notification import Notification, word_key
from runtime.model.run_payloads import CancelPayload, UndoPayload
from runtime.model.undo import Item
from runtime.services.callers import AnswerConflictError
from runtime.services.undo_preview import Chosen, preview_cancel, preview_undo
from runtime.store.database.pool import Conn
from runtime.store.listings import find_run

Wish = CancelPayload | UndoPayload


@dataclass(frozen=True)
class Wisher:
    """The verified caller, and the person or agent behind the wish. `types` are the trigger types that it is about."""

    caller: str
    by: Actor
    types: Sequence[str]


@dataclass(frozen=True)
class TakeBackDesk:
    """The desk of one tenant. A run of a type that is not the caller's is as if it were not there."""

    engine: Engine
    tenant: str

    async def wish(self, wisher: Wisher, wish_id: str, wish: Wish) -> tuple[str, Mapping[str, Any]]:
        """Record a wish and apply it; return the notification's id and the facts of its outcome.

        Sent again under its id, it gets the present outcome. Raise LookupError where there is no such run, and
        AnswerConflictError where the id was used for another wish.
        """
        async with self.engine.pool.connection() as conn:
            await self._expect_run(conn, wisher, wish.run_id)
        notification = Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=word_key(wish.kind, self.tenant, wisher.caller, wish_id),
            correlation_key=wish.run_id,
            payload=wish,
            actor=wisher.by,
            request_id=self.engine.new_id("req"),
        )
        recorded = await inbox.record(self.engine, notification)
        if recorded != notification.notification_id:
            first = (await self.engine.addressed(recorded)).notification
            if (first.payload, first.actor) != (wish, wisher.by):
                raise AnswerConflictError("this id was used before, for another wish; each has an id of its own")
        return recorded, await inbox.apply(self.engine, recorded)

    async def preview(self, wisher: Wisher, run_id: str, step: str | None) -> list[Item]:
        """Return what of a run can be undone, and what not and why; raise LookupError where there is no such run."""
        async with self.engine.pool.connection() as conn:
            await self._expect_run(conn, wisher, run_id)
            return await preview_undo(conn, self.tenant, run_id, step) or []

    async def chosen(self, chosen: Chosen) -> Sequence[dict[str, Any]]:
        """Return the runs that are meant and go on, the oldest first; raise TooManyError."""
        async with self.engine.pool.connection() as conn:
            return await preview_cancel(conn, self.tenant, chosen)

    async def _expect_run(self, conn: Conn, wisher: Wisher, run_id: str) -> None:
        run = await find_run(conn, self.tenant, run_id)
        if run is None or run["trigger_type"] not in wisher.types:
            raise LookupError(f"no run {run_id}")
