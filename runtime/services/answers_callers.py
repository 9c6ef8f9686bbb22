"""The counter at which callers of the HTTP edge find the questions about what they asked for, and answer them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from receipts.chain import Actor
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.answering import ReplyPayload
from runtime.model.json_limits import error_text
from runtime.model.notification import Notification, word_key
from runtime.model.votes import Via
from runtime.services.callers import AnswerConflictError
from runtime.store.notifications import find_recorded
from runtime.store.questions import open_questions


@dataclass(frozen=True)
class QuestionDesk:
    """The desk of one tenant. A question about what the caller did not ask for is as if it were not there."""

    engine: Engine
    tenant: str

    async def waiting(self, caller: str) -> Sequence[dict[str, Any]]:
        """Return the open questions about what the caller asked for, or sent for somebody, the oldest first."""
        async with self.engine.pool.connection() as conn:
            return await open_questions(conn, self.tenant, caller)

    async def reply(self, caller: str, ref: str, question_id: str, text: str) -> Mapping[str, Any]:
        """Record the caller's answer and apply it; return the facts of its outcome.

        Sent again under its ref, it gets the present outcome. Raise LookupError where there is no such question for
        the caller, and AnswerConflictError where the ref was used for another answer.
        """
        key = word_key("reply", self.tenant, caller, ref)
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
        notification = Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=key,
            correlation_key=f"approval:{approval_id}",
            payload=payload,
            actor=Actor(id=caller, kind="agent"),
            request_id=self.engine.new_id("req"),
        )
        recorded = await inbox.record(self.engine, notification)
        if recorded != notification.notification_id:
            first = (await self.engine.addressed(recorded)).notification
            if first.payload != payload:
                raise AnswerConflictError("this ref was used before, for another answer; each has a ref of its own")
        return await inbox.apply(self.engine, recorded)

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
