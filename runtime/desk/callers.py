"""The counter at which callers of the HTTP edge stand: agents that trigger runs and answer for durable steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from receipts.chain import Actor
from runtime.definitions.model import Definition
from runtime.definitions.sources.catalog import Catalog
from runtime.engine import Engine
from runtime.inbox import inbox
from runtime.model.finding import FoundRun, Sought
from runtime.model.notification import CompletionPayload, Notification, ProgressPayload
from runtime.model.undo import UNDO, UNDO_NAME
from runtime.planning import triggers
from runtime.planning.triggers import Claim, Trigger, TriggerConflictError, TriggerError
from runtime.store import runs
from runtime.store.evidence.found import find_runs

__all__ = ["Answer", "AnswerConflictError", "CallerDesk", "Grants", "TriggerConflictError", "TriggerError"]


class AnswerConflictError(Exception):
    """The sender used an id twice, for two different answers."""


@dataclass(frozen=True)
class Grants:
    """What the directory lets an agent do: trigger types, speaking for people, verbs it may answer for.

    And of which trigger types it may cancel runs, or have undone what they did.
    """

    triggers: Sequence[str] = ()
    on_behalf: bool = False
    completes: Sequence[str] = field(default_factory=tuple)
    cancels: Sequence[str] = ()
    undoes: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """Word from the other side of a durable step. `answer_id` is the sender's own: the same id is applied once.

    `correlation_key` and `token` are those that came with the request.
    """

    answer_id: str
    is_progress: bool
    outcome: Literal["succeeded", "failed"]
    correlation_key: str
    result: Mapping[str, Any]
    error: str
    message: str
    token: str | None


@dataclass(frozen=True)
class CallerDesk:
    """The desk of one tenant."""

    engine: Engine
    tenant: str
    catalog: Catalog

    def now(self) -> datetime:
        """Return the shared clock's time."""
        return self.engine.clock()

    async def grants(self, agent: str) -> Grants | None:
        """Return what an agent of the directory may do, or None where it has none by that name."""
        row = await self._actor(agent, "agent")
        return None if row is None else Grants(**row["grants"])

    async def knows_person(self, name: str) -> bool:
        """Return whether the directory has that person."""
        return await self._actor(name, "person") is not None

    def runbook_for(self, trigger_type: str) -> Definition | None:
        """Return the runbook that takes triggers of this type."""
        return self.catalog.for_trigger(trigger_type)

    async def trigger(self, runbook: Definition, ref: str, payload: Mapping[str, Any], by: Actor, caller: str) -> Claim:
        """Start a run on behalf of `by`; raise TriggerError."""
        trigger = Trigger(
            tenant=self.tenant,
            type=runbook.trigger_type,
            ref=ref,
            payload=payload,
            requested_by=by,
            submitted_by=caller,
            request_id=self.engine.new_id("req"),
        )
        return await triggers.claim(self.engine, runbook, trigger)

    async def notify(self, caller: str, grants: Grants, answer: Answer) -> tuple[str, Mapping[str, Any]]:
        """Record an answer and apply it; return the notification's id and the facts of its outcome.

        Sent again, it gets the present outcome. Raise AnswerConflictError where its id was used for another answer.
        """
        notification = self._notification(caller, grants, answer)
        notification_id = await inbox.record(self.engine, notification)
        if notification_id != notification.notification_id:
            await self._expect_same(notification_id, notification)
        return notification_id, await inbox.apply(self.engine, notification_id)

    async def _expect_same(self, first_id: str, again: Notification) -> None:
        first = (await self.engine.addressed(first_id)).notification
        if first.forgotten:  # long ago: what it said exactly is not known any more
            return
        if (first.correlation_key, _said(first)) != (again.correlation_key, _said(again)):
            raise AnswerConflictError("this id was used before, for another answer; each answer has an id of its own")

    def _notification(self, caller: str, grants: Grants, answer: Answer) -> Notification:
        kind = ProgressPayload if answer.is_progress else CompletionPayload
        return Notification(
            notification_id=self.engine.new_id("ntf"),
            tenant=self.tenant,
            dedupe_key=f"{self.tenant}:{caller}:{answer.answer_id}",
            correlation_key=answer.correlation_key,
            payload=kind(
                outcome=answer.outcome,
                result=dict(answer.result),
                error=answer.error,
                message=answer.message,
                token=answer.token,
                verbs=list(grants.completes),
            ),
            actor=Actor(id=caller, kind="agent"),
            request_id=self.engine.new_id("req"),
        )

    async def run(self, run_id: str) -> dict[str, Any] | None:
        """Return a run and its steps, or None."""
        async with self.engine.pool.connection() as conn:
            return await runs.run_summary(conn, self.tenant, run_id)

    async def type_of(self, run: Mapping[str, Any]) -> str:
        """Return the trigger type of a run; of one that undoes another, the other's: who may see that may see this."""
        if run["trigger_type"] != UNDO:
            return str(run["trigger_type"])
        undone = await self.run(str(run["definition_name"]).removeprefix(UNDO_NAME))
        return await self.type_of(undone) if undone else UNDO

    async def find(self, sought: Sought) -> list[FoundRun]:
        """Return the tenant's runs that are sought, the newest first; raise LookupError where `after` is no run."""
        async with self.engine.pool.connection() as conn:
            return await find_runs(conn, self.tenant, sought)

    async def _actor(self, name: str, kind: str) -> dict[str, Any] | None:
        row = await self.engine.actor(name)
        return row if row is not None and row["kind"] == kind else None


def _said(notification: Notification) -> dict[str, Any] | None:
    payload = notification.payload
    return payload.says() if isinstance(payload, CompletionPayload | ProgressPayload) else None
