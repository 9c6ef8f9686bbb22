"""What callers of the HTTP edge do for people: answer questions about what they asked for, cancel runs, undo them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.commands import CancelPayload, UndoPayload
from runtime.model.limits import error_text
from runtime.model.notification import dedupe_key_of
from runtime.model.payloads import ReplyPayload
from runtime.model.undo import Item
from runtime.model.votes import Via
from runtime.services.compensation import Chosen, preview_cancel, preview_undo
from runtime.store.database.pool import Conn
from runtime.store.notifications import find_recorded
from runtime.store.operator_lists import find_run
from runtime.store.questions import open_questions


@dataclass(frozen=True)
class QuestionApi:
    """Questions to callers. A question about what the caller did not ask for is as if it were not there."""

    engine: Engine
    tenant: str

    async def waiting(self, caller: str) -> Sequence[dict[str, Any]]:
        """Return the open questions about what the caller asked for, or sent for somebody, the oldest first."""
        async with self.engine.pool.connection() as conn:
            return await open_questions(conn, self.tenant, caller)

    async def reply(self, caller: str, ref: str, question_id: str, text: str) -> Mapping[str, Any]:
        """Record the caller's answer and apply it; return the facts of its outcome.

        Sent again under its ref, it gets the present outcome. Raise LookupError where there is no such question for
        the caller, and ConflictError where the ref was used for another answer.
        """
        key = dedupe_key_of("reply", self.tenant, caller, ref)
        approval_id = await self._approval_of(caller, key, question_id)
        payload = ReplyPayload(
            approval_id=approval_id,
            team="",
            user="",
            person_id=None,
            refusal=None,
            via=Via.EDGE,
            brought_by=caller,
            question_id=question_id,
            text=error_text(text),
        )
        by = Actor(id=caller, kind="agent")
        _, facts = await inbox.submit(self.engine, payload, by=by, about=f"approval:{approval_id}", key=key)
        return facts

    async def _approval_of(self, caller: str, key: str, question_id: str) -> str:
        """Return what an open question is about, or one that this very caller answered under the key before."""
        for one in await self.waiting(caller):
            if one["question_id"] == question_id:
                return str(one["approval_id"])
        async with self.engine.pool.connection() as conn:
            recorded = await find_recorded(conn, key)
        payload = (await self.engine.addressed(recorded)).notification.payload if recorded else None
        if isinstance(payload, ReplyPayload) and payload.question_id == question_id:
            return payload.approval_id
        raise LookupError(f"no open question {question_id}")


Wish = CancelPayload | UndoPayload


@dataclass(frozen=True)
class Wisher:
    """The verified caller, and the person or agent behind the wish. `types` are the trigger types that it is about."""

    caller: str
    by: Actor
    types: Sequence[str]


@dataclass(frozen=True)
class CompensationApi:
    """Cancels and undoes runs for callers. A run of a type that is not the caller's is as if it were not there."""

    engine: Engine
    tenant: str

    async def wish(self, wisher: Wisher, wish_id: str, wish: Wish) -> tuple[str, Mapping[str, Any]]:
        """Record a wish and apply it; return the notification's id and the facts of its outcome.

        Sent again under its id, it gets the present outcome. Raise LookupError where there is no such run, and
        ConflictError where the id was used for another wish.
        """
        async with self.engine.pool.connection() as conn:
            await self._expect_run(conn, wisher, wish.run_id)
        key = dedupe_key_of(wish.kind, self.tenant, wisher.caller, wish_id)
        return await inbox.submit(self.engine, wish, by=wisher.by, about=wish.run_id, key=key)

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
